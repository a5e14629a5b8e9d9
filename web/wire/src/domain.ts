// Domains of histograms: which cells a value is in.
import { UnfitError } from "./features";

/** An interval from low to high, cut into so many cells. */
export interface Axis {
  readonly low: number;
  readonly high: number;
  readonly cells: number;
}

/** The values that have a cell each, or how many there are: "0", "1" and so on, without leading zeros. */
type Values = readonly string[] | number;

/** The cells of an attribute; where there are others, one more, the last, is of what is in none. */
export type Domain = { readonly others: boolean } & (
  | { readonly kind: "categories"; readonly values: Values }
  | { readonly kind: "set"; readonly values: Values; readonly most: number }
  | { readonly kind: "buckets"; readonly axis: Axis }
  | { readonly kind: "grid"; readonly axes: readonly [Axis, Axis] }
);

/** The cells of a value, in their order: strings of categories and sets, numbers of buckets (one) and grids (two). */
export function cellsOf(d: Domain, value: readonly string[] | readonly number[]): number[] {
  switch (d.kind) {
    case "categories":
    case "set": {
      const found = new Set(
        (value as readonly string[]).map((text) => {
          const at = place(d.values, text);
          if (at < 0 && !d.others) {
            throw new UnfitError("not among the values");
          }
          return at >= 0 ? at : typeof d.values === "number" ? d.values : d.values.length;
        }),
      );
      if (d.kind === "set" ? found.size > d.most : found.size !== 1) {
        throw new UnfitError("more values than fit");
      }
      return [...found].sort((a, b) => a - b);
    }
    case "buckets": {
      const at = interval(d.axis, (value as readonly number[])[0]!, d.others);
      return [at ?? d.axis.cells];
    }
    case "grid": {
      const [x, y] = d.axes;
      const across = interval(x, (value as readonly number[])[0]!, d.others);
      const up = interval(y, (value as readonly number[])[1]!, d.others);
      return [across === undefined || up === undefined ? x.cells * y.cells : up * x.cells + across];
    }
  }
}

function place(values: Values, text: string): number {
  if (typeof values !== "number") {
    return values.indexOf(text);
  }
  return /^(0|[1-9]\d{0,9})$/.test(text) && Number(text) < values ? Number(text) : -1;
}

/** The interval that a number is in; undefined is the cell of others. */
function interval(a: Axis, x: number, others: boolean): number | undefined {
  if (Number.isNaN(x)) {
    if (others) {
      return undefined;
    }
    throw new UnfitError("not a number");
  }
  if (x < a.low || x > a.high) {
    return others ? undefined : x < a.low ? 0 : a.cells - 1;
  }
  let [below, above] = [0, a.cells]; // edge(below) <= x < edge(above), but for the last
  while (above - below > 1) {
    const middle = (below + above) >> 1;
    if (x >= edge(a, middle)) {
      below = middle;
    } else {
      above = middle;
    }
  }
  return below;
}

/** low + i (high - low)/cells, computed exactly and rounded once, to the nearest number of 64 bits. */
function edge(a: Axis, i: number): number {
  const [low, high] = [exact(a.low), exact(a.high)];
  const scale = low.scale > high.scale ? low.scale : high.scale; // over 2^scale
  const at = (e: { whole: bigint; scale: bigint }) => e.whole << (scale - e.scale);
  const [n, k] = [BigInt(a.cells), BigInt(i)];
  return nearest(at(low) * (n - k) + at(high) * k, n << scale);
}

/** A number as whole / 2^scale, scale from 0 on. */
function exact(x: number): { whole: bigint; scale: bigint } {
  let scale = 0n;
  while (!Number.isInteger(x) && scale < 1100n) {
    x *= 2;
    scale++;
  }
  return { whole: BigInt(x), scale };
}

/** The number of 64 bits that is nearest to a fraction, of two the even one. */
function nearest(numerator: bigint, denominator: bigint): number {
  if (numerator < 0n) {
    return -nearest(-numerator, denominator);
  }
  if (numerator === 0n) {
    return 0;
  }
  // 64 bits of the quotient, and below them one for whatever is left: Number() then rounds as it should.
  const shift = 65n + BigInt(denominator.toString(2).length) - BigInt(numerator.toString(2).length);
  const scaled = shift > 0n ? numerator << shift : numerator;
  const over = shift > 0n ? denominator : denominator << -shift;
  const quotient = (scaled / over) | (scaled % over === 0n ? 0n : 1n);
  return Number(quotient) * 2 ** -Number(shift); // exact, for sizes that axes have
}
