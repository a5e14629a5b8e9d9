// Devices in Chromium against the services of a trial, which the test of Go has started: the
// page is CONFETTI_PAGE, which they let in.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { launch } from "puppeteer-core";

const trial = process.env["CONFETTI_TRIAL"] ?? "";
const page = process.env["CONFETTI_PAGE"] ?? "";
const first = Number(process.env["CONFETTI_FIRST"] ?? 0);
const devices = Number(process.env["CONFETTI_EACH"] ?? 0);
const why = page ? false : "CONFETTI_PAGE names no page: run go test ./web/client";

const read = (/** @type {string} */ name) => readFileSync(`${trial}/${name}`, "utf8");

/**
 * What a page does: one answer, or what became of it if the device is killed so many
 * milliseconds after it began; 0: it is not killed.
 * @param {import("../index.js").OpenOptions} options
 * @param {number} kill
 */
async function answer(options, kill) {
  const began = performance.now();
  const { open } = /** @type {typeof import("../index.js")} */ (await import(/** @type {any} */ ("/client/index.js")));
  try {
    const device = await open(options);
    const opened = performance.now() - began;
    if (kill) setTimeout(() => device.close(), kill);
    const outcome = await device.report({ colour: "green" }, { consent: true }).catch((/** @type {any} */ e) => {
      if (e.code !== "answered") throw e;
      return { status: "answered" };
    });
    const reported = performance.now() - began - opened;
    const { entries } = await device.ledger();
    device.close();
    return { status: outcome.status, entries: entries.length, sent: entries[0]?.["parts"][0].status, opened, reported };
  } catch (e) {
    return { status: /** @type {any} */ (e).code, why: String(e) };
  }
}

test("devices in a browser that is killed answer once", { skip: why, timeout: 900_000 }, async () => {
  const profile = mkdtempSync(join(tmpdir(), "confetti-chromium-"));
  const start = async () => {
    const browser = await launch({
      executablePath: process.env["CONFETTI_CHROMIUM"] ?? "/usr/bin/chromium", userDataDir: profile, protocolTimeout: 600_000,
      // Root has no sandbox, and the trial's authority is its own.
      args: ["--no-sandbox", "--disable-gpu", "--ignore-certificate-errors"],
    });
    const tab = await browser.newPage();
    await tab.goto(page);
    return { browser, tab };
  };
  const plan = read("plan.signed.json"), tokens = read("devices.tokens").trim().split("\n");
  const options = (/** @type {number} */ i) => ({ plan, publishers: [JSON.parse(plan).publisher], bearer: tokens[first + i] ?? "", delay: 0, store: `device-${i}` });
  let { browser, tab } = await start();
  try {
    /** @type {Record<string, number>} */
    const before = {};
    for (let i = 0; i < devices; i++) {
      const a = await tab.evaluate(answer, options(i), i % 2 ? 1 + 25 * i : 0);
      before[a.status] = (before[a.status] ?? 0) + 1;
      assert.ok(a.status === "sent" || a.status === "ended", a.why);
      if (i === 0) console.log(`opened in ${a.opened?.toFixed(0)} ms, reported in ${a.reported?.toFixed(0)} ms`);
    }
    console.log("before the browser was killed", before);
    // In the middle of an answer the whole browser dies.
    const dying = tab.evaluate(answer, { ...options(devices), store: `device-${devices}` }, 0).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 500));
    browser.process()?.kill("SIGKILL");
    await dying;
    ({ browser, tab } = await start());
    for (let i = 0; i <= devices; i++) {
      const a = await tab.evaluate(answer, options(i), 0);
      assert.ok(a.status === "sent" || a.status === "delivered" || a.status === "answered", a.why);
      assert.deepEqual([a.entries, a.sent], [1, "sent"], `device ${i}`);
    }
    assert.ok((before["sent"] ?? 0) >= devices / 2);
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  }
});
