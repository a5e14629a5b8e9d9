// How a device splits a vector into two shares and proves what it is: Prio3 of draft-irtf-cfrg-vdaf-20, with the three
// circuits that docs/wire.md has, two aggregators and one proof. Only the device's part is here.
import { turboshake128 } from "@noble/hashes/sha3-addons.js";
import { concat, uint } from "./bytes";
import { randomBytes } from "./random";

/** Which vectors are allowed. */
export type Circuit =
  | { readonly kind: "histogram"; readonly length: number } // a single one among zeros
  | { readonly kind: "multihot"; readonly length: number; readonly weight: number } // zeros and at most so many ones
  | { readonly kind: "sumvec"; readonly length: number; readonly max: number }; // numbers from 0 to max

/** The number of a circuit's VDAF in the draft's registry. */
export const vdafNumber = (c: Circuit): number => ({ histogram: 4, multihot: 5, sumvec: 3 })[c.kind];

const version = 18;
const seedBytes = 32;
const elementBytes = 16;
const maxEncoded = 1 << 22;

// The field of 2^128 - 28 * 2^64 + 1 elements, in which 7 makes a root of unity of order 2^66.
const p = (1n << 128n) - (28n << 64n) + 1n;
const mod = (x: bigint): bigint => { const r = x % p; return r < 0n ? r + p : r; };

function power(x: bigint, n: bigint): bigint {
  let y = 1n;
  for (; n > 0n; n >>= 1n) {
    if (n & 1n) {
      y = (y * x) % p;
    }
    x = (x * x) % p;
  }
  return y;
}

const inverse = (x: bigint): bigint => power(x, p - 2n);
const rootOfUnity = (n: number): bigint => power(7n, (p - 1n) / BigInt(n)); // n is a power of two

/** What polynomial has these coefficients, at the powers of a root of unity whose order is their number. */
function evaluate(coefficients: readonly bigint[], root: bigint): bigint[] {
  const n = coefficients.length;
  if (n === 1) {
    return [coefficients[0]!];
  }
  const square = (root * root) % p;
  const even = evaluate(coefficients.filter((_, i) => i % 2 === 0), square);
  const odd = evaluate(coefficients.filter((_, i) => i % 2 === 1), square);
  const out = new Array<bigint>(n);
  let w = 1n;
  for (let i = 0; i < n / 2; i++) {
    const t = (w * odd[i]!) % p;
    out[i] = (even[i]! + t) % p;
    out[i + n / 2] = mod(even[i]! - t);
    w = (w * root) % p;
  }
  return out;
}

/** The values between those that a polynomial has at the n-th roots of unity: at the odd powers of the 2n-th root. */
function between(values: readonly bigint[]): bigint[] {
  const n = values.length, root = rootOfUnity(n), step = rootOfUnity(2 * n), part = inverse(BigInt(n));
  let scale = part;
  const shifted = evaluate(values, inverse(root)).map((c) => {
    const s = (c * scale) % p;
    scale = (scale * step) % p;
    return s;
  });
  return evaluate(shifted, root);
}

const bitLength = (x: number): number => x.toString(2).length; // of x from 1 on

/** A number from 0 to most in bits, of which the last counts what is left of most. */
function range(x: number, most: number): bigint[] {
  const width = bitLength(most), rest = 2 ** (width - 1) - 1, last = x > rest;
  const low = last ? x - (most - rest) : x;
  return [...Array.from({ length: width - 1 }, (_, i) => (BigInt(low) >> BigInt(i)) & 1n), last ? 1n : 0n];
}

function encoded(c: Circuit): number {
  return c.kind === "histogram" ? c.length : c.kind === "multihot" ? c.length + bitLength(c.weight) : c.length * bitLength(c.max);
}

function encode(c: Circuit, vector: readonly number[]): bigint[] {
  const most = c.kind === "sumvec" ? c.max : 1;
  const ones = vector.reduce((a, b) => a + b, 0);
  if (vector.length !== c.length || vector.some((x) => !Number.isInteger(x) || x < 0 || x > most) || (c.kind === "histogram" && ones !== 1) || (c.kind === "multihot" && ones > c.weight)) {
    throw new RangeError("the vector is not one that the circuit allows");
  }
  if (c.kind === "sumvec") {
    return vector.flatMap((x) => range(x, c.max));
  }
  return [...vector.map(BigInt), ...(c.kind === "multihot" ? range(ones, c.weight) : [])];
}

const little = (x: bigint, bytes: number): Uint8Array => Uint8Array.from({ length: bytes }, (_, i) => Number((x >> BigInt(8 * i)) & 255n));
const elements = (all: readonly bigint[]): Uint8Array<ArrayBuffer> => concat(...all.map((x) => little(x, elementBytes)));

const enum Use { measurementShare = 1, proofShare, jointRandomness, proveRandomness, queryRandomness, jointSeed, jointPart }

/** What is split, by whom. A context is a task's. */
export class Prio3 {
  readonly #calls: number;
  readonly #points: number;

  constructor(readonly circuit: Circuit, readonly chunk: number, readonly context: Uint8Array) {
    const n = encoded(circuit);
    const whole = [circuit.length, chunk, ...(circuit.kind === "multihot" ? [circuit.weight] : circuit.kind === "sumvec" ? [circuit.max] : [])];
    if (!whole.every((x) => Number.isInteger(x) && x >= 1) || n > maxEncoded || chunk > n || (circuit.kind === "multihot" && circuit.weight > circuit.length) || "square" in circuit || (circuit.kind === "sumvec" && circuit.max > 2 ** 32)) {
      throw new RangeError("no circuit of these numbers");
    }
    this.#calls = Math.ceil(n / chunk);
    this.#points = 2 ** bitLength(this.#calls); // more than there are calls
  }

  /** How long the shares are, in bytes. */
  get sizes(): { public: number; leader: number; helper: number } {
    return { public: 2 * seedBytes, leader: elementBytes * (encoded(this.circuit) + 2 * this.chunk + 2 * this.#points - 1) + seedBytes, helper: 2 * seedBytes };
  }

  /** Splits a vector; the nonce, of 16 bytes, is the report's. The randomness, 128 bytes, is drawn where none is given, and given in tests alone. */
  split(vector: readonly number[], nonce: Uint8Array, random: Uint8Array = randomBytes(4 * seedBytes)): { public: Uint8Array<ArrayBuffer>; leader: Uint8Array<ArrayBuffer>; helper: Uint8Array<ArrayBuffer> } {
    if (nonce.length !== 16 || random.length !== 4 * seedBytes) {
      throw new RangeError("a nonce has 16 bytes, and the randomness of a split 128");
    }
    const values = encode(this.circuit, vector);
    const [helperShare, helperBlind, leaderBlind, prover] = [0, 1, 2, 3].map((i) => random.subarray(i * seedBytes, (i + 1) * seedBytes)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const theirs = this.#expand(helperShare, Use.measurementShare, Uint8Array.of(1), values.length);
    const ours = values.map((x, i) => mod(x - theirs[i]!));
    const parts = [this.#part(leaderBlind, 0, nonce, ours), this.#part(helperBlind, 1, nonce, theirs)] as const;
    const seed = this.#xof(new Uint8Array(seedBytes), Use.jointSeed, ...parts)(seedBytes);
    const joint = this.#expand(seed, Use.jointRandomness, Uint8Array.of(1), this.#calls);
    const proof = this.#prove(values, this.#expand(prover, Use.proveRandomness, Uint8Array.of(1), 2 * this.chunk), joint);
    const theirProof = this.#expand(helperShare, Use.proofShare, Uint8Array.of(1, 1), proof.length);
    return {
      public: concat(...parts),
      leader: concat(elements(ours), elements(proof.map((x, i) => mod(x - theirProof[i]!))), leaderBlind),
      helper: concat(helperShare, helperBlind),
    };
  }

  /** The proof: what each wire begins with, and the values of the gadget's polynomial, of which the last follows. */
  #prove(values: readonly bigint[], seeds: readonly bigint[], joint: readonly bigint[]): bigint[] {
    const n = this.#points, gadget = new Array<bigint>(2 * n).fill(0n);
    for (let j = 0; j < this.chunk; j++) {
      const left = [seeds[2 * j]!, ...new Array<bigint>(n - 1).fill(0n)], right = [seeds[2 * j + 1]!, ...new Array<bigint>(n - 1).fill(0n)];
      for (let i = 0; i < this.#calls; i++) {
        const value = values[i * this.chunk + j] ?? 0n;
        left[1 + i] = (power(joint[i]!, BigInt(j + 1)) * value) % p;
        right[1 + i] = mod(value - 1n);
      }
      const lefts = between(left), rights = between(right);
      for (let k = 0; k < n; k++) {
        gadget[2 * k] = (gadget[2 * k]! + left[k]! * right[k]!) % p;
        gadget[2 * k + 1] = (gadget[2 * k + 1]! + lefts[k]! * rights[k]!) % p;
      }
    }
    return [...seeds, ...gadget.slice(0, -1)];
  }

  #part(blind: Uint8Array, aggregator: number, nonce: Uint8Array, share: readonly bigint[]): Uint8Array<ArrayBuffer> {
    return this.#xof(blind, Use.jointPart, Uint8Array.of(aggregator), nonce, elements(share))(seedBytes);
  }

  #xof(seed: Uint8Array, use: Use, ...binder: Uint8Array[]): (bytes: number) => Uint8Array<ArrayBuffer> {
    const tag = concat(little(BigInt(8 + this.context.length), 2), Uint8Array.of(version, 0), uint(vdafNumber(this.circuit), 4), uint(use, 2), this.context);
    const hash = turboshake128.create({ D: 1 }).update(concat(tag, Uint8Array.of(seedBytes), seed, ...binder));
    return (bytes) => new Uint8Array(hash.xof(bytes));
  }

  /** n elements; what is no element is drawn again. */
  #expand(seed: Uint8Array, use: Use, binder: Uint8Array, n: number): bigint[] {
    const next = this.#xof(seed, use, binder), all: bigint[] = [];
    while (all.length < n) {
      const block = next(elementBytes * (n - all.length));
      for (let at = 0; at < block.length; at += elementBytes) {
        const view = new DataView(block.buffer, at, elementBytes);
        const x = view.getBigUint64(0, true) | (view.getBigUint64(8, true) << 64n);
        if (x < p) {
          all.push(x);
        }
      }
    }
    return all;
  }
}
