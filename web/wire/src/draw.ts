// Draws of given probabilities, exact to 128 binary places.
import type { Threshold, Words } from "./random";

const one: Threshold = 1n << 128n;
const all64 = (1n << 64n) - 1n;

/** The threshold of a probability. Numbers of 2^-75 and above are exact, others go to the nearest multiple, of two the even one. */
export function threshold(p: number): Threshold {
  if (!(p >= 0 && p <= 1)) {
    throw new RangeError("a probability is from 0 to 1");
  }
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, p);
  const bits = view.getBigUint64(0), exponent = Number(bits >> 52n);
  const mantissa = (bits & ((1n << 52n) - 1n)) | (exponent > 0 ? 1n << 52n : 0n);
  const shift = BigInt(Math.max(1, exponent) - 1075 + 128);
  if (shift >= 0n) {
    return mantissa << shift;
  }
  const whole = mantissa >> -shift, twice = (mantissa - (whole << -shift)) << 1n, unit = 1n << -shift;
  return twice > unit || (twice === unit && (whole & 1n) === 1n) ? whole + 1n : whole;
}

export const complement = (t: Threshold): Threshold => one - t;

/** 64 bits, each of which is one with that probability: all that are undecided take their next digit from one word. */
export function mask(t: Threshold, from: Words): bigint {
  if (t === one) {
    return all64;
  }
  let ones = 0n, undecided = all64;
  for (let rest = t; undecided !== 0n && rest !== 0n; rest = (rest << 1n) & (one - 1n)) {
    const digits = from.word();
    if (rest >> 127n === 1n) {
      ones |= undecided & ~digits;
      undecided &= digits;
    } else {
      undecided &= ~digits;
    }
  }
  return ones;
}

const bitLength = (k: bigint): number => (k === 0n ? 0 : k.toString(2).length);
const mostLevels = 62;

/** Draws with probabilities q^k, by the binary digits of k. */
export class Powers {
  readonly #levels: Threshold[] = []; // q^(2^j), cut off to 128 places; what comes after is zero

  constructor(q: Threshold) {
    for (; this.#levels.length < mostLevels && q !== 0n; q = (q * q) >> 128n) {
      this.#levels.push(q);
    }
  }

  get levels(): number {
    return this.#levels.length;
  }

  level(j: number): Threshold {
    return this.#levels[j] ?? 0n;
  }

  /** True with probability q^k. */
  bernoulli(k: bigint, from: Words): boolean {
    while (k > 0n) {
      const j = bitLength(k) - 1;
      if (!from.bernoulli(this.level(j))) {
        return false;
      }
      k -= 1n << BigInt(j);
    }
    return true;
  }

  /** k from 0 on, at least k with probability q^k: its binary digits are independent. */
  geometric(from: Words): bigint {
    if (this.levels === mostLevels) {
      throw new RangeError("a probability too near one");
    }
    let k = 0n;
    for (let j = 0; j < this.levels; j++) {
      k |= from.odds(this.level(j)) ? 1n << BigInt(j) : 0n;
    }
    return k;
  }
}

/** The successes among many trials of one probability, in a time proportional to their number: blocks are asked whether all fail. */
export class Skipper {
  readonly #fails: Powers;

  constructor(p: Threshold) {
    this.#fails = new Powers(complement(p));
  }

  /** The numbers of the trials that succeed, from 0, in rising order. */
  *successes(trials: number, from: Words): Generator<number> {
    let start = 0;
    for (let j = bitLength(BigInt(trials)) - 1; j >= 0; j--) {
      const block = 2 ** j;
      if (Math.floor(trials / block) % 2 === 1) {
        if (!from.bernoulli(this.#fails.level(j))) {
          yield* this.#bisect(start, j, from);
        }
        start += block;
      }
    }
  }

  /** Those of 2^j trials of which at least one succeeds. */
  *#bisect(start: number, j: number, from: Words): Generator<number> {
    for (; j > 0; j--) {
      const half = 2 ** (j - 1);
      if (!from.odds(this.#fails.level(j - 1))) {
        yield* this.#bisect(start, j - 1, from);
        if (from.bernoulli(this.#fails.level(j - 1))) {
          return;
        }
      }
      start += half;
    }
    yield start;
  }
}
