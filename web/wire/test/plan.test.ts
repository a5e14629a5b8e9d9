import assert from "node:assert/strict";
import { test } from "node:test";
import { concat, text, toHex } from "../src/bytes";
import { canonical, parseCanonical } from "../src/canonical";
import { collected, openSigned, openWithdrawal, parsePlan, parsePublishers, type Plan, planHash, trust, way } from "../src/plan";
import { askTokens, upload } from "../src/service";
import { file, vectors } from "./vectors";

const at = (name: string) => `plan/testdata/vectors/v2/${name}.json`;
const bytes = (s: string) => text(s);
const trimmed = (name: string) => { const b = file(at(name)); return b[b.length - 1] === 10 ? b.slice(0, -1) : b; };
const signersOf = (b: Uint8Array) => [...new TextDecoder().decode(b.slice(0, 1400)).matchAll(/"publisher":"([^"]+)"/g)].map((m) => m[1]!);

test("canonical plans come back to their bytes", () => {
  for (const name of ["canonical", "histogram"]) {
    const b = trimmed(name);
    assert.deepEqual(canonical(parseCanonical<Plan>(b, "plan")), b);
    const plain = new TextDecoder().decode(b);
    for (const changed of [plain.replace(":", ": "), plain.replace('"version":2', '"version":2.0'), plain.replace('{"version":2', '{"version":2,"more":1'), plain.replace('"version":2,', ""), plain.replace('"version":2', '"version":2,"version":2'), plain + " "]) {
      assert.throws(() => parseCanonical(bytes(changed), "plan"), SyntaxError);
    }
  }
  assert.equal(new TextDecoder().decode(canonical({ a: 1e-6, b: 1e-7, c: 1e21, d: 1e20, e: "\u2028<&>é\u0001" })), '{"a":0.000001,"b":1e-7,"c":1e+21,"d":100000000000000000000,"e":"\\u2028<&>é\\u0001"}');
});

test("signed plans and a round open, for whoever trusts enough of their publishers", async () => {
  for (const name of ["signed", "signed_by_three", "round"]) {
    const b = trimmed(name);
    const signers = signersOf(b);
    const got = await openSigned(b, undefined, { ...trust(...signers), signatures: signers.length });
    assert.deepEqual(got.signers, signers);
    if (name === "signed") {
      assert.deepEqual(planHash(trimmed("canonical")), got.hash);
    }
    const least = got.plan.signatures ?? 1;
    assert.equal((await openSigned(b, got.hash, trust(...signers.slice(0, least)))).plan.title, got.plan.title);
    await assert.rejects(openSigned(b, got.hash, trust(...signers.slice(0, least - 1))), { name: "PlanError" });
    await assert.rejects(openSigned(b, new Uint8Array(32), trust(...signers)), { name: "PlanError" });
    await assert.rejects(openSigned(b, undefined, trust()), { name: "PlanError" });
    await assert.rejects(openSigned(b, undefined, { ...trust(...signers), signatures: signers.length + 1 }), { name: "PlanError" });
    assert.ok(got.plan.times!.closes);
    const ended = (ends: string) => ({ keys: signers.map((key) => ({ key, ends: new Date(ends) })), signatures: 1 });
    await assert.rejects(openSigned(b, undefined, ended("2020-01-01T00:00:00Z")), { name: "PlanError" });
    await openSigned(b, undefined, ended("2040-01-01T00:00:00Z"), new Date("2026-01-01T00:00:00Z"));
    await assert.rejects(openSigned(b, undefined, ended("2040-01-01T00:00:00Z"), new Date("2040-01-01T00:00:00Z")), { name: "PlanError" });
    // No byte can be another one.
    for (let i = 0; i < b.length; i += 37) {
      const changed = b.slice();
      changed[i]! ^= 1;
      await assert.rejects(openSigned(changed, undefined, trust(...signers)), { name: "PlanError" }, `${name}, byte ${i}`);
    }
  }
});

test("plans of version 3 name who signs their releases, and nobody answers those of versions 2 and 3", async () => {
  const v = vectors<{ plan: string; name: string; signed: string; bad_plans: Record<string, string> }>("plan/testdata/vectors/v3/release.json");
  const got = await openSigned(bytes(v.signed), undefined, trust(...signersOf(bytes(v.signed))));
  assert.equal(toHex(got.hash), v.name);
  assert.deepEqual(canonical(got.plan), bytes(v.plan));
  collected({ ...got.plan, version: 4 });
  assert.throws(() => collected(got.plan), { name: "PlanError", message: /version 3 seals every envelope/ });
  const b = trimmed("signed");
  assert.throws(() => collected(JSON.parse(new TextDecoder().decode(trimmed("canonical"))) as Plan), { name: "PlanError", message: /version 2/ });
  await openSigned(b, undefined, trust(...signersOf(b)));
  for (const [name, plan] of Object.entries(v.bad_plans)) {
    assert.throws(() => parsePlan(bytes(plan)), Error, name);
  }
});

test("a relay is read, and nothing is sent past it", async () => {
  const v = vectors<{ plan: string; name: string; bad_plans: Record<string, string> }>("plan/testdata/vectors/v3/relay.json");
  const plan = parsePlan(bytes(v.plan));
  const hash = planHash(bytes(v.plan));
  assert.equal(toHex(hash), v.name);
  const entry = plan.route.mix!.instances[0]!.hops[0]!;
  assert.equal(entry.relay!.operator, "Hideaway");
  assert.deepEqual(canonical(plan), bytes(v.plan));
  const asked = { at: { plan: hash, instance: 0, hop: 0 }, blinded: new Uint8Array(256) };
  let sent = 0;
  const network = async (): Promise<Response> => { sent++; return new Response(null, { status: 201 }); };
  await assert.rejects(upload(plan, hash, 0, new Uint8Array(8), "bearer", network), /by a relay/);
  const registry: Plan = { ...plan, route: { ...plan.route, mix: { ...plan.route.mix!, issuer: { operator: "Registry", url: "https://registry.example", relay: entry.relay! } } } };
  await assert.rejects(askTokens(registry, hash, [asked as never], "bearer", network), /by a relay/);
  assert.equal(sent, 0);
  // The network is there: without a relay something is sent.
  const { relay: _, ...shown } = entry;
  await upload({ ...plan, route: { ...plan.route, mix: { ...plan.route.mix!, instances: [{ hops: [shown] }] } } }, hash, 0, new Uint8Array(8), "bearer", network);
  assert.equal(sent, 1);
  for (const [name, bad] of Object.entries(v.bad_plans)) {
    assert.throws(() => parsePlan(bytes(bad)), Error, name);
  }
});

test("the way of a golden plan has its keys and slots", async () => {
  const b = trimmed("signed");
  const { plan } = await openSigned(b, undefined, trust(...signersOf(b)));
  const through = way(plan, 0);
  assert.equal(through.keys.length, plan.route.mix!.instances[0]!.hops.length + 1);
  assert.equal(through.slots[0], 0);
  assert.throws(() => way(plan, 99), RangeError);
});

test("bad signed plans are refused", async () => {
  const good = signersOf(trimmed("signed_by_three"));
  const bad = Object.entries(vectors<Record<string, string>>(at("bad_signed")));
  assert.ok(bad.length >= 12);
  for (const [why, plan] of bad) {
    await assert.rejects(openSigned(bytes(plan), undefined, trust(...good, ...signersOf(bytes(plan)))), { name: "PlanError" }, why);
  }
});

test("withdrawals", async () => {
  const w = await openWithdrawal(file(at("withdrawal")));
  assert.equal(toHex(w.plan), toHex(planHash(trimmed("canonical"))));
  assert.equal(w.reason, 'the question was "wrong" <é>');
  assert.equal(w.at.toISOString(), "2026-11-22T06:30:00.000Z");
  const bad = Object.entries(vectors<Record<string, string>>(at("bad_withdrawal")));
  assert.ok(bad.length >= 18);
  for (const [why, one] of bad) {
    await assert.rejects(openWithdrawal(bytes(one)), { name: "PlanError" }, why);
  }
});

test("files of publishers", () => {
  const good = new TextDecoder().decode(file("plan/testdata/vectors/v2/publishers.txt"));
  assert.ok(parsePublishers(good).keys.length > 0);
  for (const [why, one] of Object.entries(vectors<Record<string, string>>(at("bad_publishers")))) {
    assert.throws(() => parsePublishers(one), { name: "PlanError" }, why);
  }
  assert.throws(() => parsePublishers(good + "log log.example+12345678+AAAA\n"), /log/);
});

test("evidence behind a plan is no part of it", async () => {
  const b = trimmed("signed");
  const with_ = concat(b.slice(0, -1), bytes(',"evidence":"c2sp.org/tlog-proof@v1\\nindex 1\\n\\nlog\\n1\\nAA==\\n"}'));
  const signers = signersOf(b);
  assert.deepEqual((await openSigned(with_, undefined, trust(...signers))).hash, planHash(trimmed("canonical")));
});
