// A new question, made of values that stay in this browser: the module computes, this shows it.
import { Studio } from "/studio/index.js";
import { element, number, showCards, showCost, showLacks, showSheets, showTables } from "/static/drawn.js";

const form = document.getElementById("studio");
const by = (id) => document.getElementById(id);
const options = (select, all, chosen) => {
  select.replaceChildren(...all.map(([value, text]) => new Option(text, value)));
  select.value = chosen;
};

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

// What changed decides what is computed: while a slider moves devices answer as they did; so they
// do where parties alone change, which the plan needs; of all else the way that errs least is chosen anew.
const [slid, joined, changed] = [1, 2, 3];
const studio = new Studio();
let sheet; // what was read
let has = ""; // the same in a sentence
let last; // what was drawn last
let settled = false; // nothing but parties has changed since a whole drawing
let seed = 1;
let address = ""; // of the plan's text
let wanted = 0;
let busy = false;

const say = (text) => { by("read").textContent = text; };

async function take(bytes, asTable) {
  say("Reading, in this browser…");
  by("result").hidden = by("asked").hidden = true;
  sheet = undefined;
  try {
    sheet = await studio.ask("read", bytes, asTable);
  } catch (error) {
    say(`This cannot be read: ${error.message}.`);
    return;
  }
  has = `${number(sheet.rows)} rows, ${number(sheet.columns.length)} ${sheet.columns.length === 1 ? "column" : "columns"}. ${sheet.note ? `Read as ${sheet.note}.` : ""}`;
  say(has);
  options(by("crowd"), [["", "one, of everybody"], ...sheet.columns.map((c, i) => [String(i), `by ${c.name}`])], "");
  by("asks").replaceChildren();
  ask(Math.max(0, sheet.columns.findIndex((c) => !c.doubt)));
  offer();
  by("asked").hidden = false;
  chosen();
}

// ask adds a column to what is asked.
function ask(at) {
  const row = by("ask").content.firstElementChild.cloneNode(true);
  const field = (name) => row.querySelector(`[name=${name}]`);
  options(field("column"), sheet.columns.map((c, i) => [String(i), c.name]), String(at));
  field("column").addEventListener("change", () => { guess(row); arrange(); });
  field("less").addEventListener("click", () => { row.remove(); arrange(); by("more").focus(); });
  for (const name of ["kind", "named", "most", "low", "high", "cells", "others"]) field(name).addEventListener("change", arrange);
  by("asks").append(row);
  guess(row);
  return row;
}

// guess shows what was guessed of a row's column.
function guess(row) {
  const field = (name) => row.querySelector(`[name=${name}]`);
  const c = sheet.columns[Number(field("column").value)];
  field("kind").value = c.kind;
  field("kind").querySelector("[value=buckets]").disabled = !c.numbers;
  field("named").value = String(Math.min(20, Math.max(1, c.distinct)));
  field("most").value = String(Math.min(64, Math.max(1, c.most)));
  [field("low").value, field("high").value, field("cells").value] = c.numbers ? [c.low, c.high, c.cells].map(String) : ["0", "1", "1"];
  const doubt = row.querySelector(".banner");
  doubt.textContent = c.doubt ?? "";
  doubt.hidden = !c.doubt;
}

const rows = () => [...by("asks").children];
const asked = () => rows().map((row) => {
  const field = (name) => row.querySelector(`[name=${name}]`);
  return {
    column: Number(field("column").value), kind: field("kind").value, named: Number(field("named").value), others: field("others").checked,
    low: Number(field("low").value), high: Number(field("high").value), cells: Number(field("cells").value), most: Number(field("most").value),
  };
});

// Kinds that ask whole records have their fields in a part of the page of their own.
const fieldsets = form ? [...form.querySelectorAll("fieldset[data-kind]")] : [];
const own = () => fieldsets.find((of) => of.dataset.kind === by("kind").value);
const named = (of) => [...of.querySelectorAll("[name]")];
const fieldOf = (e) => {
  if (e.multiple) return [...e.selectedOptions].map((o) => Number(o.value));
  if (e.dataset.columns || e.type === "number") return Number(e.value);
  return e.value;
};
const fields = () => (own() ? Object.fromEntries(named(own()).map((e) => [e.name, fieldOf(e)])) : null);
const columnsOf = (of) => named(of).filter((e) => e.dataset.columns).flatMap(fieldOf).filter((at) => at >= 0);

// offer lays the columns of what was read out to be chosen from.
function offer() {
  for (const e of fieldsets.flatMap(named)) {
    if (!e.dataset.columns) continue;
    const none = e.dataset.none ? [["-1", e.dataset.none]] : [];
    const all = sheet.columns.flatMap((c, i) => (e.dataset.columns === "numbers" && !c.numbers ? [] : [[String(i), c.name]]));
    options(e, [...none, ...(all.length > 0 || none.length > 0 || e.multiple ? all : [["-1", "no column of numbers"]])], none[0]?.[0] ?? all[0]?.[0] ?? "-1");
    if (e.multiple) e.selectedIndex = -1;
  }
}

// chosen has a kind begin with as many people, and the route, that suit it.
function chosen() {
  const of = own();
  put("people", Math.max(200, sheet.rows, Number(of?.dataset.people ?? 0)));
  if (of?.dataset.route && of.dataset.route !== by("route").value) {
    [by("route").value, by("from").value] = [of.dataset.route, ""];
    seat(nobody);
  }
  arrange();
}

// arrange shows the fields that something depends on, and draws.
function arrange() {
  const all = asked();
  const show = (of, selector, yes) => { for (const e of of.querySelectorAll(selector)) e.hidden = !yes; };
  rows().forEach((row, i) => {
    show(row, ".of-names", all[i].kind !== "buckets");
    show(row, ".of-numbers", all[i].kind === "buckets");
    show(row, ".of-sets", all[i].kind === "set");
    show(row, "[name=less]", all.length > 1);
  });
  for (const of of fieldsets) of.hidden = of !== own();
  show(form, ".of-counts", !own());
  show(form, ".of-others", own());
  show(form, ".of-several", all.length > 1 && !own());
  show(form, ".of-sums", by("route").value === "sum");
  show(form, ".of-mix", by("route").value === "mix");
  show(form, ".of-empty", empty());
  by("more").hidden = all.length >= Math.min(16, sheet.columns.length);
  by("in-each").textContent = by("crowd").value === "" || own() ? "" : ", in each crowd";
  draw(changed);
}

const empty = () => (own() ? columnsOf(own()).some((at) => sheet.columns[at].empty > 0) : uncounted());
const uncounted = () => asked().some((a) => a.kind !== "set" && sheet.columns[a.column].empty > 0) || by("crowd").value !== "" && sheet.columns[Number(by("crowd").value)].empty > 0;

// draw asks for a drawing. What is old meanwhile is no plan.
function draw(what) {
  for (const id of ["people", "epsilon"]) {
    const text = number(value(id));
    by(`${id}-is`).value = text;
    by(id).setAttribute("aria-valuetext", text);
  }
  if (what !== joined) settled = false;
  by("plan").removeAttribute("href");
  if (what === slid && own()) return; // which takes too long to follow a slider
  wanted = Math.max(wanted, what);
  if (!busy) void next();
}

async function next() {
  busy = true;
  while (wanted > 0) {
    const whole = wanted === changed;
    const final = whole || wanted === joined && settled;
    wanted = 0;
    if (whole) by("working").textContent = "The accountant works, in this browser…";
    try {
      last = await studio.ask("draw", JSON.stringify(choice(whole)));
      settled = final && wanted !== slid && wanted !== changed;
      show(last, settled && wanted === 0);
    } catch (error) {
      by("result").hidden = true;
      say(`This cannot be asked: ${error.message}.`);
    }
  }
  by("working").textContent = "";
  busy = false;
}

const choice = (whole) => ({
  title: by("title").value, kind: by("kind").value, fields: fields(), asked: asked(), crowd: by("crowd").value === "" ? null : Number(by("crowd").value), beside: [by("one").value, by("two").value],
  collect: whole || !last ? by("collect").value : last.collect, route: by("route").value, noise: by("route").value === "sum" ? by("noise").value : "", suite: by("suite").value,
  missing: empty() ? by("missing").value : "refuse",
  epsilon: value("epsilon"), people: value("people"), seed, answer: whole || !last ? "" : last.chosen, parties: parties(),
});

// In how many looks people are asked.
const looks = () => fields()?.looks ?? 1;

function show(d, whole) {
  by("result").hidden = false;
  by("answer").replaceChildren(...d.answer.map((sentence) => element("p", "answer big", sentence)));
  by("adjacency").textContent = d.adjacency;
  say(`${has} ${d.left > 0 ? `${number(d.left)} with an empty cell are left out.` : ""}`);
  by("beside").hidden = !d.crowds;
  const crowds = (d.crowds ?? []).map((name) => [name, name]);
  const shown = (d.tables?.[0]?.crowds ?? []).map((c) => c.name);
  options(by("one"), crowds, shown[0]);
  options(by("two"), crowds, shown[1] ?? "");
  by("shown").textContent = showTables(by("chart"), d.tables ?? []);
  showSheets(by("sheets").querySelector("div"), d.sheets ?? []);
  if (!d.tables) by("sheets").open = true;
  by("says").replaceChildren(...(d.says ?? []).map((sentence) => element("li", "", sentence)));
  by("enough").hidden = !d.needed || d.needed <= d.people * looks();
  by("enough").textContent = `Ask ${number(d.needed ?? 0)} people, who are needed`;
  showCards(by("cards"), d.cards);
  showCost(by("cost"), d.cost);
  showLacks(by("lacks"), d.lacks ?? []);
  by("to-sign").textContent = (d.lacks ?? []).length === 0 ? "It is complete. To collect for real, sign it and bring it to the services:" : "To collect for real it needs what is missing above. Then sign it and bring it to the services:";
  if (!whole) return;
  by("toml").textContent = d.plan;
  URL.revokeObjectURL(address);
  address = URL.createObjectURL(new Blob([d.plan], { type: "application/toml" }));
  by("plan").href = address;
}

// Who takes part: as in an earlier collection, or as it is pasted.
const known = form ? JSON.parse(form.dataset.known) : [];
const nobody = { way: [], analyzer: { operator: "", text: "" }, issuer: { operator: "", text: "" } };

function parties() {
  const all = [...by("parties").children].map((e) => ({ operator: e.querySelector("[name=operator]").value, text: e.querySelector("[name=text]").value }));
  const issuer = all.pop(), analyzer = all.pop();
  return { way: all, analyzer, issuer, closes: by("closes").value ? new Date(by("closes").value).toISOString().replace(/\.\d+Z$/, "Z") : "" };
}

// seat lays a place for each party, filled in as far as it is known.
function seat(of) {
  const sum = by("route").value === "sum";
  const names = sum ? ["Leader", "Helper"] : Array.from({ length: Math.min(8, Math.max(1, Number(by("hops").value))) }, (_, i) => `Hop ${i + 1}`);
  const places = [...names.map((name, i) => [name, of.way[i]]), ["Analyzer", of.analyzer], ["Issuer of tokens", of.issuer]];
  by("parties").replaceChildren(...places.map(([name, one]) => {
    const e = by("party").content.firstElementChild.cloneNode(true);
    const summary = e.querySelector("summary"), operator = e.querySelector("[name=operator]"), text = e.querySelector("[name=text]");
    const told = () => { summary.textContent = operator.value ? `${name}: ${operator.value}` : name; };
    operator.value = one?.operator ?? "";
    text.value = one?.text ?? "";
    told();
    for (const field of [operator, text]) field.addEventListener("change", () => { told(); draw(joined); });
    return e;
  }));
}

// reseat takes the parties of the collection that is chosen, and its route.
function reseat() {
  const of = known[Number(by("from").value)];
  if (of) {
    by("route").value = of.route;
    by("suite").value = of.suite;
    by("hops").value = String(of.parties.way.length);
  }
  seat(of?.parties ?? nobody);
}

// An example: how 600 people come to work.
function sample() {
  const rows = ["way to work,minutes,town"];
  for (let i = 0; i < 600; i++) rows.push(`${["bicycle", "train", "bicycle", "car", "on foot", "train", "bicycle", "bus", "", "train"][(i * 7 + (i % 3 === 0 ? i >> 3 : 0)) % 10]},${4 + ((i * 37) % 83)},${i % 3 === 0 ? "south" : "north"}`);
  by("values").value = rows.join("\n");
  void take(new TextEncoder().encode(by("values").value), true);
}

if (form) {
  form.hidden = false;
  put("epsilon", 1);
  const end = new Date(Date.now() + 30 * 24 * 3600 * 1000);
  by("closes").value = `${end.toISOString().slice(0, 10)}T12:00`;
  options(by("from"), [["", "no earlier collection"], ...known.map((k, i) => [String(i), k.title])], known.length > 0 ? "0" : "");
  reseat();
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
  by("more").addEventListener("click", () => {
    const taken = asked().map((a) => a.column);
    const free = sheet.columns.findIndex((c, i) => !taken.includes(i) && !c.doubt && String(i) !== by("crowd").value);
    ask(free >= 0 ? free : sheet.columns.findIndex((_, i) => !taken.includes(i))).querySelector("select").focus();
    arrange();
  });
  for (const of of fieldsets) {
    by("kind").append(new Option(of.querySelector("legend").textContent, of.dataset.kind));
    of.addEventListener("change", () => { if (sheet) arrange(); });
  }
  by("kind").addEventListener("change", chosen);
  by("enough").addEventListener("click", () => { put("people", 1.03 * last.needed / looks()); draw(changed); });
  for (const id of ["crowd", "collect", "missing", "noise", "suite", "title"]) by(id).addEventListener("change", () => { if (sheet) arrange(); });
  by("route").addEventListener("change", () => { by("from").value = ""; seat(nobody); if (sheet) arrange(); });
  by("from").addEventListener("change", () => { reseat(); arrange(); });
  by("hops").addEventListener("change", () => { seat(parties()); arrange(); });
  by("closes").addEventListener("change", () => draw(joined));
  for (const [id, beside, was] of [["one", "two", 0], ["two", "one", 1]]) {
    by(id).addEventListener("change", () => { // a crowd that is beside already changes places
      if (by(id).value === by(beside).value) by(beside).value = last.tables[0].crowds[was].name;
      draw(joined);
    });
  }
  for (const id of ["people", "epsilon"]) {
    by(id).addEventListener("input", () => draw(slid));
    by(id).addEventListener("change", () => draw(changed));
  }
  by("again").addEventListener("click", () => { seed++; draw(changed); });
}
