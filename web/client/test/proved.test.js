// Devices in Node that prove how long a vector is, against the aggregators of a trial, which the test of Go has
// started: it counts what is said here (CONFETTI_TRIAL, which has tokens for three devices from CONFETTI_FIRST on).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Memory, open, skip } from "./node.js";

const trial = process.env["CONFETTI_TRIAL"] ?? "";
const first = Number(process.env["CONFETTI_FIRST"] ?? 0);
const why = skip || (trial ? false : "CONFETTI_TRIAL names no trial: run go test ./web/client");

const read = (/** @type {string} */ name) => readFileSync(`${trial}/${name}`, "utf8");

test("a vector is proved to be no longer than the plan says", { skip: why }, async (t) => {
  const plan = read("plan.signed.json");
  assert.equal(JSON.parse(plan).plan.route.sum.circuit.kind, "sumvec");
  const tokens = read("devices.tokens").trim().split("\n");
  for (const [i, features] of [[0.6, 0, 0.8], [30, -40, 0], [0, 0, 0]].entries()) { // of any length, but of none
    const device = await open({ plan, publishers: [JSON.parse(plan).publisher], bearer: tokens[first + i] ?? "", delay: 0 }, new Memory());
    t.after(() => device.close()); // or Node waits for it
    const outcome = await device.report({ features, class: "coffee" }, { consent: true });
    assert.equal(outcome.status, i < 2 ? "sent" : "unfit");
  }
});
