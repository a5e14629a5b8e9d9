// Bits of a rotated vector: of few rows, which the device draws and tells nobody, a flipped bit each.
import { flippedBits, type Said } from "./bitsum";
import { mask, threshold } from "./draw";
import type { Words } from "./random";
import { Stream } from "./stream";

/** The mechanism of a round. */
export interface Rows {
  readonly seed: Uint8Array;
  readonly rows: number; // a power of two, at least the length of a vector
  readonly answered: number; // on average
  readonly envelopes: number; // at most so many answers are sent
  readonly clip: number;
  readonly flip: number;
  readonly few?: boolean; // numbers of a vector: each row is a sum of all with signs
}

/** Sylvester's matrix times v, from an index on, not scaled. */
function hadamard(v: Float32Array, from: number, n: number): void {
  for (let step = 1; step < n; step *= 2) {
    for (let i = from; i < from + n; i += 2 * step) {
      for (let j = i; j < i + step; j++) {
        const a = v[j]!, b = v[j + step]!;
        v[j] = a + b;
        v[j + step] = a - b;
      }
    }
  }
}

/** The rotated coordinates of a vector, times sqrt(rows)/clip. */
export function rotated(m: Rows, vector: readonly number[]): Float32Array {
  const n = m.rows, block = m.few ? 1 : Math.min(64, n);
  if (!Number.isInteger(Math.log2(n)) || vector.length > n) {
    throw new RangeError("rows are a power of two, and as many as a vector has numbers at least");
  }
  const stream = new Stream(m.seed, "rows/rotation");
  const first = stream.signs(n);
  const places = Uint32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Number((stream.word() * BigInt(i + 1)) >> 64n);
    [places[i], places[j]] = [places[j]!, places[i]!];
  }
  const scale = Math.sqrt(n) / m.clip / Math.sqrt(block * n);
  const second = Float32Array.from(stream.signs(n), (sign) => scale * sign);
  const held = new Float32Array(n), out = new Float32Array(n);
  if (fits(vector)) {
    vector.forEach((x, i) => { held[i] = x * first[i]!; });
    for (let at = 0; at < n; at += block) {
      hadamard(held, at, block);
    }
    places.forEach((from, i) => { out[i] = held[from]! * second[i]!; });
    hadamard(out, 0, n);
  }
  return out;
}

/** Whether a vector has finite numbers, and a length of at most one. Others are answered as zero. */
function fits(vector: readonly number[]): boolean {
  const squares = vector.reduce((sum, x) => sum + Math.fround(x) ** 2, 0);
  return squares <= 1 + 2e-6; // false of what is no number
}

/** The answers of a device: a message for a row, in an order that tells nothing, of more than the envelopes a random part. */
export function rows(m: Rows, vector: readonly number[], from: Words): Said[] {
  const means = rotated(m, vector), share = threshold(m.answered / m.rows);
  const answered: number[] = [];
  for (let at = 0; at < m.rows; at += 64) {
    let drawn = mask(share, from);
    for (let row = at; row < Math.min(m.rows, at + 64); row++, drawn >>= 1n) {
      if (drawn & 1n) {
        answered.push(row);
      }
    }
  }
  const ones = flippedBits(m.flip, answered.map((row) => means[row]!), from);
  const report: (Said | undefined)[] = answered.map((channel, i) => ({ channel, symbol: ones[i] ? 1 : 0 }));
  while (report.length < m.envelopes) {
    report.push(undefined); // no row
  }
  return from.shuffle(report).slice(0, m.envelopes).filter((said) => said !== undefined);
}
