// Public states of rounds, as far as a device needs them: clusters, encoders, models, and maps of features. A plan names the state
// by its SHA-256, which whoever fetches it compares.
import { normalized, softmax, whitened } from "./record";

/** The state is none of its form, or of a form that is not read here. */
export class StateError extends Error {
  override readonly name = "StateError";
}

function need(holds: boolean, why: string): asserts holds {
  if (!holds) {
    throw new StateError(why);
  }
}

function json(state: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(state));
    need(typeof value === "object" && value !== null, "the state is no object");
    return value as Record<string, unknown>;
  } catch (e) {
    throw e instanceof StateError ? e : new StateError("the state is not in JSON");
  }
}

function bytesOf(base64: unknown): Uint8Array<ArrayBuffer> {
  need(typeof base64 === "string", "a part of the state is missing");
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    throw new StateError("a part of the state is not base64");
  }
}

/** Numbers of 4 or of 8 bytes, little endian. */
function numbers(b: Uint8Array, size: 4 | 8 = 4): number[] {
  need(b.length % size === 0, "a part of the state is no list of numbers");
  const view = new DataView(b.buffer, b.byteOffset, b.byteLength);
  const all = Array.from({ length: b.length / size }, (_, i) => (size === 4 ? view.getFloat32(4 * i, true) : view.getFloat64(8 * i, true)));
  need(all.every(Number.isFinite), "a number of the state is not finite");
  return all;
}

const f32 = Math.fround;

type Layer = { readonly dense: { readonly in: number; readonly out: number } } | { readonly relu: { readonly size: number } };

/** Dense layers and rectifiers. */
export class Network {
  readonly #layers: Layer[];
  readonly #params: number[];

  /** Reads the form of a model: its magic, the length of its layers in JSON, these, and its numbers. */
  constructor(b: Uint8Array) {
    const magic = "confetti-nn 1\n", [text, rest] = part(behind(b, magic));
    let layers: unknown;
    try {
      layers = JSON.parse(new TextDecoder().decode(text));
    } catch {
      throw new StateError("the layers are not in JSON");
    }
    need(Array.isArray(layers) && layers.length > 0, "a network has layers");
    need(layers.every((l) => l.dense || l.relu), "the network has layers that are not dense: they are not computed here");
    this.#layers = layers as Layer[];
    this.#params = numbers(rest);
    let width = this.inputs, count = 0;
    for (const l of this.#layers) {
      const [from, to] = "dense" in l ? [l.dense.in, l.dense.out] : [l.relu.size, l.relu.size];
      need(Number.isInteger(from) && Number.isInteger(to) && from === width && to > 0 && to <= 1 << 20, "the layers do not fit each other");
      count += "dense" in l ? from * to + to : 0;
      width = to;
    }
    need(count === this.#params.length, "the layers learn another number of numbers");
  }

  get inputs(): number {
    const l = this.#layers[0]!;
    return "dense" in l ? l.dense.in : l.relu.size;
  }

  #forward(x: readonly number[]): number[][] {
    need(x.length === this.inputs, `need ${this.inputs} numbers`);
    const all = [x.map(f32)];
    let at = 0;
    for (const l of this.#layers) {
      const given = all.at(-1)!;
      if ("relu" in l) {
        all.push(given.map((v) => (v > 0 ? v : 0)));
        continue;
      }
      const { in: n, out } = l.dense, from = at;
      all.push(Array.from({ length: out }, (_, j) => f32(given.reduce((s, v, i) => s + v * this.#params[from + i * out + j]!, 0) + this.#params[from + n * out + j]!)));
      at += n * out + out;
    }
    return all;
  }

  /** What the last layer gives. */
  scores(x: readonly number[]): number[] {
    return this.#forward(x).at(-1)!;
  }

  /** The gradient of the cross entropy at an example, as long as the numbers of the model. */
  gradient(x: readonly number[], own: number): number[] {
    const all = this.#forward(x), parts: number[][] = [];
    let change = softmax(all.at(-1)!).map((p, k) => f32(p - (k === own ? 1 : 0))), at = this.#params.length;
    for (let i = this.#layers.length - 1; i >= 0; i--) {
      const l = this.#layers[i]!, given = all[i]!, above = change;
      if ("relu" in l) {
        change = above.map((d, j) => (given[j]! > 0 ? d : 0));
        continue;
      }
      const { in: n, out } = l.dense, from = (at -= n * out + out);
      parts.unshift(given.flatMap((v) => above.map((d) => f32(v * d))), above);
      change = Array.from({ length: n }, (_, j) => f32(above.reduce((s, d, k) => s + d * this.#params[from + j * out + k]!, 0)));
    }
    return parts.flat();
  }
}

function behind(b: Uint8Array, magic: string): Uint8Array {
  need(new TextDecoder().decode(b.subarray(0, magic.length)) === magic, `it does not begin with ${JSON.stringify(magic)}`);
  return b.subarray(magic.length);
}

/** What is behind a length of 4 bytes, little endian, and the rest. */
function part(b: Uint8Array): [Uint8Array, Uint8Array] {
  need(b.length >= 4, "it ends too soon");
  const n = new DataView(b.buffer, b.byteOffset).getUint32(0, true);
  need(n <= b.length - 4, "it ends too soon");
  return [b.subarray(4, 4 + n), b.subarray(4 + n)];
}

/** The model of a round of gradients. */
export function gradientModel(state: Uint8Array): Network {
  const [, rest] = part(behind(state, "confetti-gradient 1\n"));
  return new Network(part(rest)[0]);
}

/** Finds the public cluster of features: that of the nearest centre, or of the largest score of a network. */
export function clusters(state: Uint8Array): (features: readonly number[]) => number {
  const s = json(state);
  need(s["image"] === undefined, "the clusters are of images, whose features are not computed here");
  need(s["confetti_clusters"] === 1 || s["confetti_encoder"] === 1, "no clusters of version 1");
  const best = (values: number[]) => values.reduce((at, v, i) => (v > values[at]! ? i : at), 0);
  if (s["confetti_encoder"] === 1) {
    const net = new Network(bytesOf(s["net"]));
    return (features) => best(net.scores(features));
  }
  const sizes = s["sizes"], centres = numbers(bytesOf(s["centres"])), offsets = s["offsets"] === undefined ? [] : numbers(bytesOf(s["offsets"]));
  need(Array.isArray(sizes) && sizes.length > 0 && centres.length > 0 && centres.length % sizes.length === 0 && [0, sizes.length].includes(offsets.length), "centres, sizes and offsets do not fit each other");
  const cols = centres.length / sizes.length;
  return (features) => {
    need(features.length === cols, `need ${cols} numbers`);
    return best(sizes.map((_, i) => -features.reduce((d, x, j) => d + (centres[i * cols + j]! - x) ** 2, 2 * (offsets[i] ?? 0))));
  };
}

/** The vector that an encoder gives a record. */
export function encoder(state: Uint8Array): (record: readonly number[]) => number[] {
  const s = json(state);
  need(s["confetti_latent"] === 1, "no encoder of version 1");
  const net = new Network(bytesOf(s["net"]));
  return (record) => net.scores(record);
}

/** What a round of vectors asks with. */
export interface VectorState {
  readonly numbers?: number; // of a record, where a map takes other than the plan's features
  features(given: readonly number[]): number[];
  readonly point?: { features(psi: readonly number[]): number[]; readonly weights: readonly number[] };
}

/** Reads the state of a round of vectors; none is that of features as they are, scaled. */
export function vectorState(state?: Uint8Array): VectorState {
  const s = state === undefined ? {} : json(state);
  need(s["inputs"] === undefined, "the state makes features of texts, images or rows of tables, which is not computed here");
  const map = s["map"] as Record<string, unknown> | undefined, point = s["point"] as Record<string, unknown> | undefined;
  const linear = (from: Record<string, unknown>, name: string) => {
    const mean = numbers(bytesOf(from["mean"])), matrix = numbers(bytesOf(from[name]));
    need(mean.length > 0 && matrix.length > 0 && matrix.length % mean.length === 0, "a matrix does not fit its mean");
    return { mean, apply: (x: readonly number[]) => whitened(mean, matrix, x) };
  };
  const mapped = map && linear(map, "matrix"), at = point && linear(point, "whiten");
  return {
    ...(mapped && { numbers: mapped.mean.length }),
    features: mapped ? mapped.apply : normalized,
    ...(at && { point: { features: at.apply, weights: numbers(bytesOf(point["weights"]), 8) } }),
  };
}
