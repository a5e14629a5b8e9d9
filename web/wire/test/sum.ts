// Makes uploads of summed answers: a program for tests of Go, which gives plans on standard input and opens what comes.
import { fromHex, text, toHex } from "../src/bytes";
import { type Plan, planHash } from "../src/plan";
import { sumReport, task } from "../src/sums";

interface Ask {
  plan: string; // its canonical form
  crowd: number;
  vector: number[];
  now: string;
  token?: string; // in hexadecimal
}

let all = "";
for await (const chunk of process.stdin) {
  all += String(chunk);
}
const out = [];
for (const ask of JSON.parse(all) as Ask[]) {
  const plan = JSON.parse(ask.plan) as Plan, hash = planHash(text(ask.plan));
  const upload = await sumReport(plan, hash, ask.crowd, ask.vector, new Date(ask.now), ask.token === undefined ? undefined : fromHex(ask.token));
  out.push({ task: toHex(task(plan, hash, ask.crowd).id), upload: toHex(upload) });
}
console.log(JSON.stringify(out));
