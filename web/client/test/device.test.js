// Devices in Node against the services of a trial, which the test of Go has started: it
// counts what is said here (CONFETTI_TRIAL, which has tokens for twice CONFETTI_EACH devices and three more).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Memory, open, skip } from "./node.js";

const trial = process.env["CONFETTI_TRIAL"] ?? "";
const each = Number(process.env["CONFETTI_EACH"] ?? 0);
const why = skip || (trial ? false : "CONFETTI_TRIAL names no trial: run go test ./web/client");

const read = (/** @type {string} */ name) => readFileSync(`${trial}/${name}`, "utf8");
const plan = why ? "" : read("plan.signed.json");
const tokens = why ? [] : read("devices.tokens").trim().split("\n");

/** Options of device i. @param {number} i */
const options = (i) => ({ plan, publishers: [JSON.parse(plan).publisher], bearer: tokens[i] ?? "", delay: 0 });

test("a device answers once, with consent", { skip: why }, async () => {
  const memory = new Memory();
  const device = await open(options(2 * each), memory);
  const asked = await device.charge();
  assert.equal(asked.title, "Which colour do you like best?");
  assert.deepEqual(asked.fields, [{ name: "colour", crowd: false, list: false }]);
  assert.ok(asked.charge.epsilon > 0.9 && asked.charge.epsilon < 1.1 && asked.charge.local > 2);
  assert.deepEqual((await device.ledger()).entries, []);
  await assert.rejects(device.report({ colour: "green" }), { code: "not-opted-in" });
  await assert.rejects(device.report({ color: "green" }, { consent: true }), /no answer to "colour"/);
  const { said, ...outcome } = await device.report({ colour: "green" }, { consent: true });
  assert.deepEqual(outcome, { status: "sent", parts: 0, fits: true });
  await assert.rejects(device.report({ colour: "red" }), { code: "answered" });
  const ledger = await device.ledger();
  assert.equal(ledger.entries.length, 1);
  assert.equal(ledger.entries[0]?.["parts"][0].status, "sent");
  assert.match(ledger.words, /Which colour do you like best\?/);
  assert.match(said ?? "", /the coin's$|^nothing, as happens by chance$/);
  assert.equal(ledger.entries[0]?.["said"], said);
  assert.ok(ledger.words.includes(`you said  ${said}`));
  await device.optOut();
  assert.equal((await device.ledger()).opted_in, false);
  device.close();
  await assert.rejects(device.charge(), { code: "ended" });

  const again = await open(options(2 * each), memory); // the ledger outlives the worker
  await assert.rejects(again.report({ colour: "red" }, { consent: true }), { code: "answered" });
  assert.equal((await again.ledger()).entries[0]?.["said"], said);
  again.close();
});

test("the lines of docs/browsers.md answer, are told, and destroy what waits", { skip: why }, async () => {
  const lines = readFileSync(new URL("../../../docs/browsers.md", import.meta.url), "utf8").split("```js\n")[1]?.split("```")[0] ?? "";
  const body = lines.replace(/^import .*$/m, "").replace(/"https:[^"]*"/, "plan").replace(/\["ed25519:[^\]]*\]/, "publishers");
  const of = options(2 * each + 2), memory = new Memory(), off = { onclick: async () => {} };
  /** @type {string[]} */
  const said = [];
  /** @type {(() => void)[]} */
  const leaves = [];
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  const run = new AsyncFunction("open", "plan", "publishers", "credential", "off", "console", "addEventListener", `${body}\nreturn { asked, outcome, device };`);
  const { asked, outcome, device } = await run((/** @type {any} */ o) => open({ ...o, delay: 0 }, memory), of.plan, of.publishers, of.bearer, off,
    { log: (/** @type {string} */ text) => said.push(text) }, (/** @type {string} */ name, /** @type {() => void} */ f) => { if (name === "pagehide") leaves.push(f); });
  assert.equal(asked.title, "Which colour do you like best?");
  assert.equal(outcome.status, "sent");
  assert.match(said[0] ?? "", /the coin's$|^nothing, as happens by chance$/);
  await off.onclick();
  assert.equal((await device.ledger()).opted_in, false);
  leaves[0]?.();
  await assert.rejects(device.charge(), { code: "ended" });
});

test("a plan that nobody trusted has signed, or that was changed, is refused", { skip: why }, async () => {
  await assert.rejects(open({ ...options(2 * each), publishers: [`ed25519:${"A".repeat(43)}`] }, new Memory()));
  await assert.rejects(open({ ...options(2 * each), publishers: [] }, new Memory()), /no publisher is trusted/);
  await assert.rejects(open({ ...options(2 * each), plan: plan.replace("Which", "What") }, new Memory()));
});

test("a plan is refused where nobody whom the person trusts has a part in it", { skip: why }, async () => {
  const operator = JSON.parse(plan).plan.route.mix.instances[0].hops[0].operator;
  await assert.rejects(open({ ...options(2 * each), operators: { trust: ["nobody"] } }, new Memory()), { code: "not-allowed" });
  await assert.rejects(open({ ...options(2 * each), operators: { trust: [operator], deny: [operator] } }, new Memory()), { code: "not-allowed" });
  const device = await open({ ...options(2 * each), operators: { trust: [operator], prefer: ["nobody"] } }, new Memory());
  device.close();
});

test("what cannot be sent waits, and opting out destroys it", { skip: why }, async () => {
  const refused = await open({ ...options(2 * each + 1), bearer: "not-a-token" }, new Memory());
  await assert.rejects(refused.report({ colour: "green" }, { consent: true }), { code: "credential" });
  assert.deepEqual((await refused.ledger()).entries, []); // nothing was drawn
  refused.close();
  const device = await open({ ...options(2 * each + 1), delay: 3600 }, new Memory());
  const outcome = await device.report({ colour: "green" }, { consent: true });
  assert.equal(outcome.status, "waiting");
  assert.equal(outcome.parts, 1);
  assert.equal(outcome.fits, true);
  await device.optOut();
  await assert.rejects(device.deliver(), { code: "dropped" });
  assert.equal((await device.ledger()).entries[0]?.["parts"][0].status, "dropped");
  device.close();
});

/** Ends its worker in the place of an answer to one of its operations. */
class Deadly extends Memory {
  operations = 0;
  /** @param {number} last */
  constructor(last) {
    super();
    this.last = last;
  }
}
for (const method of /** @type {const} */ (["load", "append", "replace", "remove", "list", "stamp"])) {
  /** @type {any} */ (Deadly.prototype)[method] = async function (/** @type {any[]} */ ...args) {
    const result = await /** @type {any} */ (Memory.prototype)[method].apply(this, args);
    if (++this.operations === this.last) {
      this.end();
      return new Promise(() => {}); // nobody is there to be answered
    }
    return result;
  };
}

test("devices that are killed at every operation on their store answer once", { skip: why, timeout: 900_000 }, async () => {
  const colours = ["red", "green", "blue", "yellow", "violet"];
  let next = 0, killed = 0;
  /** @param {number} i */
  const one = async (i) => {
    // An answer has some forty operations behind its opening: each is the last one of some.
    const memory = new Deadly(1 + i % 60);
    const answers = { colour: colours[i % 5] ?? "" };
    try {
      const device = await open(options(i), memory);
      await device.report(answers, { consent: true });
      device.close();
    } catch (error) {
      assert.equal(/** @type {any} */ (error).code, "ended", String(error));
      killed++;
    }
    memory.last = 0;
    const device = await open(options(i), memory);
    try {
      assert.match((await device.report(answers, { consent: true })).status, /^(sent|delivered)$/);
    } catch (error) {
      assert.equal(/** @type {any} */ (error).code, "answered");
    }
    const { entries } = await device.ledger();
    assert.equal(entries.length, 1);
    assert.equal(entries[0]?.["parts"][0].status, "sent");
    device.close();
  };
  const workers = Array.from({ length: 3 }, async () => {
    while (next < each) await one(each + next++);
  });
  await Promise.all(workers);
  console.log(`${each} devices, ${killed} of them killed`);
  assert.ok(killed > each / 2);
});
