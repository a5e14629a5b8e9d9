// Strings that nobody listed: a string becomes a vector of few entries, from its beginnings, all of it, and which symbols follow each other.
import { fromHex, text } from "./bytes";
import { UnfitError } from "./features";
import type { Plan } from "./plan";
import { Stream } from "./stream";

interface Code {
  readonly alphabet?: string;
  readonly longest: number;
  readonly seed: string;
  readonly cells: number;
  readonly hashes: number;
  readonly tail: number;
  readonly buckets: number;
  readonly pairs?: number;
}

const golden = 0x9e3779b97f4a7c15n;
const word = (x: bigint): bigint => BigInt.asUintN(64, x);

function mix(x: bigint): bigint {
  const a = word((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n), b = word((a ^ (a >> 27n)) * 0x94d049bb133111ebn);
  return b ^ (b >> 31n);
}

/** The symbols of a string, from 1: of characters, or of the halves of bytes. Whether it is too long is told apart from what fits in no way. */
function symbols(code: Code, value: string): { said: number[]; long: boolean } {
  if (value === "" || /\p{Surrogate}/u.test(value)) {
    throw new UnfitError("the text is empty, or no text");
  }
  if (!code.alphabet) {
    const said = [...text(value)].flatMap((b) => [1 + (b >> 4), 1 + (b & 15)]);
    return { said, long: said.length > 2 * code.longest };
  }
  const all = [...code.alphabet];
  const said = [...value].map((c) => 1 + all.indexOf(c));
  if (said.includes(0)) {
    throw new UnfitError("a character is not of the alphabet");
  }
  return { said, long: said.length > code.longest };
}

/** As many whole characters as a string may have. */
function cut(code: Code, value: string): string {
  let out = "", size = 0;
  for (const c of value) {
    size += code.alphabet ? 1 : text(c).length;
    if (size > code.longest) {
      break;
    }
    out += c;
  }
  return out;
}

/** What a plan has a device say of a string: the symbols; none are the reserved string, of what does not fit. */
function said(plan: Plan, code: Code, value: string): number[] {
  try {
    const own = symbols(code, value);
    if (!own.long) {
      return own.said;
    }
    return plan.question.unfit === "clip" ? symbols(code, cut(code, value)).said : [];
  } catch (e) {
    if (e instanceof UnfitError) {
      return [];
    }
    throw e;
  }
}

/** The vector of a string, of length at most one. */
export function stringVector(plan: Plan, value: string): number[] {
  const code = plan.question["strings"] as Code, own = said(plan, code, value);
  const halves = !code.alphabet, a = halves ? 17 : 1 + [...code.alphabet].length, length = code.longest * (halves ? 2 : 1);
  const positions = length * code.hashes + code.tail, pairs = code.pairs ?? 0;
  const vector = new Array<number>(code.buckets * positions * code.cells + (pairs > 0 ? length * a * a : 0)).fill(0);
  const stream = new Stream(fromHex(code.seed), "strings/tree");
  let state = stream.word();
  const bucketSalt = stream.word(), cellSalt = stream.word(), states: bigint[] = [];
  for (let t = 0; t < length; t++) {
    if (t <= own.length) {
      state = mix(word(state + BigInt((own[t] ?? 0) + 1) * golden));
    }
    states.push(state);
  }
  const bucket = (mix(state ^ bucketSalt) * BigInt(code.buckets)) >> 64n;
  const salt = (place: number): bigint => mix(word(cellSalt + ((bucket << 16n) + BigInt(place) + 1n) * golden));
  const cell = (hash: bigint, k: number): number => (Number((hash >> BigInt(8 * k)) & 255n) * code.cells) >> 8;
  const entry = Math.fround(Math.sqrt((1 - pairs) / positions)), at = Number(bucket) * positions;
  states.forEach((s, t) => {
    const hash = mix(s ^ salt(t));
    for (let k = 0; k < code.hashes; k++) {
      vector[(at + t * code.hashes + k) * code.cells + cell(hash, k)] = entry;
    }
  });
  for (let t = 0; t < code.tail; t++) {
    vector[(at + length * code.hashes + t) * code.cells + cell(mix(state ^ salt(length + t)), 0)] = entry;
  }
  if (pairs > 0) {
    const from = code.buckets * positions * code.cells, other = Math.fround(Math.sqrt(pairs / length));
    for (let t = 0; t < Math.min(own.length + 1, length); t++) {
      const context = own[halves && t % 2 === 0 ? t - 2 : t - 1] ?? 0;
      vector[from + (t * a + context) * a + (own[t] ?? 0)] = other;
    }
  }
  return vector;
}
