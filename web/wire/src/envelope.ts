// Envelopes: a payload sealed once for the analyzer and then once for each hop, the last hop first.
import { Aes128Gcm, CipherSuite, HkdfSha256 } from "@hpke/core";
import { DhkemX25519HkdfSha256 } from "@hpke/dhkem-x25519";
import { XWing } from "@hpke/hybridkem-x-wing";
import { concat, fromHex, text, uint } from "./bytes";
import { parseKey } from "./keys";

export type Suite = "x25519" | "x-wing";

interface Parameters {
  readonly id: Uint8Array;
  readonly encapsulated: number; // bytes of the encapsulated key
  readonly hpke: CipherSuite;
}

const parameters: Record<Suite, Parameters> = {
  x25519: { id: fromHex("002000010001"), encapsulated: 32, hpke: new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() }) },
  "x-wing": { id: fromHex("647a00010001"), encapsulated: 1120, hpke: new CipherSuite({ kem: new XWing(), kdf: new HkdfSha256(), aead: new Aes128Gcm() }) },
};

const tag = 16;

/** No envelope is longer, in bytes. */
export const maxEnvelope = 131072;

/** The identifiers of KEM, KDF and AEAD, one after the other: 6 bytes. */
export const suiteID = (suite: Suite): Uint8Array => parameters[suite].id.slice();

/** How many bytes one layer adds. */
export const overhead = (suite: Suite): number => parameters[suite].encapsulated + tag;

/** Which layer of which plan a seal is for. */
export interface Place {
  readonly plan: Uint8Array; // hash, 32 bytes
  readonly instance: number;
  readonly hop: number; // the analyzer's is the number after the last hop's
  readonly crowd: number;
}

/** The info of HPKE: 52 bytes. */
export function info(suite: Suite, at: Place): Uint8Array<ArrayBuffer> {
  if (at.plan.length !== 32) {
    throw new RangeError("a plan's hash has 32 bytes");
  }
  return concat(text("confetti/v1"), parameters[suite].id, at.plan, uint(at.instance, 2), uint(at.hop, 1));
}

/** The additional data of HPKE: the crowd. */
export const aad = (at: Place): Uint8Array<ArrayBuffer> => uint(at.crowd, 4);

/** Seals for the holder of a public key in its text form, under a context of its own. */
export async function sealBase(suite: Suite, key: string, info: Uint8Array<ArrayBuffer>, data: Uint8Array<ArrayBuffer>, plaintext: Uint8Array): Promise<{ enc: Uint8Array<ArrayBuffer>; payload: Uint8Array<ArrayBuffer> }> {
  const { hpke } = parameters[suite];
  const recipientPublicKey = await hpke.kem.deserializePublicKey(parseKey(key, suite).bytes.buffer);
  const sender = await hpke.createSenderContext({ recipientPublicKey, info: info.buffer });
  const sealed = await sender.seal(concat(plaintext).buffer, data.buffer);
  return { enc: new Uint8Array(sender.enc), payload: new Uint8Array(sealed) };
}

/** Seals one layer. */
export async function sealLayer(suite: Suite, key: string, at: Place, inner: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { enc, payload } = await sealBase(suite, key, info(suite, at), aad(at), inner);
  return concat(enc, payload);
}

/** Why an envelope does not open. HPKE cannot tell a changed bit from another plan, instance, hop, crowd or key. */
export class EnvelopeError extends Error {
  override readonly name = "EnvelopeError";
  constructor(readonly reason: "truncated" | "oversized" | "does not open") {
    super(reason);
  }
}

/** Opens what sealBase sealed, the encapsulated key before the rest, with a private key (32 bytes: the scalar of x25519, the seed of x-wing). */
export async function openBase(suite: Suite, privateKey: Uint8Array, info: Uint8Array<ArrayBuffer>, data: Uint8Array<ArrayBuffer>, sealed: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { hpke, encapsulated } = parameters[suite];
  try {
    const recipientKey = await hpke.kem.deserializePrivateKey(concat(privateKey).buffer);
    const recipient = await hpke.createRecipientContext({ recipientKey, enc: sealed.slice(0, encapsulated).buffer, info: info.buffer });
    return new Uint8Array(await recipient.open(sealed.slice(encapsulated).buffer, data.buffer));
  } catch {
    throw new EnvelopeError("does not open");
  }
}

/** Opens one layer with a private key (32 bytes: the scalar of x25519, the seed of x-wing). length is that of every envelope at this place. */
export async function openLayer(suite: Suite, privateKey: Uint8Array, at: Place, envelope: Uint8Array, length: number): Promise<Uint8Array<ArrayBuffer>> {
  if (envelope.length !== length) {
    throw new EnvelopeError(envelope.length < length ? "truncated" : "oversized");
  }
  return openBase(suite, privateKey, info(suite, at), aad(at), envelope);
}

/** A way that an envelope goes: who opens it, first to last, the analyzer last of all. */
export interface Way {
  readonly suite: Suite;
  readonly keys: readonly string[];
  /** Bytes of room for a token in each layer, as many as keys. */
  readonly slots: readonly number[];
}

/** The length of an envelope as it reaches position h of a way. */
export function envelopeLength(way: Way, payloadBytes: number, h: number): number {
  let n = payloadBytes + (way.keys.length - h) * overhead(way.suite);
  for (const slot of way.slots.slice(h)) {
    n += slot;
  }
  if (n > maxEnvelope) {
    throw new RangeError(`an envelope of ${n} bytes; the most is ${maxEnvelope}`);
  }
  return n;
}

/** Seals a payload for everybody on the way but the entry, for which a whole contribution is sealed once. A token is put where tokens has one for the position; other slots are zero. */
export async function seal(way: Way, at: Omit<Place, "hop">, payload: Uint8Array, tokens: ReadonlyMap<number, Uint8Array> = new Map()): Promise<Uint8Array<ArrayBuffer>> {
  let inner = concat(payload);
  for (let h = way.keys.length - 1; h > 0; h--) {
    const slot = new Uint8Array(way.slots[h]!);
    const token = tokens.get(h);
    if (token !== undefined) {
      if (token.length !== slot.length) {
        throw new RangeError(`a token of ${token.length} bytes in a slot of ${slot.length}`);
      }
      slot.set(token);
    }
    inner = await sealLayer(way.suite, way.keys[h]!, { ...at, hop: h }, concat(slot, inner));
  }
  return inner;
}
