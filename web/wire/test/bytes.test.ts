import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBase64url, fromHex, toBase64url, toHex, uint } from "../src/bytes";

test("base64url and hexadecimal are those of Node, and have one form only", () => {
  for (let n = 0; n < 100; n++) {
    const b = crypto.getRandomValues(new Uint8Array(n));
    assert.equal(toBase64url(b), Buffer.from(b).toString("base64url"));
    assert.deepEqual(fromBase64url(toBase64url(b)), b);
    assert.deepEqual(fromHex(toHex(b)), b);
  }
  for (const bad of ["A", "AB", "AA=", "AA==", "A A", "AA\n", "AAB", "A+", "A/", "é"]) {
    assert.throws(() => fromBase64url(bad), SyntaxError, bad);
  }
  for (const bad of ["0", "0G", "AA", " 00"]) {
    assert.throws(() => fromHex(bad), SyntaxError, bad);
  }
});

test("integers are big endian and in range", () => {
  assert.deepEqual([...uint(0x01020304, 4)], [1, 2, 3, 4]);
  assert.deepEqual([...uint(2 ** 32 - 1, 4)], [255, 255, 255, 255]);
  for (const bad of [-1, 1.5, 256, NaN]) {
    assert.throws(() => uint(bad, 1), RangeError);
  }
});
