// The screen is drawn anew every few seconds, without a flicker; without this script the page loads anew.
const every = Number(document.body.dataset.every || "5") * 1000;
async function draw() {
  const live = document.getElementById("live");
  if (!live || live.querySelector("details[open]") || document.hidden) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
    if (page && page.outerHTML !== live.outerHTML) live.replaceWith(document.adoptNode(page));
    if (page && page.dataset.status === "released") clearInterval(timer);
  } catch {
    // The next one may get through.
  }
}
const timer = setInterval(draw, every);
