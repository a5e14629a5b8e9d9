// What a device hands to an entry hop, and what hops hand on.
import { concat, equal, uint } from "./bytes";
import { maxEnvelope, openBase, overhead, sealBase, type Suite, suiteID } from "./envelope";

/** Reads bytes from the front. A RangeError says "truncated" where there are too few. */
export class Reader {
  #at = 0;
  readonly #view: DataView;
  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  get left(): number {
    return this.bytes.length - this.#at;
  }
  take(n: number): Uint8Array<ArrayBuffer> {
    if (n > this.left) {
      throw new RangeError("truncated");
    }
    this.#at += n;
    return concat(this.bytes.subarray(this.#at - n, this.#at));
  }
  uint(bytes: 1 | 2 | 4): number {
    const at = this.#at;
    this.take(bytes);
    return bytes === 1 ? this.#view.getUint8(at) : bytes === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }
}

/** What one device hands to the entry hop of an instance, with the envelopes as they reach whoever comes after it. */
export interface Contribution {
  readonly plan: Uint8Array; // hash, 32 bytes
  readonly instance: number;
  readonly crowd: number;
  readonly envelopes: readonly Uint8Array[]; // at least one, of one length
}

/** What a hop hands on. */
export interface Batch extends Contribution {
  readonly hop: number; // that opens the envelopes next
  readonly respondents: number; // distinct ones, as counted at the entry
}

const least = 48; // bytes of an envelope

/** No contribution is longer, in bytes. */
export const maxContribution = 2 ** 24 - 2 ** 10;

/** The first 48 bytes: version 2 and kind 1 of a contribution, version 1 and kind 2 of a batch. */
function head(kind: 1 | 2, c: Contribution): Uint8Array<ArrayBuffer> {
  const length = c.envelopes[0]?.length ?? 0;
  if (c.plan.length !== 32 || c.envelopes.some((e) => e.length !== length) || length < least || length > maxEnvelope) {
    throw new RangeError(`need a plan's hash, and at least one envelope, all of one length from ${least} to ${maxEnvelope} bytes`);
  }
  return concat(Uint8Array.of(3 - kind, kind), c.plan, uint(c.instance, 2), uint(c.crowd, 4), uint(c.envelopes.length, 4), uint(length, 4));
}

const contributionInfo = (suite: Suite, c: { readonly plan: Uint8Array; readonly instance: number }): Uint8Array<ArrayBuffer> =>
  concat(new TextEncoder().encode("confetti/contribution/v2"), suiteID(suite), c.plan, uint(c.instance, 2), uint(0, 1));

/** Seals a contribution once, round all its envelopes, for the entry's public key. Its header is the additional data. */
export async function encodeContribution(suite: Suite, key: string, c: Contribution): Promise<Uint8Array<ArrayBuffer>> {
  const before = head(1, c);
  if (before.length + overhead(suite) + c.envelopes.length * c.envelopes[0]!.length > maxContribution) {
    throw new RangeError(`a contribution of more than ${maxContribution} bytes`);
  }
  const { enc, payload } = await sealBase(suite, key, contributionInfo(suite, c), before, concat(...c.envelopes));
  return concat(before, enc, payload);
}

export const encodeBatch = (b: Batch): Uint8Array<ArrayBuffer> => concat(head(2, b), uint(b.hop, 1), uint(b.respondents, 4), ...b.envelopes);

/** Opens a contribution with the entry's private key (32 bytes: the scalar of x25519, the seed of x-wing). */
export async function decodeContribution(suite: Suite, privateKey: Uint8Array, bytes: Uint8Array): Promise<Contribution> {
  const r = new Reader(bytes);
  const [c, number, length] = readHead(r, 1);
  if (number * length + overhead(suite) !== r.left) {
    throw new RangeError(number * length + overhead(suite) > r.left ? "truncated" : "oversized");
  }
  const inner = await openBase(suite, privateKey, contributionInfo(suite, c), concat(bytes.subarray(0, 48)), r.take(r.left));
  return { ...c, envelopes: envelopes(new Reader(inner), number, length) };
}

export function decodeBatch(bytes: Uint8Array): Batch {
  const r = new Reader(bytes);
  const [c, number, length] = readHead(r, 2);
  const hop = r.uint(1);
  const respondents = r.uint(4);
  return { ...c, hop, respondents, envelopes: envelopes(r, number, length) };
}

function readHead(r: Reader, kind: 1 | 2): [Omit<Contribution, "envelopes">, number, number] {
  const version = r.uint(1);
  if (version !== 3 - kind) {
    throw new SyntaxError(`version ${version}: version ${3 - kind} is read here`);
  }
  const got = r.uint(1);
  if (got !== kind) {
    throw new SyntaxError(`kind ${got}: not kind ${kind}`);
  }
  return [{ plan: r.take(32), instance: r.uint(2), crowd: r.uint(4) }, r.uint(4), r.uint(4)];
}

/** The number and length are held to the bytes that are there before anything is reserved. */
function envelopes(r: Reader, number: number, length: number): Uint8Array[] {
  if (number === 0) {
    throw new SyntaxError("no envelopes");
  }
  if (length < least || length > maxEnvelope) {
    throw new SyntaxError(`envelopes of ${length} bytes: they have ${least} to ${maxEnvelope}`);
  }
  if (number * length !== r.left) {
    throw new RangeError(number * length > r.left ? "truncated" : "oversized");
  }
  return Array.from({ length: number }, () => r.take(length));
}

const message = 1; // the kind of a payload that is no dummy; a dummy has 0

/** The innermost plaintext: a message's body (4 bytes of channel and 1 of symbol, or as the question says), or without one a dummy. */
export function payload(payloadBytes: number, body?: Uint8Array): Uint8Array<ArrayBuffer> {
  if (payloadBytes < 6 || (body?.length ?? 0) >= payloadBytes) {
    throw new RangeError(`a body of ${body?.length ?? 0} bytes in a payload of ${payloadBytes}`);
  }
  const p = new Uint8Array(payloadBytes);
  if (body !== undefined) {
    p[0] = message;
    p.set(body, 1);
  }
  return p;
}

/** The body of a payload, of the question's length; undefined is a dummy. */
export function bodyOf(payload: Uint8Array, bodyBytes: number): Uint8Array | undefined {
  const rest = payload.subarray(payload[0] === message ? 1 + bodyBytes : 1);
  if (payload.length <= bodyBytes || payload[0]! > message || !equal(rest, new Uint8Array(rest.length))) {
    throw new SyntaxError("no payload of a valid form");
  }
  return payload[0] === message ? payload.slice(1, 1 + bodyBytes) : undefined;
}

/** The body of a density's or histogram's message. */
export const channelBody = (channel: number, symbol: number): Uint8Array<ArrayBuffer> => concat(uint(channel, 4), uint(symbol, 1));
