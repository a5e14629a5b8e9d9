// The page of a phone: the device is WebAssembly in a worker, and this shows what it says, and the result when it is there.
const of = (id) => document.getElementById(id);
const form = of("answer");
const time = document.querySelector("#when time");
if (time) { // in the phone's own zone
  const at = new Date(time.dateTime);
  const clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  time.textContent = at.toDateString() === new Date().toDateString() ? `today, ${clock}` : at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
// The room's screen, read as it is, has the result; over says that nobody can answer any more.
let over = false;
const watch = async () => {
  try {
    const answer = await fetch("/room", { headers: { Accept: "text/html" }, cache: "no-store" });
    const live = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
    if (live && live.dataset.status !== "open") {
      over = true;
      form.hidden = true;
      of("when").hidden = true;
      live.querySelector("h1")?.remove();
      live.removeAttribute("id");
      of("result").replaceChildren(document.adoptNode(live));
      of("result").hidden = false;
      if (live.dataset.status !== "closed") return;
    }
  } catch {
    // The next one may get through.
  }
  setTimeout(watch, over ? 1000 : 4000 + 2000 * Math.random()); // phones do not all ask at once
};
if (form) {
  const field = decodeURIComponent(form.dataset.field);
  const button = form.querySelector("button");
  const status = of("status");
  const say = (text) => { status.textContent = text; };
  const failed = (error) => { say(`${error.message}`); button.disabled = false; };
  const { open } = await import("/answer/device/index.js");
  let device;
  let chose = ""; // in this visit; it is kept nowhere
  const start = async () => {
    const join = () => fetch("/answer/join", { method: "POST", headers: { Accept: "application/json" } });
    let joined = await join();
    while (joined.status === 429) {
      const wait = Number(joined.headers.get("Retry-After")) || 30;
      say(`${(await joined.text()).trim()} It goes on by itself in ${wait} seconds.`);
      await new Promise((go) => setTimeout(go, wait * 1000));
      joined = await join();
    }
    if (!joined.ok) throw new Error(await joined.text());
    const { plan, publishers, bearer } = await joined.json();
    return open({ plan, publishers, bearer, delay: 0, wait: 60, store: "confetti-room" });
  };
  const show = async (sentence) => {
    const ledger = await device.ledger();
    of("outcome").textContent = sentence;
    of("words").textContent = ledger.words;
    of("words").hidden = false;
    of("said").hidden = false;
    form.hidden = true;
    if (sentence === switchedOff) {
      of("thanks").hidden = of("told").hidden = of("when").hidden = of("stop").hidden = true;
      return;
    }
    of("when").hidden = over;
    const said = ledger.entries?.at(-1)?.said; // what the ledger keeps of it, after a reload too
    if (!said) return;
    of("told").textContent = `${chose ? `You chose “${chose}”. ` : ""}Your phone said: ${said}.`;
    of("told").hidden = false;
  };
  const became = {
    sent: "Sent. Whoever took it cannot read it.",
    delivered: "What this phone had drawn before has been sent.",
    unfit: "The question has no room for this answer. What it has for such answers was sent in its place.",
  };
  const switchedOff = "This phone answers nothing any more, and what was waiting is gone.";
  say("The device starts…");
  watch();
  try {
    device = await start();
    of("off").disabled = false;
    const asked = await device.charge();
    of("checked").textContent = `This phone has checked the plan: an answer costs epsilon ${Number(asked.charge.epsilon.toPrecision(3))} at delta ${Number(asked.charge.delta.toPrecision(2))} (replacement).`;
    of("checked").hidden = false;
    say("");
    button.disabled = false;
    const ledger = await device.ledger();
    if (ledger.entries?.some((e) => e.plan === asked.plan)) await show("This phone has answered already.");
  } catch (error) {
    failed(error);
    button.disabled = true;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    say("It draws, seals and sends…");
    const value = decodeURIComponent(new FormData(form).get("answer"));
    chose = value;
    try {
      const outcome = await device.report({ [field]: value }, { consent: true }); // who presses agrees to the price above
      await show(became[outcome.status] ?? `Safe on this phone, and not sent yet: ${outcome.why ?? ""}`);
    } catch (error) {
      if (error.code === "answered") await show("This phone has answered already.");
      else failed(error);
    }
  });
  of("off").addEventListener("click", async () => {
    await device.optOut();
    await show(switchedOff);
  });
}
