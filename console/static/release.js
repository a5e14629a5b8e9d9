// A choice is shown at once, and the page stays where it was; without this script a button does the same.
const form = document.getElementById("view");
if (form) {
  const place = sessionStorage.getItem("place");
  if (place !== null) {
    sessionStorage.removeItem("place");
    scrollTo(0, Number(place));
  }
  for (const quiet of form.querySelectorAll("button.quiet")) quiet.hidden = true;
  form.addEventListener("change", (event) => {
    if (event.target.name === "pick") return;
    if (event.target.name === "attribute" || event.target.name === "crowd") {
      for (const pick of form.querySelectorAll("input[name=pick]:checked")) pick.checked = event.target.name === "crowd" && pick.checked;
    }
    form.requestSubmit();
  });
  form.addEventListener("submit", () => sessionStorage.setItem("place", String(scrollY)));
}
