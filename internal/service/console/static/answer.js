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
  let signed; // the plan
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
    signed = plan;
    return open({ plan, publishers, bearer, delay: 0, wait: 60, store: "confetti-room" });
  };
  // What the phone said in words, which takes the program of the studio's page, where there is one.
  const tell = async (ledger) => {
    const line = document.getElementById("told");
    const put = (said) => {
      line.textContent = `${chose ? `You chose “${chose}”. ` : ""}${said}`;
      line.hidden = false;
    };
    if (form.dataset.said) { put(form.dataset.said); return; } // shares say nothing by themselves
    const bodies = ledger.entries?.at(-1)?.parts?.flatMap((p) => p.messages ?? []) ?? [];
    try {
      const { Studio } = await import("/studio/index.js");
      const told = (await new Studio().ask("tell", signed, JSON.stringify(bodies))).map((t) => t.slice(field.length + 2));
      const words = told.length === 0 ? "nothing that can be counted" : told.map((t) => `“${t}”`).join(" and ");
      put(`Your phone said ${words}. It draws what it says at random, so that nobody can be sure of your answer.`);
    } catch {
      // It stands in the ledger below.
    }
  };
  const show = async (sentence) => {
    const ledger = await device.ledger();
    document.getElementById("outcome").textContent = sentence;
    document.getElementById("words").textContent = ledger.words;
    document.getElementById("said").hidden = false;
    form.hidden = true;
    if (sentence !== switchedOff) await tell(ledger);
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
