// Answers a plan for people who sign in: a program for tests of Go, which gives it on standard input what it needs and
// reads from standard output what became of each.
import { toHex } from "../src/bytes";
import { contribution } from "../src/device";
import { channelBody } from "../src/messages";
import { trust } from "../src/plan";
import { Problem } from "../src/problem";
import { system } from "../src/random";
import { askTokens, blindAll, fetchPlan, upload } from "../src/service";

interface Task {
  service: string; // that has the plan
  plan: string; // its name
  publisher: string;
  people: { bearer: string; again: string; channel: number }[]; // two identity tokens of each, and the cell that each has
  strangers: string[]; // bearers that must be refused
}

const read = async (): Promise<Task> => {
  let text = "";
  for await (const chunk of process.stdin) {
    text += String(chunk);
  }
  return JSON.parse(text) as Task;
};

const task = await read();
const { plan, hash } = await fetchPlan(task.service, task.plan, trust(task.publisher));
const refused = async (what: Promise<unknown>): Promise<string> => {
  try {
    await what;
    return "taken";
  } catch (e) {
    return e instanceof Problem ? e.code : String(e);
  }
};

const outcomes: Record<string, string[]> = { tokenAgain: [], tokenTwice: [], answerTwice: [], stranger: [], spentElsewhere: [] };
const tokensSeen: string[] = [];
for (const person of task.people) {
  const requests = await blindAll(plan, hash);
  const tokens = await askTokens(plan, hash, requests, person.bearer);
  // The same requests again, with another identity token, have the same answers; others have none.
  const again = await askTokens(plan, hash, requests, person.again);
  const same = [...again].every(([i, of]) => [...of].every(([h, t]) => toHex(t) === toHex(tokens.get(i)!.get(h)!)));
  outcomes["tokenAgain"]!.push(same ? "same" : "another");
  outcomes["tokenTwice"]!.push(await refused(askTokens(plan, hash, await blindAll(plan, hash), person.again)));

  const instance = system.below(plan.route.mix!.instances.length);
  const mine = tokens.get(instance)!;
  const make = () => contribution(plan, hash, { instance, crowd: 0 }, [channelBody(person.channel, 0)], mine);
  const body = await make();
  await upload(plan, hash, instance, body, mine.get(0)!);
  await upload(plan, hash, instance, body, mine.get(0)!); // as after a lost answer
  outcomes["answerTwice"]!.push(await refused(make().then((other) => upload(plan, hash, instance, other, mine.get(0)!))));
  const [other] = [...mine].filter(([h]) => h > 0);
  if (other !== undefined) {
    outcomes["spentElsewhere"]!.push(await refused(upload(plan, hash, instance, body, other[1])));
  }
  tokensSeen.push(...[...mine.values()].map((t) => toHex(t.subarray(0, 32))));
}
for (const stranger of task.strangers) {
  outcomes["stranger"]!.push(await refused(blindAll(plan, hash).then((r) => askTokens(plan, hash, r, stranger))));
}
if (new Set(tokensSeen).size !== tokensSeen.length) {
  throw new Error("two tokens are alike");
}
console.log(JSON.stringify(outcomes));
