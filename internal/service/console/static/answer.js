// The page of a phone: the device is WebAssembly in a worker, and this shows what it says.
const form = document.getElementById("answer");
if (form) {
  const field = decodeURIComponent(form.dataset.field);
  const button = form.querySelector("button");
  const status = document.getElementById("status");
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
  // What the ledger keeps of what the phone said, after a reload too.
  const tell = (ledger) => {
    const said = ledger.entries?.at(-1)?.said;
    if (!said) return;
    const line = document.getElementById("told");
    line.textContent = `${chose ? `You chose “${chose}”. ` : ""}Your phone said: ${said}.`;
    line.hidden = false;
  };
  const show = async (sentence) => {
    const ledger = await device.ledger();
    document.getElementById("outcome").textContent = sentence;
    document.getElementById("words").textContent = ledger.words;
    document.getElementById("said").hidden = false;
    form.hidden = true;
    if (sentence !== switchedOff) tell(ledger);
  };
  const became = {
    sent: "Sent. Whoever took it cannot read it.",
    delivered: "What this phone had drawn before has been sent.",
    unfit: "The question has no room for this answer. What it has for such answers was sent in its place.",
  };
  const switchedOff = "This phone answers nothing any more, and what was waiting is gone.";
  say("The device starts…");
  try {
    device = await start();
    const asked = await device.charge();
    say(`It has checked the plan: an answer costs epsilon ${asked.charge.epsilon.toPrecision(3)} at delta ${asked.charge.delta.toPrecision(2)} (replacement).`);
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
      const outcome = await device.report({ [field]: value }, { consent: true });
      await show(became[outcome.state] ?? `Safe on this phone, and not sent yet: ${outcome.why ?? ""}`);
    } catch (error) {
      if (error.code === "answered") await show("This phone has answered already.");
      else failed(error);
    }
  });
  document.getElementById("off").addEventListener("click", async () => {
    await device.optOut();
    await show(switchedOff);
  });
}
