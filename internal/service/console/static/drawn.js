// How a drawing of a collection is shown on the page of a new question.
const svg = (name, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value));
  return e;
};
export const element = (name, className, ...inside) => {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...inside);
  return e;
};
export const number = (n) => n.toLocaleString("en");
const shareOf = (share) => `${(100 * share).toFixed(Math.abs(share) < 0.01 ? 2 : 1)}\u00a0%`;
const formatOf = (unit) => (!unit ? shareOf : unit === "%" ? (x) => `${x.toFixed(1)}\u00a0%` : (x) => number(Math.round(x)));
const points = (by) => `${by < 0 ? "−" : "+"}${Math.abs(100 * by).toFixed(1)}`;

const most = 40; // lines of a chart

/**
 * Shows a chart for each thing that is asked, and returns what is left out.
 * @param {HTMLElement} into
 */
export function showTables(into, tables) {
  let left = "";
  into.replaceChildren(...tables.flatMap((t) => {
    const values = t.crowds.flatMap((c) => c.values);
    const percent = formatOf(t.unit);
    const start = t.signed ? Math.min(0, ...values.map((v) => Math.min(v.low, v.truth))) : 0;
    const end = Math.max(start + 0.01, ...values.map((v) => Math.max(v.high, v.truth, v.estimate)));
    const at = (x) => 100 * Math.min(1, Math.max(0, (x - start) / (end - start)));
    const bar = (v) => {
      const one = svg("svg", { class: "interval", width: "100%", height: 18, "aria-hidden": "true" });
      const rect = (name, from, width) => svg("rect", { class: name, x: `${from.toFixed(2)}%`, width, height: 18 });
      one.append(rect("track", 0, "100%"), t.signed ? rect("even", at(0), 1.5) : rect("sure", 0, `${at(v.low).toFixed(2)}%`), rect("perhaps", at(v.low), `${(at(v.high) - at(v.low)).toFixed(2)}%`), rect("guess", at(v.estimate), 2), rect("true", at(v.truth), 2));
      return one;
    };
    const order = t.crowds[0].values.map((_, i) => i);
    if (!t.ordered) order.sort((a, b) => t.crowds[0].values[b].truth - t.crowds[0].values[a].truth);
    if (order.length > most) left = `The ${most} most frequent of ${number(order.length)} values are shown.`;
    const lines = order.slice(0, most).map((i) => {
      const [one, other] = t.crowds.map((c) => c.values[i]);
      const value = element("span", "value", element("strong", "", percent(one.estimate)));
      if (other) {
        const d = t.differences[i];
        value.append(" ", element("strong", "two", percent(other.estimate)), element("small", "", element("span", d.low > 0 || d.high < 0 ? "apart" : "", `${points(d.by)} points (${points(d.low)} to ${points(d.high)})`), " ", element("span", "truth", `truth ${percent(one.truth)} · ${percent(other.truth)}`)));
      } else {
        value.append(element("small", "", `${percent(one.low)} to ${percent(one.high)} `, element("span", "truth", `truth ${percent(one.truth)}`)));
      }
      return element("li", "", element("span", "name", one.name), element("span", "bars", bar(one), ...(other ? [bar(other)] : [])), value);
    });
    const parts = [element("ol", other(t) ? "chart pair" : "chart", ...lines)];
    if (other(t)) parts.unshift(element("ul", "legend", ...t.crowds.map((c, i) => element("li", "", element("span", i ? "dot two" : "dot one"), `${c.name}, ${number(c.people)} people`))));
    if (tables.length > 1 || t.unit) parts.unshift(element("h3", "", t.attribute));
    return parts;
  }));
  return left;
}

const other = (t) => t.crowds.length > 1;

/** Shows tables as a release would have them, shaded where one would be. */
export function showSheets(into, sheets) {
  into.replaceChildren(...sheets.flatMap((t) => {
    const head = element("thead", "", element("tr", "", ...t.columns.map((title) => { const th = element("th", "", title); th.scope = "col"; return th; })));
    const body = element("tbody", "", ...t.rows.map((row, i) => element("tr", "", ...row.map((text, k) => {
      const cell = element(k === 0 ? "th" : "td", "", text);
      if (k === 0) cell.scope = "row";
      if (t.shades?.[i][k] > 0) cell.style.background = `color-mix(in srgb, var(--s0) ${Math.round(45 * t.shades[i][k])}%, var(--card))`;
      return cell;
    }))));
    const scroll = element("div", "scroll", element("table", "", head, body));
    scroll.tabIndex = 0;
    return [element("h3", "", t.title), scroll, ...(t.note ? [element("p", "soft small", t.note)] : [])];
  }));
}

/** Draws promises as the pages of releases do. */
export function showCards(into, cards) {
  into.replaceChildren(...cards.map((c) => {
    const blocks = element("span", "blocks", ...[0, 1, 2].map((i) => element("span", i < c.strength.blocks ? "full" : "")));
    blocks.setAttribute("aria-hidden", "true");
    const bar = svg("svg", { class: "belief", width: "100%", height: 12, "aria-hidden": "true" });
    bar.append(svg("rect", { class: "track", width: "100%", height: 12 }), svg("rect", { class: "fill", x: `${100 * c.low}%`, width: `${100 * (c.high - c.low)}%`, height: 12 }), svg("rect", { class: "even", x: "50%", width: 1.5, height: 12 }));
    const ends = element("p", "ends", element("span", "", c.from ?? "0 %"), element("span", "", "even odds"), element("span", "", c.to ?? "100 %"));
    ends.setAttribute("aria-hidden", "true");
    const a = element("article", c.strength.word.toLowerCase(), element("p", "strength", blocks, `${c.of === "label" ? "Of the label alone: " : ""}${c.strength.word}`), element("h3", "", c.title), element("p", "sure", c.sure), bar, ends, ...c.who.map((w) => element("p", "who", w)));
    if (c.note) a.append(element("p", "note", c.note));
    a.append(element("details", "", element("summary", "", element("span", "", c.verdict)), element("p", "meaning", c.meaning)));
    return a;
  }));
}

export function showCost(into, cost) {
  into.replaceChildren(...cost.map((l) => {
    const dd = element("dd", "", element("strong", "", l.value));
    if (l.note) dd.append(" ", element("span", "soft", l.note));
    return element("div", "", element("dt", "", l.title), dd);
  }));
}

/** Says what a plan is not complete without, and how that is made. */
export function showLacks(into, lacks) {
  if (lacks.length === 0) {
    into.replaceChildren(element("p", "", "Every party has its keys and its address: the plan is complete."));
    return;
  }
  into.replaceChildren(element("p", "", "The plan is complete with"), element("ul", "", ...lacks.map((l) => element("li", "", `${l.party}: ${l.what}`, ...(l.command ? [element("br", ""), element("code", "", l.command)] : [])))));
}
