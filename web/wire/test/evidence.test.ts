import assert from "node:assert/strict";
import { test } from "node:test";
import { concat, text } from "../src/bytes";
import { checkLog, logEntry, verifyEvidence } from "../src/evidence";
import { openSigned, parsePublishers, planHash, trust } from "../src/plan";
import { file, vectors } from "./vectors";

interface Vectors {
  signed: string; log: string; witnesses: string[]; other: string;
  cases: { comment: string; evidence: string; least: number; good: boolean }[];
}

const v = vectors<Vectors>("plan/testdata/vectors/v2/evidence.json");
const canonical = file("plan/testdata/vectors/v2/canonical.json");
const hash = planHash(canonical[canonical.length - 1] === 10 ? canonical.slice(0, -1) : canonical);
const signed = text(v.signed);
const publisher = /"publisher":"([^"]+)"/.exec(v.signed)![1]!;
const log = (least: number) => ({ key: v.log, witnesses: v.witnesses, ...(least > 0 && { least }) });
const beside = (evidence: string) => concat(signed.slice(0, -1), text(`,"evidence":${JSON.stringify(evidence)}}`));

test("evidence is taken or refused as the vectors say", async () => {
  let good = 0;
  for (const c of v.cases) {
    const plan = () => openSigned(beside(c.evidence), undefined, { ...trust(publisher), log: log(c.least) });
    if (c.good) {
      good++;
      await verifyEvidence(log(c.least), logEntry(hash, signed), c.evidence);
      assert.deepEqual((await plan()).hash, hash, c.comment);
      await assert.rejects(verifyEvidence(log(c.least), logEntry(hash, signed.slice(1)), c.evidence), { name: "EvidenceError" }, c.comment);
      await assert.rejects(verifyEvidence({ ...log(c.least), key: v.other }, logEntry(hash, signed), c.evidence), { name: "EvidenceError" }, c.comment);
    } else {
      await assert.rejects(verifyEvidence(log(c.least), logEntry(hash, signed), c.evidence), { name: "EvidenceError" }, c.comment);
      await assert.rejects(plan(), { name: "PlanError" }, c.comment);
    }
  }
  assert.ok(good >= 4 && v.cases.length >= 25);
});

test("no byte of evidence can be another one", async () => {
  const whole = text(v.cases[0]!.evidence);
  const strangers = new TextDecoder().decode(whole);
  for (let i = 0; i < whole.length; i++) {
    const changed = whole.slice();
    changed[i]! ^= 1;
    await assert.rejects(verifyEvidence(log(0), logEntry(hash, signed), new TextDecoder().decode(changed)), { name: "EvidenceError" }, `byte ${i} of ${strangers.slice(0, i)}`);
  }
});

test("who asks for a log takes no plan without evidence", async () => {
  await assert.rejects(openSigned(signed, undefined, { ...trust(publisher), log: log(0) }), { name: "PlanError", message: /log/ });
  const publishers = (...lines: string[]) => parsePublishers(["confetti-publishers/v1", publisher, ...lines, ""].join("\n"));
  const asking = publishers(`log ${v.log}`, ...v.witnesses.map((w) => `witness ${w}`), "witnesses 1");
  assert.deepEqual(asking.log, { key: v.log, witnesses: v.witnesses, least: 1 });
  assert.deepEqual((await openSigned(beside(v.cases[0]!.evidence), hash, asking)).hash, hash);
  for (const bad of [
    [`witness ${v.witnesses[0]}`], [`log ${v.log}`, `log ${v.log}`], [`log ${v.log}`, "witnesses 0"], [`log ${v.log}`, "witnesses 33"], [`log ${v.log}`, `witness ${v.witnesses[0]}`, "witnesses 01"],
    [`log ${v.log}`, `witness ${v.witnesses[0]}`, "witnesses 2"], [`log ${v.log}`, `witness ${v.witnesses[0]}`, `witness ${v.witnesses[0]}`], ["log log.example+12345678+AAAA"], [`log ${v.log}`, "witness x"], [`log ${v.log.replace(/\+.{8}\+/, "+00000000+")}`],
  ]) {
    assert.throws(() => publishers(...bad), { name: "PlanError" }, bad.join(", "));
  }
  assert.throws(() => checkLog({ key: v.log, witnesses: [v.log] }), { name: "EvidenceError" });
});
