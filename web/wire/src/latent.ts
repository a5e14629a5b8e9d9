// What a device says of a vector that a public encoder gives, of a class, and of a symbol by itself: one message each.
import { concat, uint } from "./bytes";
import { capReport } from "./direction";
import { Powers } from "./draw";
import { decay, discreteGaussian, discreteLaplace } from "./noise";
import type { Words } from "./random";
import { krr, subset } from "./randomize";

/** How a vector and a class are told. */
export interface Latents {
  readonly mechanism: string;
  readonly dim: number;
  readonly length?: number;
  readonly points?: number;
  readonly share?: number;
  readonly sigma?: number;
  readonly epsilon: number;
  readonly class_epsilon?: number;
}

const away = (x: number): number => Math.sign(x) * Math.floor(Math.abs(x) + 0.5) || 0; // to the nearest, halves away from zero

/** The point of the grid next to a vector, no further than so many steps from the centre: in the sum of magnitudes, or in the two-norm. */
export function snap(radius: number, points: number, vector: readonly number[], norm: 1 | 2 = 1): number[] {
  const cost = norm === 1 ? Math.abs : (v: number) => v * v;
  const x = vector.map(Math.fround), sum = x.reduce((s, v) => s + cost(v), 0), length = norm === 1 ? sum : Math.sqrt(sum);
  if (!(length > 0 && length <= Number.MAX_VALUE)) {
    return x.map(() => 0);
  }
  const pull = Math.min(1, radius / length) / (radius / points);
  const point = x.map((v) => away(v * pull));
  for (let over = point.reduce((s, n) => s + cost(n), -cost(points)); over > 0;) {
    let far = 0, most = -Infinity; // what gained most by rounding goes back a step
    point.forEach((n, j) => {
      const gain = Math.abs(n) - Math.abs(x[j]! * pull);
      if (n !== 0 && gain > most) {
        [far, most] = [j, gain];
      }
    });
    const n = point[far]!, back = n - Math.sign(n);
    over += cost(back) - cost(n);
    point[far] = back;
  }
  return point;
}

/** The number next below a positive one. */
function nextBelow(x: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigUint64(0, view.getBigUint64(0) - 1n);
  return view.getFloat64(0);
}

/** The grid point of a vector with discrete Laplace or Gaussian noise in every number: 4 bytes each, signed. */
export function gridReport(m: Latents, vector: readonly number[], from: Words): Uint8Array<ArrayBuffer> {
  const normal = m.mechanism === "gaussian", powers = normal ? undefined : new Powers(decay(nextBelow(m.epsilon / (2 * m.points!))));
  const most = 2n ** 31n;
  return concat(...snap(m.length!, m.points!, vector, normal ? 2 : 1).map((n) => {
    const said = BigInt(n) + (powers ? discreteLaplace(powers, from) : discreteGaussian(m.sigma!, from));
    return uint(Number(BigInt.asUintN(32, said < -most ? -most : said >= most ? most - 1n : said)), 4);
  }));
}

/** A vector at a length of one, or by rounding just above; zero where it has none. */
function unit(vector: readonly number[]): number[] {
  const x = vector.map(Math.fround), squares = x.reduce((s, v) => s + v * v, 0);
  if (!(squares > 0 && squares <= Number.MAX_VALUE)) {
    return x.map(() => 0);
  }
  const by = (1 + 2 ** -40) / Math.sqrt(squares);
  return x.map((v) => v * by);
}

/** A vector, and behind it a class, of so many, by randomized response in 2 bytes; of a value that does not fit the vector is zero and the class undefined. */
export async function latentReport(m: Latents, classes: number, vector: readonly number[], own: number | undefined, from: Words): Promise<Uint8Array<ArrayBuffer>> {
  if (vector.length !== m.dim) {
    throw new RangeError(`need a vector of ${m.dim} numbers`);
  }
  if (!["cap", "laplace", "gaussian"].includes(m.mechanism)) {
    throw new RangeError(`vectors with noise ${m.mechanism} are not known here`);
  }
  const told = m.mechanism === "cap" ? await capReport(1, m.share!, m.epsilon, unit(vector), from) : gridReport(m, vector, from);
  return classes === 0 ? told : concat(told, uint(krr(classes, m.class_epsilon!, own ?? from.below(classes), from), 2));
}

/** A set of symbols in one message: a bit for each, the first in the lowest bit of the first byte. Undefined is any symbol. */
export function subsetReport(symbols: number, size: number, epsilon: number, own: number | undefined, from: Words): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array(Math.ceil(symbols / 8));
  for (const c of subset(symbols, size, epsilon, own ?? from.below(symbols), from)) {
    bits[c >> 3]! |= 1 << (c & 7);
  }
  return bits;
}
