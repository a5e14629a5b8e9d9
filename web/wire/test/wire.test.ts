import assert from "node:assert/strict";
import { createPrivateKey, webcrypto } from "node:crypto";
import { test } from "node:test";
import { RSABSSA } from "@cloudflare/blindrsa-ts";
import { fromBase64url, fromHex, toHex } from "../src/bytes";
import { parseKey } from "../src/keys";
import { encodeBatch } from "../src/messages";
import { checkChain, decodeHandover, encodeHandover } from "../src/receipts";
import { signedIn, signIn } from "../src/signin";
import { blind, decodeTokenRequest, decodeTokenResponse, encodeTokenRequest, encodeTokenResponse, finalize, tokenMessage, verifyToken } from "../src/tokens";
import { vectors } from "./vectors";

interface Message {
  comment: string; kind: string; bytes: string; error?: string; digest: string;
  receipts: { key: string; hop: number; respondents: number; tokens: number; in: number; out: number; dropped: number; duplicates: number; batch_in: string; batch_out: string; previous: string; signature: string }[];
}

const messages = vectors<Message[]>("internal/wire/handover/testdata/vectors/v1/messages.json");

test("handovers, token requests and responses are those of the vectors, and nothing else is", async () => {
  let good = 0;
  for (const m of messages) {
    const bytes = fromHex(m.bytes);
    const again = {
      handover: () => { const h = decodeHandover(bytes); return encodeHandover(h.receipts, encodeBatch(h.batch)); },
      "token request": () => encodeTokenRequest(decodeTokenRequest(bytes)),
      "token response": () => encodeTokenResponse(decodeTokenResponse(bytes)),
    }[m.kind]!;
    if (m.error !== undefined) {
      assert.throws(again, `${m.kind}, ${m.comment}`);
      continue;
    }
    good++;
    assert.equal(toHex(again()), m.bytes, m.comment);
    if (m.kind !== "handover") {
      continue;
    }
    const h = decodeHandover(bytes);
    assert.equal(toHex(h.digest), m.digest);
    for (const [i, want] of m.receipts.entries()) {
      const { plan: _, instance: _i, crowd: _c, bytes: _b, batchIn, batchOut, previous, signature, ...numbers } = h.receipts[i]!;
      assert.deepEqual({ key: want.key, ...numbers, batch_in: toHex(batchIn), batch_out: toHex(batchOut), previous: toHex(previous), signature: toHex(signature) }, want);
    }
    const keys = m.receipts.map((r) => r.key);
    await checkChain(h, keys);
    // Every byte of a signed receipt is borne out by something.
    for (let at = 3; at < 3 + 224; at += 3) {
      const changed = bytes.slice();
      changed[at]! ^= 1;
      await assert.rejects(async () => checkChain(decodeHandover(changed), keys), `byte ${at}`);
    }
    await assert.rejects(checkChain(h, [keys[1]!, keys[0]!]));
  }
  assert.ok(good === 3 && messages.length > 20);
});

interface TokenVector {
  private_key: string; public_key: string; plan: string; instance: number; hop: number; blinded: string; answer: string; token: string; message: string;
  bad: { comment: string; plan: string; instance: number; hop: number; token: string }[];
}

const v = vectors<TokenVector>("internal/token/testdata/vectors/v1/token.json");
const at = { plan: fromBase64url(v.plan), instance: v.instance, hop: v.hop };

test("the golden token verifies, and the bad ones do not", async () => {
  const token = fromBase64url(v.token);
  assert.deepEqual(tokenMessage(at, token.subarray(0, 32)), fromBase64url(v.message));
  assert.equal(await verifyToken(v.public_key, at, token), true);
  for (const bad of v.bad) {
    assert.equal(await verifyToken(v.public_key, { plan: fromBase64url(bad.plan), instance: bad.instance, hop: bad.hop }, fromBase64url(bad.token)), false, bad.comment);
  }
  assert.ok(v.bad.length >= 8);
});

test("a token is made of an issuer's answer, whatever the issuer is", async () => {
  const pkcs8 = fromBase64url(v.private_key);
  const key = await webcrypto.subtle.importKey("pkcs8", pkcs8, { name: "RSA-PSS", hash: "SHA-384" }, true, ["sign"]);
  const issuer = RSABSSA.SHA384.PSS.Deterministic();
  assert.deepEqual(new Uint8Array(await issuer.blindSign(key as CryptoKey, fromBase64url(v.blinded))), fromBase64url(v.answer));
  const request = await blind(v.public_key, at);
  const answer = new Uint8Array(await issuer.blindSign(key as CryptoKey, request.blinded));
  const token = await finalize(request, answer);
  assert.equal(await verifyToken(v.public_key, at, token), true);
  assert.equal(await verifyToken(v.public_key, { ...at, hop: at.hop + 1 }, token), false);
  const other = await blind(v.public_key, at);
  assert.notDeepEqual(other.blinded, request.blinded);
  await assert.rejects(finalize(other, answer));
  await assert.rejects(finalize(request, answer.slice(1)), RangeError);
  assert.equal(createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" }).asymmetricKeyDetails?.modulusLength, 2048);
  assert.throws(() => parseKey(v.public_key.slice(0, -4) + "AAAA", "rsa2048"), SyntaxError);
});

test("a sign-in is for one plan and one secret", () => {
  const all = vectors<{ comment: string; plan: string; secret: string; nonce: string }[]>("internal/wire/testdata/vectors/v1/sign_in.json");
  for (const { comment, plan, secret, nonce } of all) {
    assert.deepEqual(signIn(fromHex(plan), secret), { secret, nonce }, comment);
  }
  assert.ok(all.length >= 3);
  const plan = fromHex(all[0]!.plan), one = signIn(plan), other = signIn(plan);
  assert.notEqual(one.secret, other.secret);
  assert.notEqual(one.nonce, other.nonce);
  assert.equal(signedIn("a.b.c", one), `a.b.c~${one.secret}`);
  assert.throws(() => signIn(plan, one.secret.slice(1)));
  assert.throws(() => signIn(plan.subarray(1)));
});
