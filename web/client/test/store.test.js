// The store of a browser, in Chromium: CONFETTI_PAGE has the client's files below /client/.
import assert from "node:assert/strict";
import test from "node:test";

import { launch } from "puppeteer-core";

const page = process.env["CONFETTI_PAGE"] ?? "";
const why = page ? false : "CONFETTI_PAGE names no page: run go test ./web/client";

/**
 * What a page does with its store: which bytes it finds, and how many each write took.
 * @param {number} appends
 */
async function exercise(appends) {
  const { database } = /** @type {typeof import("../store.js")} */ (await import(/** @type {any} */ ("/client/store.js")));
  const text = (/** @type {Uint8Array | undefined} */ b) => b && new TextDecoder().decode(b);
  const bytes = (/** @type {string} */ s) => new TextEncoder().encode(s);
  const settled = (/** @type {IDBRequest} */ r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
  let written = 0;
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (value, key) {
    written += value instanceof Uint8Array ? value.length : 0;
    return key === undefined ? put.call(this, value) : put.call(this, value, key);
  };

  // A database of the first form, with what a device left in it.
  const first = indexedDB.open("old", 1);
  first.onupgradeneeded = () => first.result.createObjectStore("kept");
  const old = await settled(first);
  const before = old.transaction("kept", "readwrite");
  before.objectStore("kept").put({ pieces: [bytes("spent"), bytes(" one")], bytes: 9, change: "x" }, "ledger");
  before.objectStore("kept").put({ pieces: [], bytes: 0, change: "y" }, "empty");
  await new Promise((resolve) => { before.oncomplete = resolve; });
  old.close();
  const divided = await database("old");
  const carried = [text(await divided.load("ledger")), text(await divided.load("empty")), await divided.stamp("ledger")];
  await divided.append("ledger", 9, bytes(" two"));
  carried.push(text(await divided.load("ledger")));

  const s = await database("new");
  const found = [];
  found.push(await s.append("ledger", 0, bytes("x")), await s.load("ledger"), await s.stamp("ledger"));
  await s.replace("ledger", bytes("head|"));
  await s.replace("ledger2", bytes("another")); // whose name begins alike
  const stamp = await s.stamp("ledger");
  await s.append("ledger", 5, bytes("one|"));
  await s.append("ledger", 9, bytes("two|"));
  found.push(text(await s.load("ledger")), stamp !== await s.stamp("ledger"));
  await s.append("ledger", 7, bytes("E|")); // in the place of a torn end, within a piece
  found.push(text(await s.load("ledger")));
  await s.append("ledger", 5, bytes("1|")); // and where a piece began
  found.push(text(await s.load("ledger")));
  await s.append("ledger", 7, bytes(""));
  found.push(await s.append("ledger", 8, bytes("x")).catch((/** @type {any} */ e) => String(e)), text(await s.load("ledger")));
  found.push(JSON.stringify(await s.list()));
  await s.replace("ledger", bytes(""));
  found.push(text(await s.load("ledger")));
  await s.remove("ledger");
  found.push(await s.load("ledger"), text(await s.load("ledger2")));

  written = 0;
  await s.replace("long", new Uint8Array(64 << 10));
  for (let i = 0; i < appends; i++) await s.append("long", (64 << 10) + 100 * i, new Uint8Array(100).fill(i));
  const long = await s.load("long");
  return { carried, found, written, length: long?.length, last: long?.at(-1) };
}

test("an append writes its own bytes, and a ledger of the first form is kept", { skip: why, timeout: 120_000 }, async () => {
  const browser = await launch({ executablePath: process.env["CONFETTI_CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const tab = await browser.newPage();
    await tab.goto(page);
    const { carried, found, written, length, last } = await tab.evaluate(exercise, 50);
    assert.deepEqual(carried, ["spent one", "", "x", "spent one two"]);
    assert.deepEqual(found.map((x) => x ?? null), [
      false, null, null, "head|one|two|", true, "head|onE|", "head|1|", "Error: an append behind the end", "head|1|",
      '[["ledger",7],["ledger2",7]]', "", null, "another",
    ]);
    assert.equal(length, (64 << 10) + 5000);
    assert.equal(last, 49);
    assert.equal(written, (64 << 10) + 5000);
  } finally {
    await browser.close();
  }
});
