// That a plan stands in a public log: an inclusion proof, and a checkpoint that the log and its witnesses have signed
// (c2sp.org/tlog-proof, signed-note, tlog-checkpoint, tlog-cosignature; RFC 6962 for the tree).
import { sha256 } from "@noble/hashes/sha2.js";
import { concat, equal, text, toHex } from "./bytes";
import { verifyEd25519 } from "./ed25519";

/** In which log plans must stand, by its verifier key, and how many of the witnesses must have signed what it is; all, where least is not given. */
export interface Log {
  readonly key: string;
  readonly witnesses: readonly string[];
  readonly least?: number;
}

export const maxWitnesses = 32;
export const maxEvidenceBytes = 16384;

/** Evidence that is none, or not of this plan and log. */
export class EvidenceError extends Error {
  override name = "EvidenceError";
}

const noteKey = 1;
const cosignatureKey = 4;

interface Verifier {
  readonly name: string;
  readonly hash: string; // 4 bytes, in hexadecimal
  readonly key: Uint8Array<ArrayBuffer>;
  readonly cosigns: boolean;
}

/** Base64 of RFC 4648, section 4, with padding; in its one form if strict. */
function fromBase64(s: string, strict = true): Uint8Array<ArrayBuffer> {
  if (s.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(s)) {
    throw new EvidenceError("not base64");
  }
  const b = Uint8Array.from(atob(s), (c) => c.charCodeAt(0));
  if (strict && btoa(String.fromCharCode(...b)) !== s) {
    throw new EvidenceError("not base64 in its one form");
  }
  return b;
}

const keyHash = (name: string, type: number, key: Uint8Array): string => toHex(sha256(concat(text(`${name}\n`), Uint8Array.of(type), key)).subarray(0, 4));

/** Reads a verifier key, NAME+HASH+KEY. One of a log has its own hash; that of a witness stands for a key of notes too. */
function parseVerifier(vkey: string, cosigns: boolean): Verifier {
  const [name, hash, encoded] = [vkey.slice(0, vkey.indexOf("+")), ...vkey.slice(vkey.indexOf("+") + 1).split(/\+(.*)/s, 2)] as [string, string, string];
  const raw = fromBase64(encoded ?? "?", false);
  const key = raw.slice(1);
  const types = cosigns ? [noteKey, cosignatureKey] : [noteKey];
  if (name === "" || /[\p{White_Space}+]/u.test(name) || hash.length !== 8 || key.length !== 32 || !types.includes(raw[0]!) || (!cosigns && hash !== keyHash(name, noteKey, key))) {
    throw new EvidenceError(cosigns ? "no verifier key of a witness" : "no verifier key of a log");
  }
  return { name, hash: keyHash(name, cosigns ? cosignatureKey : noteKey, key), key, cosigns };
}

function verifiers(log: Log): { own: Verifier; witnesses: Verifier[] } {
  const own = parseVerifier(log.key, false);
  const witnesses = log.witnesses.map((w) => parseVerifier(w, true));
  if (new Set([own, ...witnesses].map((v) => v.name)).size !== witnesses.length + 1) {
    throw new EvidenceError("two keys of one name: signatures are found by it");
  }
  return { own, witnesses };
}

/** Throws an EvidenceError unless the keys of a log are keys, each of a name of its own. */
export function checkLog(log: Log): void {
  verifiers(log);
}

/** The entry of a plan: its name, and the SHA-256 of the signed plan without evidence. */
export const logEntry = (plan: Uint8Array, signed: Uint8Array): Uint8Array<ArrayBuffer> => text(`confetti/log/v1\nplan ${toHex(plan)} ${toHex(sha256(signed))}\n`);

interface Proof {
  readonly index: bigint;
  readonly hashes: Uint8Array[];
  readonly checkpoint: string;
}

/** Reads a tlog-proof in its one form. */
function parseProof(evidence: string): Proof {
  const [head, checkpoint] = evidence.split(/\n\n(.*)/s, 2) as [string, string | undefined];
  const [format, index, ...lines] = head.split("\n");
  const number = /^index (0|[1-9][0-9]{0,18})$/.exec(index ?? "");
  if (text(evidence).length > maxEvidenceBytes || checkpoint === undefined || format !== "c2sp.org/tlog-proof@v1" || number === null || BigInt(number[1]!) >= 1n << 63n || lines.length > 64) {
    throw new EvidenceError("no tlog-proof in its one form");
  }
  const hashes = lines.map((line) => fromBase64(line));
  if (hashes.some((h) => h.length !== 32)) {
    throw new EvidenceError("a hash of another length than 32 bytes");
  }
  return { index: BigInt(number[1]!), hashes, checkpoint };
}

interface Checkpoint {
  readonly size: bigint;
  readonly root: Uint8Array;
}

/** Opens a checkpoint that the log and enough of its witnesses have signed. */
async function openCheckpoint(note: string, log: Log): Promise<Checkpoint> {
  const { own, witnesses } = verifiers(log);
  const at = note.lastIndexOf("\n\n");
  if (at < 0 || !note.endsWith("\n") || /[\u0000-\u0009\u000b-\u001f]/.test(note)) {
    throw new EvidenceError("no signed note");
  }
  const signed = note.slice(0, at + 1);
  const seen = new Set<Verifier>();
  const lines = note.slice(at + 2, -1).split("\n");
  if (lines.length > 100) {
    throw new EvidenceError("too many signatures");
  }
  for (const line of lines) {
    const parts = /^— ([^\s+]+) (\S+)$/u.exec(line);
    const raw = fromBase64(parts?.[2] ?? "?");
    if (raw.length < 5) {
      throw new EvidenceError("a signature without a key's hash");
    }
    const by = [own, ...witnesses].find((v) => v.name === parts![1] && v.hash === toHex(raw.subarray(0, 4)));
    if (by === undefined || seen.has(by)) {
      continue; // of somebody who is not trusted here, or the same once more
    }
    let message = text(signed), signature = raw.subarray(4);
    if (by.cosigns) {
      const time = new DataView(raw.buffer, 4, Math.min(8, raw.length - 4));
      message = raw.length === 76 ? text(`cosignature/v1\ntime ${time.getBigUint64(0)}\n${signed}`) : new Uint8Array();
      signature = raw.subarray(12);
    }
    if (signature.length !== 64 || !(await verifyEd25519(by.key, signature, message))) {
      throw new EvidenceError(`the signature of ${by.name} does not hold`);
    }
    seen.add(by);
  }
  const least = log.least ?? witnesses.length;
  if (!seen.has(own)) {
    throw new EvidenceError("the log has not signed the checkpoint");
  }
  if (seen.size - 1 < least) {
    throw new EvidenceError(`${seen.size - 1} of the witnesses have signed the checkpoint, and ${least} are needed`);
  }
  const [origin, size, root] = signed.split("\n");
  if (origin !== own.name || !/^[0-9]{1,19}$/.test(size!) || root === undefined) {
    throw new EvidenceError("no checkpoint of the log");
  }
  return { size: BigInt(size!), root: fromBase64(root, false) };
}

const node = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(concat(Uint8Array.of(1), left, right));

/** The root of a tree of that size in which the leaf stands at the index (RFC 9162, section 2.1.3.2). */
function rootOf(leaf: Uint8Array, { index, hashes }: Proof, size: bigint): Uint8Array {
  if (index >= size) {
    throw new EvidenceError("the index is behind the log's end");
  }
  let [at, last, root] = [index, size - 1n, leaf];
  for (const hash of hashes) {
    if (last === 0n) {
      throw new EvidenceError("the proof is too long");
    }
    if ((at & 1n) === 1n || at === last) {
      root = node(hash, root);
      while ((at & 1n) === 0n && at !== 0n) {
        [at, last] = [at >> 1n, last >> 1n];
      }
    } else {
      root = node(root, hash);
    }
    [at, last] = [at >> 1n, last >> 1n];
  }
  if (last !== 0n) {
    throw new EvidenceError("the proof is too short");
  }
  return root;
}

/** Throws an EvidenceError unless the text shows that the entry stands in the log. */
export async function verifyEvidence(log: Log, entry: Uint8Array, evidence: string): Promise<void> {
  const proof = parseProof(evidence);
  const { size, root } = await openCheckpoint(proof.checkpoint, log);
  if (!equal(rootOf(sha256(concat(Uint8Array.of(0), entry)), proof, size), root)) {
    throw new EvidenceError("the evidence is of another plan, or was changed on its way");
  }
}
