// Answers plans of every kind: a program for tests of Go, which gives plans and values on standard input, and opens and counts what comes.
import { fromHex, text, toHex } from "../src/bytes";
import { contributions } from "../src/device";
import { encode, type Value } from "../src/encode";
import { type Plan, planHash } from "../src/plan";
import { measure, report } from "../src/report";
import { sumReport } from "../src/sums";

interface Ask {
  plan: string; // its canonical form
  state: string; // in hexadecimal; empty: none
  values: Value[];
  now: string;
}

let all = "";
for await (const chunk of process.stdin) {
  all += String(chunk);
}
const out = [];
for (const ask of JSON.parse(all) as Ask[]) {
  const plan = JSON.parse(ask.plan) as Plan, hash = planHash(text(ask.plan));
  const devices = [];
  for (const value of ask.values) {
    const answer = encode(plan, value, ask.state === "" ? undefined : fromHex(ask.state));
    if (plan.route.sum !== undefined) {
      const { crowd, vector } = await measure(plan, answer);
      devices.push({ crowd, vector, upload: toHex(await sumReport(plan, hash, crowd, vector, new Date(ask.now))) });
      continue;
    }
    const said = await report(plan, answer);
    const sent = await contributions(plan, hash, said);
    devices.push({ crowd: said.crowd, bodies: said.parts.map((part) => part.map(toHex)), contributions: sent.map((c) => toHex(c.body)) });
  }
  out.push(devices);
}
console.log(JSON.stringify(out));
