// Feature maps of densities: what a device sends of a value, before it randomizes.
import { Rotation, Stream } from "./stream";

/** A feature map, as a plan's kernel says. */
export interface Kernel {
  readonly name: string;
  readonly dimension: number;
  readonly repetitions: number;
  readonly seed: Uint8Array;
  readonly normalize: boolean;
  readonly bandwidth?: number;
  readonly radius?: number;
  readonly buckets?: number;
  readonly projection?: number;
  readonly clip?: number;
}

/** The value does not fit the kernel. What a device then sends, the plan's question says. */
export class UnfitError extends Error {
  override readonly name = "UnfitError";
}

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0);
const clamp = (v: number): number => Math.max(-1, Math.min(1, v));
const scaled = (x: readonly number[], by: number): number[] => x.map((v) => v / by);

/** The value as the kernel takes it. */
function fitting(k: Kernel, x: readonly number[]): number[] {
  const length = Math.sqrt(dot(x, x));
  if (x.length !== k.dimension || !Number.isFinite(length)) {
    throw new UnfitError(`need ${k.dimension} finite numbers`);
  }
  if (k.normalize) {
    if (!(length >= 1e-15 && length <= 1e15)) {
      throw new UnfitError("a vector without a direction");
    }
    return scaled(x, length);
  }
  if (k.bandwidth && length > 1e4 * k.bandwidth) {
    throw new UnfitError("longer than 10,000 bandwidths");
  }
  if (k.radius && length > k.radius * 1.001) {
    throw new UnfitError("longer than the radius");
  }
  if (k.name.startsWith("ip-") && Math.abs(length - 1) > 0.001) {
    throw new UnfitError("not of length 1");
  }
  return k.name === "ip-rotated" ? scaled(x, length) : [...x];
}

/** Of the values that fit, the one in the direction of x that is nearest in length; undefined of what has none. */
export function nearest(k: Kernel, value: readonly number[]): number[] | undefined {
  const length = Math.sqrt(dot(value, value));
  if (value.length !== k.dimension || !(length > 0 && length < Infinity)) {
    return undefined;
  }
  const longest = k.normalize || k.name.startsWith("ip-") ? 1 : Math.min(length, k.radius ?? Infinity, k.bandwidth ? 1e4 * k.bandwidth * (1 - 1e-6) : Infinity);
  return value.map((v) => Math.fround(v * (longest / length)));
}

/** The features of a value, each in [-1, 1]. */
export function features(k: Kernel, value: readonly number[]): number[] {
  const stream = (part: string) => new Stream(k.seed, `${k.name}/${part}`);
  const x = fitting(k, value);
  const times = <T>(n: number, f: () => T): T[] => Array.from({ length: n }, f);
  switch (k.name) {
    case "gaussian": {
      const [weights, offsets] = [stream("weights"), stream("offsets")];
      const scale = Math.SQRT2 / k.bandwidth!;
      return times(k.repetitions, () => Math.cos(scale * dot(weights.normals(k.dimension), x) + 2 * Math.PI * offsets.uniform()));
    }
    case "gaussian-paired": {
      const [rotations, lengths] = [stream("rotations"), stream("lengths")];
      const turned = times(Math.ceil(k.repetitions / k.dimension), () => new Rotation(k.dimension, rotations).apply(x)).flat();
      return turned.slice(0, k.repetitions).flatMap((v) => {
        const angle = ((v * Math.SQRT2) / k.bandwidth!) * lengths.chi(k.dimension);
        return [Math.cos(angle), Math.sin(angle)];
      });
    }
    case "gaussian-projected": {
      const [weights, offsets, m] = [stream("weights"), stream("offsets"), k.projection!];
      const low = new Rotation(k.dimension, stream("rotation")).apply(x).slice(0, m);
      const scale = (Math.SQRT2 / k.bandwidth!) * Math.sqrt(k.dimension / m);
      return times(k.repetitions, () => Math.cos(scale * dot(weights.normals(m), low) + 2 * Math.PI * offsets.uniform()));
    }
    case "ip-signs": {
      const weights = stream("weights");
      return times(k.repetitions, () => clamp(dot(weights.signs(k.dimension), x) / Math.sqrt(k.dimension)));
    }
    case "ip-identity":
      return x.map(clamp);
    case "ip-rotated":
      return new Rotation(k.dimension, stream("rotation")).apply(x).map((v) => clamp((v * Math.sqrt(k.dimension)) / k.clip!));
    case "laplacian":
    case "laplacian-sign":
      return hashed(k, binned(k, x, stream("grids"), stream("keys")));
    case "exponential":
    case "exponential-sign":
      return hashed(k, cut(k, x, stream("offsets"), stream("directions"), stream("keys")));
  }
  throw new RangeError(`no kernel ${k.name} is known here`);
}

const all64 = (1n << 64n) - 1n;

function hashed(k: Kernel, cells: bigint[]): number[] {
  if (k.name.endsWith("-sign")) {
    return cells.map((w) => (w >> 63n === 1n ? 1 : -1));
  }
  const buckets = k.buckets!;
  return cells.flatMap((w) => {
    const own = Number(((w >> 32n) * BigInt(buckets)) >> 32n);
    return Array.from({ length: buckets }, (_, i) => (i === own ? 1 : 0));
  });
}

function binned(k: Kernel, x: readonly number[], grids: Stream, keys: Stream): bigint[] {
  return Array.from({ length: k.repetitions }, () => {
    let w = keys.word();
    for (const v of x) {
      const pitch = grids.exponential() + grids.exponential();
      const place = Math.floor(v / (k.bandwidth! * pitch) + grids.uniform());
      w += keys.word() * BigInt.asUintN(32, BigInt(place));
    }
    return w & all64;
  });
}

function cut(k: Kernel, x: readonly number[], offsets: Stream, directions: Stream, keys: Stream): bigint[] {
  const [d, r] = [k.dimension, k.radius!];
  const mean = ((2 * r) / k.bandwidth!) * Math.sqrt(Math.PI) * gammaRatio(d);
  return Array.from({ length: k.repetitions }, () => {
    let w = keys.word();
    for (let at = offsets.exponential(); at < mean; at += offsets.exponential()) {
      const z = directions.normals(d);
      const key = keys.word();
      if (dot(z, x) / Math.sqrt(dot(z, z)) > r * ((2 * at) / mean - 1)) {
        w += key;
      }
    }
    return w & all64;
  });
}

/** Gamma((d+1)/2) / Gamma(d/2), from d = 1 or 2 upwards by Gamma(x+1) = x Gamma(x). */
export function gammaRatio(d: number): number {
  let ratio = d % 2 === 1 ? 1 / Math.sqrt(Math.PI) : Math.sqrt(Math.PI) / 2;
  for (let k = d % 2 === 1 ? 1 : 2; k < d; k += 2) {
    ratio *= (k + 1) / k;
  }
  return ratio;
}
