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
    if (event.target.name === "attribute") {
      for (const pick of form.querySelectorAll("input[name=pick]:checked")) pick.checked = false;
    }
    form.requestSubmit();
  });
  form.addEventListener("submit", () => sessionStorage.setItem("place", String(scrollY)));
}

// The check of the release, by what stands beside it: the module looks at it in a worker.
const verify = document.getElementById("verify");
if (verify) {
  const by = (id) => document.getElementById(id);
  const button = verify.querySelector("button");
  const line = (className, text) => Object.assign(document.createElement("span"), { className, textContent: text });
  const check = async () => {
    const files = {};
    let state = null;
    for (const pair of verify.dataset.files.split(" ")) {
      const at = pair.indexOf("=");
      const [name, url] = [pair.slice(0, at), pair.slice(at + 1)];
      const answer = await fetch(url, { headers: { Accept: "application/json, */*" } });
      if (!answer.ok) throw new Error(`${name} cannot be had`);
      const bytes = new Uint8Array(await answer.arrayBuffer()); // as text a changed file might read as it was
      if (name === "state") state = bytes;
      else files[name] = bytes;
    }
    const { Studio } = await import("/studio/index.js");
    return new Studio().ask("verify", files, state, by("publishers").value, by("attack")?.checked ?? false, verify.dataset.asked);
  };
  verify.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    by("verifying").textContent = "Your browser computes the guarantee anew…";
    try {
      const { first, findings, unchecked, shows } = await check();
      by("verdict").textContent = first[0];
      by("first").replaceChildren(...first.slice(1).map((text) => Object.assign(document.createElement("li"), { textContent: text })));
      by("checks").replaceChildren(...findings.map((f) => {
        const item = document.createElement("li");
        item.className = f.holds ? "holds" : "fails";
        item.append(line("mark", f.holds ? "✓" : "✗"), line("what", f.what), line("says", `${f.holds ? "" : "Does not hold: "}${f.says}`));
        return item;
      }));
      by("unchecked-part").hidden = !unchecked;
      by("unchecked").replaceChildren(...(unchecked ?? []).map((u) => {
        const item = document.createElement("li");
        item.append(line("mark", "–"), line("what", u.what), line("says", u.why));
        return item;
      }));
      by("shows").textContent = shows;
      by("verified").hidden = false;
      by("verifying").textContent = "";
      button.disabled = false; // with another publisher, say
    } catch (error) {
      by("verifying").textContent = `It could not be checked here: ${error.message}. The command below does the same.`;
      button.disabled = false;
    }
  });
}
