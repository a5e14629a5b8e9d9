// A new question, made of values that stay in this browser: the module computes, this shows it.
import { Studio } from "/studio/index.js";

const form = document.getElementById("studio");
const by = (id) => document.getElementById(id);
const svg = (name, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value));
  return e;
};
const element = (name, className, ...inside) => {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...inside);
  return e;
};
const percent = (share) => `${(100 * share).toFixed(Math.abs(share) < 0.01 ? 2 : 1)}\u00a0%`;
const number = (n) => n.toLocaleString("en");

// The sliders are of the logarithm.
const scales = { people: [50, 1_000_000], epsilon: [0.1, 8] };
const two = (x) => Number(x.toPrecision(2));
const value = (id) => {
  const [low, high] = scales[id];
  return two(low * (high / low) ** (Number(by(id).value) / 1000));
};
const put = (id, x) => {
  const [low, high] = scales[id];
  by(id).value = String(Math.round((1000 * Math.log(Math.min(high, Math.max(low, x)) / low)) / Math.log(high / low)));
};

const studio = new Studio();
let sheet; // what was read
let has = ""; // the same in a sentence
let chosen = ""; // how devices answer, as it was chosen last
let seed = 1;
let address = ""; // of the plan's text
let wanted = 0; // 1: a drawing with the answer that was chosen last, 2: a whole one
let busy = false;

const say = (text) => { by("read").textContent = text; };

async function take(bytes, asTable) {
  say("Reading, in this browser…");
  by("result").hidden = by("asked").hidden = by("doubt").hidden = true;
  sheet = undefined;
  try {
    sheet = await studio.ask("read", bytes, asTable);
  } catch (error) {
    say(`This cannot be read: ${error.message}.`);
    return;
  }
  has = `${number(sheet.rows)} rows, ${number(sheet.columns.length)} ${sheet.columns.length === 1 ? "column" : "columns"}. ${sheet.note ? `Read as ${sheet.note}.` : ""}`;
  say(has);
  by("column").replaceChildren(...sheet.columns.map((c, i) => new Option(c.name, String(i))));
  const first = sheet.columns.findIndex((c) => !c.doubt);
  by("column").value = String(Math.max(0, first));
  by("asked").hidden = false;
  put("people", Math.max(200, sheet.rows));
  column();
}

// column shows what was guessed of the one that is chosen.
function column() {
  const c = sheet.columns[Number(by("column").value)];
  by("kind").value = c.kind;
  by("kind").querySelector("[value=buckets]").disabled = !c.numbers;
  by("named").value = String(Math.min(20, Math.max(1, c.distinct)));
  by("most").value = String(Math.min(64, Math.max(1, c.most)));
  [by("low").value, by("high").value, by("cells").value] = c.numbers ? [c.low, c.high, c.cells].map(String) : ["0", "1", "1"];
  by("doubt").textContent = c.doubt ?? "";
  by("doubt").hidden = !c.doubt;
  kind();
}

function kind() {
  const c = sheet.columns[Number(by("column").value)];
  const is = by("kind").value;
  const show = (selector, yes) => { for (const e of by("asked").querySelectorAll(selector)) e.hidden = !yes; };
  show(".of-names", is !== "buckets");
  show(".of-numbers", is === "buckets");
  show(".of-sets", is === "set");
  show(".of-empty", c.empty > 0 && is !== "set");
  draw(true);
}

// draw asks for a drawing: while a slider moves with the answer that was chosen last, which is
// several times as quick, and once it rests for a whole one. What is old meanwhile is no plan.
function draw(whole) {
  for (const id of ["people", "epsilon"]) {
    const text = number(value(id));
    by(`${id}-is`).value = text;
    by(id).setAttribute("aria-valuetext", text);
  }
  wanted = Math.max(wanted, whole ? 2 : 1);
  by("plan").removeAttribute("href");
  if (!busy) void next();
}

async function next() {
  busy = true;
  while (wanted > 0) {
    const whole = wanted === 2;
    wanted = 0;
    if (whole) by("working").textContent = "The accountant works, in this browser…";
    try {
      const d = await studio.ask("draw", JSON.stringify(choice(whole)));
      chosen = d.chosen;
      show(d, whole && wanted === 0);
    } catch (error) {
      by("result").hidden = true;
      say(`This cannot be asked: ${error.message}.`);
    }
  }
  by("working").textContent = "";
  busy = false;
}

const choice = (whole) => ({
  title: by("title").value, column: Number(by("column").value), kind: by("kind").value, named: Number(by("named").value), others: by("others").checked,
  low: Number(by("low").value), high: Number(by("high").value), cells: Number(by("cells").value), most: Number(by("most").value),
  missing: sheet.columns[Number(by("column").value)].empty > 0 ? by("missing").value : "refuse",
  epsilon: value("epsilon"), people: value("people"), seed, answer: whole ? "" : chosen,
});

const most = 40; // lines that are drawn

function show(d, whole) {
  by("result").hidden = false;
  by("answer").textContent = d.answer;
  say(`${has} ${d.left > 0 ? `${number(d.left)} with an empty cell are left out.` : ""}`);
  const lines = d.ordered ? d.values : d.values.toSorted((a, b) => b.truth - a.truth);
  const end = Math.max(0.01, ...d.values.map((v) => Math.max(v.high, v.truth, v.estimate)));
  const at = (share) => (100 * Math.min(1, Math.max(0, share / end))).toFixed(2);
  by("chart").replaceChildren(...lines.slice(0, most).map((v) => {
    const bar = svg("svg", { class: "bar", width: "100%", height: 18, "aria-hidden": "true" });
    bar.append(svg("rect", { class: "track", y: 8, width: "100%", height: 2 }), svg("rect", { class: "fill", width: `${at(v.estimate)}%`, y: 2, height: 14, rx: 2 }),
      svg("rect", { class: "span", x: `${at(v.low)}%`, width: `${(at(v.high) - at(v.low)).toFixed(2)}%`, y: 7.5, height: 3 }), svg("rect", { class: "true", x: `${at(v.truth)}%`, y: 0, width: 2, height: 18 }));
    return element("li", "", element("span", "name", v.name), element("span", "bars", bar),
      element("span", "value", element("strong", "", percent(v.estimate)), element("small", "", `${percent(v.low)} to ${percent(v.high)} `, element("span", "truth", `truth ${percent(v.truth)}`))));
  }));
  by("shown").textContent = lines.length > most ? `The ${most} most frequent of ${number(lines.length)} values are shown.` : "";
  by("cards").replaceChildren(...d.cards.map((c) => {
    const a = element("article", c.belief ? (c.weak ? "weak" : "kept") : "none", element("h3", "", c.observer[0].toUpperCase() + c.observer.slice(1)), element("p", "who", c.who), element("p", "verdict", c.belief ?? c.verdict));
    if (c.belief) {
      const bar = svg("svg", { class: "belief", width: "100%", height: 16, "aria-hidden": "true" });
      bar.append(svg("rect", { class: "track", y: 6, width: "100%", height: 4, rx: 2 }), svg("rect", { class: "fill", x: `${100 * c.low}%`, width: `${100 * (c.high - c.low)}%`, y: 3, height: 10, rx: 5 }), svg("rect", { class: "goal", x: "50%", width: 2, height: 16 }));
      a.append(bar, element("p", "soft small", "That is how sure this onlooker can become of anything about a person that was even odds before."));
    }
    a.append(element("p", "", c.meaning));
    return a;
  }));
  by("cost").replaceChildren(...d.cost.map((l) => {
    const dd = element("dd", "", element("strong", "", l.value));
    if (l.note) dd.append(" ", element("span", "soft", l.note));
    return element("div", "", element("dt", "", l.label), dd);
  }));
  if (!whole) return;
  by("toml").textContent = d.plan;
  URL.revokeObjectURL(address);
  address = URL.createObjectURL(new Blob([d.plan], { type: "application/toml" }));
  by("plan").href = address;
}

// An example: how 600 people come to work.
function sample() {
  const rows = ["way to work,minutes"];
  for (let i = 0; i < 600; i++) rows.push(`${["bicycle", "train", "bicycle", "car", "on foot", "train", "bicycle", "bus", "", "train"][(i * 7) % 10]},${4 + ((i * 37) % 83)}`);
  by("values").value = rows.join("\n");
  void take(new TextEncoder().encode(by("values").value), true);
}

if (form) {
  form.hidden = false;
  put("epsilon", 1);
  by("closes").textContent = `${new Date(Date.now() + 30 * 24 * 3600 * 1000).toISOString().slice(0, 10)}T00:00:00Z`;
  form.addEventListener("submit", (event) => event.preventDefault());
  let typing;
  by("values").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => { if (by("values").value.trim()) void take(new TextEncoder().encode(by("values").value), false); }, 600);
  });
  const file = async (one) => {
    if (!one) return;
    by("values").value = "";
    void take(new Uint8Array(await one.arrayBuffer()), true);
  };
  by("file").addEventListener("change", () => file(by("file").files[0]));
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => { event.preventDefault(); void file(event.dataTransfer.files[0]); });
  by("sample").addEventListener("click", sample);
  by("column").addEventListener("change", column);
  by("kind").addEventListener("change", kind);
  for (const id of ["named", "most", "low", "high", "cells", "missing", "others", "title"]) by(id).addEventListener("change", () => draw(true));
  for (const id of ["people", "epsilon"]) {
    by(id).addEventListener("input", () => draw(false));
    by(id).addEventListener("change", () => draw(true));
  }
  by("again").addEventListener("click", () => { seed++; draw(true); });
}
