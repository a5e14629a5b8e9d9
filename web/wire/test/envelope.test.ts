import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHex, toHex } from "../src/bytes";
import { aad, envelopeLength, info, openLayer, overhead, seal, type Suite, suiteID, type Way } from "../src/envelope";
import { keyID, parseKey } from "../src/keys";
import { bodyOf, channelBody, decodeBatch, decodeContribution, encodeBatch, encodeContribution, payload } from "../src/messages";
import { vectors } from "./vectors";

interface Layer { hop: number; private_key: string; public_key: string; key_id: string; info: string; aad: string; envelope: string; encapsulated_key: string; ciphertext: string; inner: string }
interface Bad { comment: string; hop: number; plan: string; instance: number; crowd: number; envelope: string; error: string }
interface Vector { suite: Suite; suite_id: string; plan: string; instance: number; crowd: number; payload: string; layers: Layer[]; bad: Bad[] }
interface Whole { private_key: string; public_key: string; plan: string; instance: number; crowd: number; envelopes: string[]; header: string; body: string; bad: { comment: string; plan: string; instance: number; crowd: number; number: number; size: number; body: string; error: string }[] }
interface Message { comment: string; kind: string; bytes: string; error?: string; plan: string; instance: number; crowd: number; hop: number; respondents: number; envelopes: string[] }

for (const suite of ["x25519", "x-wing"] as const) {
  const v = vectors<Vector>(`envelope/testdata/vectors/v1/${suite}.json`);
  const at = { plan: fromHex(v.plan), instance: v.instance, crowd: v.crowd };
  const analyzer = v.layers[v.layers.length - 1]!;

  test(`${suite}: every layer of the golden envelope opens`, async () => {
    assert.ok(v.layers.length >= 3 && v.bad.length >= 9);
    assert.equal(toHex(suiteID(suite)), v.suite_id);
    for (const [i, l] of v.layers.entries()) {
      const place = { ...at, hop: l.hop };
      assert.equal(toHex(info(suite, place)), l.info);
      assert.equal(toHex(aad(place)), l.aad);
      assert.equal(parseKey(l.public_key, suite).text, l.public_key);
      assert.equal(keyID(l.public_key), l.key_id);
      assert.equal(l.envelope, l.encapsulated_key + l.ciphertext);
      assert.equal(toHex(await openLayer(suite, fromHex(l.private_key), place, fromHex(l.envelope), l.envelope.length / 2)), l.inner);
      assert.equal(l.inner, v.layers[i + 1]?.envelope ?? v.payload);
    }
  });

  test(`${suite}: what is wrong does not open`, async () => {
    for (const bad of v.bad) {
      const place = { plan: fromHex(bad.plan), instance: bad.instance, hop: bad.hop, crowd: bad.crowd };
      await assert.rejects(openLayer(suite, fromHex(analyzer.private_key), place, fromHex(bad.envelope), analyzer.envelope.length / 2), { name: "EnvelopeError", reason: bad.error }, bad.comment);
    }
  });

  test(`${suite}: what is sealed here opens in the same places, with tokens in their slots`, async () => {
    const way: Way = { suite, keys: v.layers.map((l) => l.public_key), slots: [0, 288, 0] };
    const body = payload(9, channelBody(258, 3));
    const token = crypto.getRandomValues(new Uint8Array(288));
    let inner = await seal(way, at, body, new Map([[1, token]]));
    for (const [h, l] of v.layers.entries()) {
      if (h === 0) {
        continue; // a contribution is sealed once for the entry
      }
      assert.equal(inner.length, envelopeLength(way, 9, h));
      const opened = await openLayer(suite, fromHex(l.private_key), { ...at, hop: h }, inner, envelopeLength(way, 9, h));
      assert.equal(opened.length, inner.length - overhead(suite));
      if (h === 1) {
        assert.deepEqual(opened.slice(0, 288), token);
      }
      inner = opened.slice(way.slots[h]!);
    }
    assert.deepEqual(inner, body);
    assert.deepEqual(bodyOf(inner, 5), channelBody(258, 3));
    await assert.rejects(seal(way, at, body, new Map([[1, token.slice(1)]])), RangeError);
    assert.throws(() => envelopeLength({ ...way, slots: [0, 131072, 0] }, 9, 0), RangeError);
  });
}

for (const suite of ["x25519", "x-wing"] as const) {
  test(`${suite}: contributions are those of the vectors, and nothing else is`, async () => {
    const v = vectors<Whole>(`envelope/testdata/vectors/v2/${suite}.json`);
    const key = fromHex(v.private_key);
    const got = await decodeContribution(suite, key, fromHex(v.body));
    assert.deepEqual([toHex(got.plan), got.instance, got.crowd, got.envelopes.map(toHex)], [v.plan, v.instance, v.crowd, v.envelopes]);
    const again = await encodeContribution(suite, v.public_key, got);
    assert.equal(toHex(again.subarray(0, 48)), v.header);
    assert.deepEqual(await decodeContribution(suite, key, again), got);
    for (const bad of v.bad) {
      await assert.rejects(async () => {
        const c = await decodeContribution(suite, key, fromHex(bad.body));
        if (bad.error === "other" && (toHex(c.plan) !== bad.plan || c.instance !== bad.instance || c.crowd !== bad.crowd || c.envelopes.length !== bad.number)) {
          throw new RangeError("another form, as whoever compares it with the plan says");
        }
      }, Error, bad.comment);
    }
    assert.ok(v.bad.length >= 25);
    await assert.rejects(encodeContribution(suite, v.public_key, { ...got, envelopes: Array.from({ length: 200 }, () => new Uint8Array(131072)) }), RangeError);
  });
}

test("batches are those of the vectors, and nothing else is", () => {
  const all = vectors<Message[]>("envelope/testdata/vectors/v1/messages.json");
  let good = 0;
  for (const m of all.filter((m) => m.kind === "batch")) {
    const bytes = fromHex(m.bytes);
    const read = () => decodeBatch(bytes);
    if (m.error !== undefined) {
      assert.throws(read, `${m.kind}, ${m.comment}`);
      continue;
    }
    good++;
    const got = read();
    assert.deepEqual([toHex(got.plan), got.instance, got.crowd, got.envelopes.map(toHex)], [m.plan, m.instance, m.crowd, m.envelopes]);
    assert.deepEqual([got.hop, got.respondents], [m.hop, m.respondents]);
    assert.equal(toHex(encodeBatch(got)), m.bytes);
  }
  assert.ok(good >= 1 && all.length - good >= 10);
});

test("payloads have one form", () => {
  assert.equal(bodyOf(payload(8), 5), undefined);
  for (const bad of ["000000000001", "0001000000000000", "0200000000000000", "0101020304050001", ""]) {
    assert.throws(() => bodyOf(fromHex(bad), 5), SyntaxError, bad);
  }
  assert.throws(() => payload(5), RangeError);
  assert.throws(() => payload(6, new Uint8Array(6)), RangeError);
});

test("a key has one text", () => {
  const good = vectors<Vector>("envelope/testdata/vectors/v1/x25519.json").layers[0]!.public_key;
  for (const bad of [good + "A", good + "=", good.replace("x25519", "x-wing"), good.replace("x25519", "X25519"), good.slice(0, -1), " " + good, good + ":", ""]) {
    assert.throws(() => parseKey(bad, "x25519"), SyntaxError, bad);
  }
});
