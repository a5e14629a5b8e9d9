// Single-use tokens: blind RSA signatures (RFC 9474), which an issuer gives a respondent for a hop without seeing them.
import { RSABSSA } from "@cloudflare/blindrsa-ts";
import { decode, encode, rfc8949EncodeOptions } from "cborg";
import { concat, equal, text, toBase64url, uint } from "./bytes";
import { parseKey } from "./keys";
import { randomBytes } from "./random";

export const tokenBytes = 288;
const nonceBytes = 32;
const signatureBytes = 256;
const maxAsks = 1024;

/** Where a token may be spent. */
export interface TokenPlace {
  readonly plan: Uint8Array; // hash, 32 bytes
  readonly instance: number;
  readonly hop: number;
}

/** What a token's signature is over. */
export function tokenMessage(at: TokenPlace, nonce: Uint8Array): Uint8Array<ArrayBuffer> {
  if (at.plan.length !== 32 || nonce.length !== nonceBytes) {
    throw new RangeError("a plan's hash and a nonce have 32 bytes each");
  }
  return concat(text("confetti/token/v1"), at.plan, uint(at.instance, 2), uint(at.hop, 1), nonce);
}

const scheme = RSABSSA.SHA384.PSS.Deterministic();

const importKey = (key: string): Promise<CryptoKey> => crypto.subtle.importKey("spki", parseKey(key, "rsa2048").bytes, { name: "RSA-PSS", hash: "SHA-384" }, true, ["verify"]);

/** Whether the bytes are a token for the place, under the hop's public key. */
export async function verifyToken(key: string, at: TokenPlace, token: Uint8Array): Promise<boolean> {
  if (token.length !== tokenBytes) {
    return false;
  }
  const message = tokenMessage(at, token.subarray(0, nonceBytes));
  return crypto.subtle.verify({ name: "RSA-PSS", saltLength: 48 }, await importKey(key), token.slice(nonceBytes), message);
}

/** A request for one token, and the secret that makes the answer to it a token. Whoever has the secret can tell whose the token is: keep it until there is the token, and no longer. */
export interface BlindedRequest {
  readonly at: TokenPlace;
  readonly key: string;
  readonly blinded: Uint8Array; // 256 bytes, what the issuer sees
  readonly nonce: Uint8Array;
  readonly inverse: Uint8Array;
}

/** Draws a nonce and blinds the message for the issuer. */
export async function blind(key: string, at: TokenPlace): Promise<BlindedRequest> {
  const nonce = randomBytes(nonceBytes);
  const { blindedMsg, inv } = await scheme.blind(await importKey(key), scheme.prepare(tokenMessage(at, nonce)));
  return { at, key, blinded: blindedMsg, nonce, inverse: inv };
}

/** Makes a token of the issuer's answer. An answer that is no signature is refused. */
export async function finalize(request: BlindedRequest, answer: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  if (answer.length !== signatureBytes) {
    throw new RangeError(`an answer of ${answer.length} bytes: all have ${signatureBytes}`);
  }
  const signature = await scheme.finalize(await importKey(request.key), scheme.prepare(tokenMessage(request.at, request.nonce)), answer, request.inverse);
  const token = concat(request.nonce, signature);
  if (!(await verifyToken(request.key, request.at, token))) {
    throw new Error("the issuer's answer is no signature of the request");
  }
  return token;
}

/** What a request says for one hop. */
export interface Ask {
  readonly instance: number;
  readonly hop: number;
  readonly blinded: Uint8Array;
}

export const encodeTokenRequest = (asks: readonly Ask[]): Uint8Array => {
  checkAsks(asks);
  return cbor(new Map([[1, asks.map((a) => new Map<number, unknown>([[1, a.instance], [2, a.hop], [3, a.blinded]]))]]));
};

export const encodeTokenResponse = (answers: readonly Uint8Array[]): Uint8Array => {
  checkAnswers(answers);
  return cbor(new Map([[1, [...answers]]]));
};

const cbor = (value: unknown): Uint8Array => encode(value, rfc8949EncodeOptions);

/** Reads CBOR in the core deterministic encoding; every other form is refused, since what was read does not encode to the same bytes. */
function fromCBOR(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    value = decode(bytes, { useMaps: true, strict: true, allowIndefinite: false, allowUndefined: false, allowNaN: false, allowInfinity: false, rejectDuplicateMapKeys: true });
  } catch {
    throw new SyntaxError("not the CBOR of this message");
  }
  if (!equal(cbor(value), bytes)) {
    throw new SyntaxError("CBOR, but not in its one encoding");
  }
  return value;
}

/** The only field of a message, a list. */
function listOf(bytes: Uint8Array): unknown[] {
  const value = fromCBOR(bytes);
  const list = value instanceof Map && value.size === 1 ? value.get(1) : undefined;
  if (!Array.isArray(list)) {
    throw new SyntaxError("not the CBOR of this message");
  }
  if (list.length === 0 || list.length > maxAsks) {
    throw new SyntaxError(list.length === 0 ? "empty" : `more than ${maxAsks} asks`);
  }
  return list;
}

export function decodeTokenRequest(bytes: Uint8Array): Ask[] {
  const asks = listOf(bytes).map((a): Ask => {
    const [instance, hop, blinded] = a instanceof Map && a.size === 3 ? [a.get(1), a.get(2), a.get(3)] : [];
    if (typeof instance !== "number" || typeof hop !== "number" || !(blinded instanceof Uint8Array)) {
      throw new SyntaxError("not the CBOR of this message");
    }
    return { instance, hop, blinded };
  });
  checkAsks(asks);
  return asks;
}

export function decodeTokenResponse(bytes: Uint8Array): Uint8Array[] {
  const answers = listOf(bytes).map((a) => {
    if (!(a instanceof Uint8Array)) {
      throw new SyntaxError("not the CBOR of this message");
    }
    return a;
  });
  checkAnswers(answers);
  return answers;
}

function checkAsks(asks: readonly Ask[]): void {
  checkAnswers(asks.map((a) => a.blinded));
  const places = new Set(asks.map((a) => {
    uint(a.instance, 2);
    uint(a.hop, 1);
    return `${a.instance}/${a.hop}`;
  }));
  if (places.size < asks.length) {
    throw new SyntaxError("two asks for the same hop");
  }
}

function checkAnswers(all: readonly Uint8Array[]): void {
  if (all.length === 0 || all.length > maxAsks) {
    throw new SyntaxError(all.length === 0 ? "empty" : `more than ${maxAsks} asks`);
  }
  for (const a of all) {
    if (a.length !== signatureBytes) {
      throw new SyntaxError(`${a.length} bytes: all have ${signatureBytes}`);
    }
  }
}

/** The header Authorization that shows a token at an entry hop (RFC 9577). */
export const tokenAuthorization = (token: Uint8Array): string => `PrivateToken token="${toBase64url(token)}"`;
