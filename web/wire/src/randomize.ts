// The randomizers of one cell, or of few: what a device sends in its place. Each draws what docs/wire-reports.md says, from words alone.
import { Skipper, threshold } from "./draw";
import type { Words } from "./random";
import { localHash } from "./sketch";

const up = 1 + 2 ** -50; // roundings are against the mechanism

function checked(cell: number, cells: number, epsilon: number): void {
  if (!Number.isInteger(cell) || cell < 0 || cell >= cells || cells < 2 || cells > 2 ** 31) {
    throw new RangeError("a cell is one of at least two");
  }
  if (!(epsilon > 0 && epsilon <= 50)) {
    throw new RangeError("epsilon is above 0 and at most 50");
  }
}

/** 1/(e^epsilon + 1), rounded up. */
function flipped(epsilon: number): number {
  const e = Math.exp(-epsilon);
  return (e / (1 + e)) * up;
}

/** K-ary response: with probability k/(e^epsilon + k - 1) any symbol, otherwise the own. */
export function krr(k: number, epsilon: number, x: number, from: Words): number {
  checked(x, k, epsilon);
  return from.bernoulli(threshold(Math.min(1, (k / (Math.expm1(epsilon) + k)) * up))) ? from.below(k) : x;
}

/** Subset selection: w of k cells, in an order that tells. A set that has the own cell is e^epsilon times as likely as one without. */
export function subset(k: number, w: number, epsilon: number, x: number, from: Words): number[] {
  checked(x, k, epsilon);
  if (!Number.isInteger(w) || w < 1 || w >= k) {
    throw new RangeError("a set has one cell at least, and not all");
  }
  const without = (k - w) / (k + w * Math.expm1(epsilon));
  const said = from.bernoulli(threshold(Math.min(1, without * up))) ? [] : [x];
  const there = new Set<number>();
  for (let j = k - 1 - (w - said.length); j < k - 1; j++) { // Floyd: of the k-1 others
    const drawn = from.below(j + 1), cell = there.has(drawn) ? j : drawn;
    there.add(cell);
    said.push(cell >= x ? cell + 1 : cell);
  }
  return said;
}

/** Local hashing: a function of the family, and the cell's symbol under it by randomized response: function times symbols, plus symbol. */
export function hashed(seed: Uint8Array, symbols: number, functions: number, cells: number, epsilon: number, x: number, from: Words): number {
  checked(x, cells, epsilon);
  const fn = from.below(functions);
  return fn * symbols + krr(symbols, epsilon, localHash(seed, fn, symbols, x), from);
}

/** Hadamard response: a column of Sylvester's matrix, in which the cell's row has a plus with probability e^epsilon/(e^epsilon + 1). */
export function hadamard(k: number, epsilon: number, x: number, from: Words): number {
  checked(x, k, epsilon);
  if (k >= 2 ** 31) {
    throw new RangeError("hadamard response is over fewer than 2^31 cells");
  }
  const row = x + 1, column = from.below(2 ** k.toString(2).length);
  let ones = 0;
  for (let both = row & column; both !== 0; both &= both - 1) {
    ones++;
  }
  // Where the sign is not the wanted one, a bit that the row has turns it.
  return (ones % 2 === 1) !== from.bernoulli(threshold(flipped(epsilon))) ? column ^ (row & -row) : column;
}

/** Bits of which those that come out as ones are sent: a set one with probability keep, another one with flip. */
export class OneHot {
  readonly #keep: bigint;
  readonly #lies: Skipper;

  constructor(readonly cells: number, keep: number, flip: number) {
    if (!Number.isInteger(cells) || cells < 1 || cells > 2 ** 31 || !(flip >= 0 && flip < keep && keep <= 1)) {
      throw new RangeError("need a cell, and 0 <= flip < keep <= 1");
    }
    this.#keep = threshold(keep);
    this.#lies = new Skipper(threshold(flip));
  }

  /** The cells sent by a device that holds these, in rising order. */
  draw(held: readonly number[], from: Words): number[] {
    const set = [...held].sort((a, b) => a - b);
    if (set.some((c, i) => !Number.isInteger(c) || c < 0 || c >= this.cells || c === set[i - 1])) {
      throw new RangeError("cells held are different ones of the domain");
    }
    const sent: number[] = [];
    let next = 0;
    const pass = (upTo: number) => {
      for (; next < set.length && set[next]! < upTo; next++) {
        if (from.bernoulli(this.#keep)) {
          sent.push(set[next]!);
        }
      }
    };
    for (const cell of this.#lies.successes(this.cells, from)) {
      pass(cell);
      if (set[next] !== cell) { // a set bit does not lie
        sent.push(cell);
      }
    }
    pass(this.cells);
    return sent;
  }
}
