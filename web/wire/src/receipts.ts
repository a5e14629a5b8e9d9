// Receipts, and the handovers that they travel with.
import { sha256 } from "@noble/hashes/sha2.js";
import { concat, equal, text } from "./bytes";
import { parseKey } from "./keys";
import { type Batch, decodeBatch, Reader } from "./messages";
import { verifyEd25519 } from "./ed25519";

/** What a hop states about a batch that it has mixed. */
export interface Receipt {
  readonly plan: Uint8Array;
  readonly instance: number;
  readonly hop: number;
  readonly crowd: number;
  readonly respondents: number;
  readonly tokens: number;
  readonly in: number;
  readonly out: number;
  readonly dropped: number;
  readonly duplicates: number;
  readonly batchIn: Uint8Array; // SHA-256
  readonly batchOut: Uint8Array;
  readonly previous: Uint8Array; // SHA-256 of the earlier hop's receipt
  readonly signature: Uint8Array; // 64 bytes
  readonly bytes: Uint8Array; // all 224
}

export const receiptBytes = 224;
const signedBytes = 160;

export function decodeReceipt(bytes: Uint8Array): Receipt {
  const r = new Reader(bytes);
  const version = r.uint(1);
  if (version !== 1) {
    throw new SyntaxError(`a receipt of version ${version}: version 1 is read here`);
  }
  const receipt: Receipt = {
    plan: r.take(32), instance: r.uint(2), hop: r.uint(1), crowd: r.uint(4), respondents: r.uint(4), tokens: r.uint(4),
    in: r.uint(4), out: r.uint(4), dropped: r.uint(4), duplicates: r.uint(4),
    batchIn: r.take(32), batchOut: r.take(32), previous: r.take(32), signature: r.take(64), bytes: bytes.slice(0, receiptBytes),
  };
  const zero = new Uint8Array(32);
  if (receipt.in !== receipt.out + receipt.dropped + receipt.duplicates) {
    throw new SyntaxError("the numbers of envelopes do not add up");
  }
  if (receipt.hop === 0 && !(equal(receipt.batchIn, zero) && equal(receipt.previous, zero))) {
    throw new SyntaxError("an entry hop follows nothing");
  }
  return receipt;
}

/** Whether a receipt is signed with the key; without a key, whether its signature is zero. */
export async function verifyReceipt(r: Receipt, key: string): Promise<boolean> {
  if (key === "") {
    return equal(r.signature, new Uint8Array(64));
  }
  return verifyEd25519(parseKey(key, "ed25519").bytes, r.signature, concat(text("confetti/receipt/v1\n"), r.bytes.subarray(0, signedBytes)));
}

/** What a hop sends to the next one, or to the analyzer. */
export interface Handover {
  readonly receipts: readonly Receipt[]; // the entry's first
  readonly batch: Batch;
  readonly digest: Uint8Array; // of the batch
}

export function decodeHandover(bytes: Uint8Array): Handover {
  const r = new Reader(bytes);
  const version = r.uint(1);
  if (version !== 1) {
    throw new SyntaxError(`version ${version}: version 1 is read here`);
  }
  const kind = r.uint(1);
  if (kind !== 3) {
    throw new SyntaxError(`kind ${kind}: not kind 3`);
  }
  const number = r.uint(1);
  const receipts = Array.from({ length: number }, () => decodeReceipt(r.take(receiptBytes)));
  const body = r.take(r.left);
  const batch = decodeBatch(body);
  if (batch.hop !== number) {
    throw new SyntaxError(`${number} receipts with a batch for hop ${batch.hop}`);
  }
  return { receipts, batch, digest: sha256(body) };
}

export const encodeHandover = (receipts: readonly Receipt[], batch: Uint8Array): Uint8Array<ArrayBuffer> =>
  concat(Uint8Array.of(1, 3, receipts.length), ...receipts.map((r) => r.bytes), batch);

/** Throws unless the receipts bear the batch out, under the keys that the plan names for the hops ("" for none). */
export async function checkChain(h: Handover, keys: readonly string[]): Promise<void> {
  const { batch, receipts } = h;
  if (receipts.length === 0 || receipts.length !== batch.hop || keys.length !== receipts.length) {
    throw new Error(`${receipts.length} receipts and ${keys.length} keys for a batch of hop ${batch.hop}`);
  }
  for (const [i, r] of receipts.entries()) {
    const before = receipts[i - 1];
    const same = r.hop === i && equal(r.plan, batch.plan) && r.instance === batch.instance && r.crowd === batch.crowd && r.respondents === batch.respondents;
    const follows = before === undefined || (equal(r.previous, sha256(before.bytes)) && equal(r.batchIn, before.batchOut) && r.in === before.out);
    if (!same || !follows || !(await verifyReceipt(r, keys[i]!))) {
      throw new Error(`receipt ${i + 1} does not bear the batch out`);
    }
  }
  const last = receipts[receipts.length - 1]!;
  if (!equal(last.batchOut, h.digest) || last.out !== batch.envelopes.length) {
    throw new Error("the last receipt is of another batch");
  }
}
