// A vector told as one random direction, of which the 16 bytes travel that it is expanded from.
import { threshold } from "./draw";
import { gammaRatio } from "./features";
import type { Words } from "./random";
import { concat } from "./bytes";

export const seedBytes = 16;

/** The two words of a seed, little endian. */
function drawSeed(from: Words): Uint8Array<ArrayBuffer> {
  const seed = new Uint8Array(seedBytes), view = new DataView(seed.buffer);
  view.setBigUint64(0, from.word(), true);
  view.setBigUint64(8, from.word(), true);
  return seed;
}

const length = (x: ArrayLike<number>): number => {
  let squares = 0;
  for (let i = 0; i < x.length; i++) {
    squares += x[i]! * x[i]!;
  }
  return Math.sqrt(squares);
};

/** The direction of a seed: normals of the key stream of AES-128 in counter mode, from zero on, divided by their length. */
export async function expand(seed: Uint8Array<ArrayBuffer>, dim: number): Promise<Float64Array> {
  const key = await crypto.subtle.importKey("raw", seed, "AES-CTR", false, ["encrypt"]);
  const zeros = new Uint8Array(16 * Math.ceil(dim / 2));
  const stream = new DataView(await crypto.subtle.encrypt({ name: "AES-CTR", counter: new Uint8Array(16), length: 128 }, key, zeros));
  const uniform = (at: number): number => Number(stream.getBigUint64(at, true) >> 11n) / 2 ** 53;
  const v = new Float64Array(dim);
  for (let i = 0; i < dim; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform(8 * i))), angle = 2 * Math.PI * uniform(8 * i + 8);
    v[i] = radius * Math.cos(angle);
    if (i + 1 < dim) {
      v[i + 1] = radius * Math.sin(angle);
    }
  }
  const by = length(v);
  return v.map((x) => x / by);
}

async function along(x: readonly number[], seed: Uint8Array<ArrayBuffer>): Promise<number> {
  const v = await expand(seed, x.length);
  return x.reduce((sum, a, i) => sum + a * v[i]!, 0);
}

/** The end of its line that a vector stands for; unknown is what is zero or not finite, which stands for either. */
function end(x: readonly number[], clip: number, from: Words): { sign: number; known: boolean } {
  const far = length(x), known = far > 0 && far < Infinity;
  const share = known ? Math.min(1, far / clip) : 0;
  return { sign: from.bernoulli(threshold((1 + share) / 2)) ? 1 : -1, known };
}

/** The sign of a drawn direction: 17 bytes, the first 1 for a minus. */
export async function signReport(clip: number, epsilon: number, x: readonly number[], from: Words): Promise<Uint8Array<ArrayBuffer>> {
  const seed = drawSeed(from);
  let { sign, known } = end(x, clip, from);
  if (known && (await along(x, seed)) < 0) {
    sign = -sign;
  }
  if (from.bernoulli(threshold(Math.min(0.5, (1 + 2 ** -50) / (1 + Math.exp(epsilon)))))) {
    sign = -sign;
  }
  return concat(Uint8Array.of(sign < 0 ? 1 : 0), seed);
}

/** A direction of which those in the cap about the drawn end are e^epsilon times as likely as others: 16 bytes. */
export async function capReport(clip: number, share: number, epsilon: number, x: readonly number[], from: Words): Promise<Uint8Array<ArrayBuffer>> {
  const { sign, known } = end(x, clip, from);
  if (!known) {
    return drawSeed(from);
  }
  const edge = capEdge(x.length, share) * length(x);
  const taken = threshold(Math.min(1, Math.exp(-epsilon) * (1 + 2 ** -50)));
  for (;;) {
    const seed = drawSeed(from);
    if (sign * (await along(x, seed)) >= edge || from.bernoulli(taken)) {
      return seed;
    }
  }
}

/** The least <u, v> of a direction v in the cap about u that has this share of the sphere. */
export function capEdge(dim: number, share: number): number {
  let [low, high] = [0, 1];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (beyond(dim, middle) > 2 * share) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (low + high) / 2;
}

/** P(|<u, v>| > t) of a uniform direction: the incomplete beta function of (dim-1)/2 and 1/2 at 1-t^2. */
function beyond(dim: number, t: number): number {
  const a = (dim - 1) / 2, x = 1 - t * t;
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const factor = (gammaRatio(dim - 1) / Math.sqrt(Math.PI)) * Math.exp(a * Math.log1p(-t * t)) * t; // x^a (1-x)^(1/2) / B(a, 1/2)
  return x < (a + 1) / (a + 2.5) ? (factor * fraction(a, 0.5, x)) / a : 1 - (factor * fraction(0.5, a, 1 - x)) / 0.5;
}

/** The continued fraction of the incomplete beta function, by Lentz. */
function fraction(a: number, b: number, x: number): number {
  const some = (v: number) => (Math.abs(v) < 1e-300 ? 1e-300 : v);
  let c = 1, d = 1 / some(1 - ((a + b) * x) / (a + 1)), f = d;
  for (let m = 1; m <= 100000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / some(1 + even * d);
    c = some(1 + even / c);
    f *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / some(1 + odd * d);
    c = some(1 + odd / c);
    f *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) {
      return f;
    }
  }
  return f;
}
