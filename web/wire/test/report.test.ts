import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { test } from "node:test";
import { fromHex, text, toHex } from "../src/bytes";
import { fragments } from "../src/device";
import { encode, type Value } from "../src/encode";
import { formOf, readPayload } from "../src/body";
import { parseCanonical } from "../src/canonical";
import type { Plan } from "../src/plan";
import { ByteWords } from "../src/random";
import { measure, report } from "../src/report";
import { vectors } from "./vectors";

interface Device { value: Value; unfit?: boolean; crowd: number; bodies?: string[][]; payloads?: string[][]; vector?: number[] }
interface Case { name: string; key: string; plan: unknown; state?: string; devices: Device[] }

const golden = vectors<{ cases: Case[]; refused: { case: string; value: Value; why: string }[]; bad: { case: string; payload: string; why: string }[] }>("protocol/testdata/vectors/v1/reports.json");

/** The key stream of AES-128 in counter mode, from zero on. */
class KeyStream extends ByteWords {
  readonly #cipher;
  constructor(key: string) {
    super();
    this.#cipher = createCipheriv("aes-128-ctr", fromHex(key), new Uint8Array(16));
  }
  protected override more(): Uint8Array {
    return new Uint8Array(this.#cipher.update(new Uint8Array(4096)));
  }
}

const opened = (c: Case): { plan: Plan; state: Uint8Array | undefined } => ({
  plan: parseCanonical<Plan>(text(JSON.stringify(c.plan)), "plan"),
  state: c.state === undefined ? undefined : new Uint8Array(Buffer.from(c.state, "base64")),
});

/** How many numbers the model of a plan of gradients has. */
const modelOf = (plan: Plan, state?: Uint8Array): number | undefined => {
  const answer = plan.question.kind === "gradient" ? encode(plan, {}, state) : undefined;
  return answer?.kind === "gradient" ? answer.gradient.length : undefined;
};

for (const c of golden.cases) {
  test(`devices say the golden reports: ${c.name}`, async () => {
    const { plan, state } = opened(c), form = plan.route.sum === undefined ? formOf(plan, modelOf(plan, state)) : undefined, words = new KeyStream(c.key);
    for (const [i, d] of c.devices.entries()) {
      const answer = encode(plan, d.value, state);
      if (d.vector !== undefined) {
        assert.deepEqual(await measure(plan, answer, words), { crowd: d.crowd, vector: d.vector }, `device ${i}`);
        continue;
      }
      const said = await report(plan, answer, words);
      assert.equal(said.crowd, d.crowd);
      assert.deepEqual(said.parts.map((part) => part.map(toHex)), d.bodies, `device ${i}`);
      const payloads = said.parts.map((part) => fragments(plan, part, words));
      assert.deepEqual(payloads.map((part) => part.map(toHex)), d.payloads, `device ${i}`);
      // What was not cut off for want of envelopes is read again.
      for (const [j, part] of payloads.entries()) {
        assert.equal(part.map((p) => readPayload(form!, p)).filter((b) => b !== undefined).length, Math.min(part.length, said.parts[j]!.length));
      }
    }
  });
}

test("payloads that no analyzer counts are refused", () => {
  for (const bad of golden.bad) {
    const { plan, state } = opened(golden.cases.find((c) => c.name === bad.case)!);
    assert.throws(() => readPayload(formOf(plan, modelOf(plan, state)), fromHex(bad.payload)), SyntaxError, `${bad.case}: ${bad.why}`);
  }
  assert.ok(golden.bad.length >= 100);
});

test("answers that are none of a plan's are refused", async () => {
  for (const bad of golden.refused) {
    const { plan, state } = opened(golden.cases.find((c) => c.name === bad.case)!);
    await assert.rejects(async () => report(plan, encode(plan, bad.value, state)), Error, bad.why);
  }
  assert.ok(golden.cases.length >= 30 && golden.refused.length >= 6);
});
