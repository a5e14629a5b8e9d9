// Public randomness: what devices and analyzer must have alike, and nobody needs to hide, from a plan's seeds.
import { shake256 } from "@noble/hashes/sha3.js";
import { concat, text } from "./bytes";

/** A stream of words, with what is read from them. */
export class Stream {
  readonly #source: { xof(bytes: number): Uint8Array };
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;

  constructor(seed: Uint8Array, name: string) {
    this.#source = shake256.create({}).update(concat(seed, text("confetti/encode/v1/" + name)));
  }

  /** The next 64 bits. */
  word(): bigint {
    if (this.#at === this.#view.byteLength) {
      const block = this.#source.xof(4096);
      this.#view = new DataView(block.buffer, block.byteOffset, block.byteLength);
      this.#at = 0;
    }
    this.#at += 8;
    return this.#view.getBigUint64(this.#at - 8, true);
  }

  /** In [0, 1). */
  uniform(): number {
    return Number(this.word() >> 11n) / 2 ** 53;
  }

  exponential(): number {
    return -Math.log1p(-this.uniform());
  }

  /** n normals; of a last pair that is half needed the sine is dropped. */
  normals(n: number): number[] {
    const z: number[] = [];
    while (z.length < n) {
      const radius = Math.sqrt(2 * this.exponential());
      const angle = 2 * Math.PI * this.uniform();
      z.push(radius * Math.cos(angle), radius * Math.sin(angle));
    }
    return z.slice(0, n);
  }

  /** n signs, a row that begins with a word of its own. */
  signs(n: number): number[] {
    const z: number[] = [];
    while (z.length < n) {
      const word = this.word();
      for (let i = 0n; i < 64n; i++) {
        z.push((word >> i) & 1n ? 1 : -1);
      }
    }
    return z.slice(0, n);
  }

  chi(d: number): number {
    let squares = 0;
    for (let i = 0; i < Math.floor(d / 2); i++) {
      squares += 2 * this.exponential();
    }
    return Math.sqrt(squares + (d % 2 === 1 ? this.normals(1)[0]! ** 2 : 0));
  }
}

/** Two sweeps of a Hadamard matrix with random signs, and a permutation between them. */
export class Rotation {
  readonly #h: number;
  readonly #places: number[];
  readonly #first: [number[], number[] | undefined];
  readonly #second: [number[], number[] | undefined];

  constructor(readonly d: number, stream: Stream) {
    this.#h = 2 ** Math.floor(Math.log2(d));
    const signs = (): [number[], number[] | undefined] => [stream.signs(this.#h), this.#h < d ? stream.signs(this.#h) : undefined];
    this.#first = signs();
    this.#places = Array.from({ length: d }, (_, i) => i);
    for (let i = d - 1; i > 0; i--) {
      const j = Number((stream.word() * BigInt(i + 1)) >> 64n);
      [this.#places[i], this.#places[j]] = [this.#places[j]!, this.#places[i]!];
    }
    this.#second = signs();
  }

  apply(x: readonly number[]): number[] {
    const v = this.#sweep([...x], this.#first);
    return this.#sweep(this.#places.map((p) => v[p]!), this.#second);
  }

  #sweep(v: number[], [first, last]: [number[], number[] | undefined]): number[] {
    transform(v, 0, first);
    if (last !== undefined) {
      transform(v, v.length - this.#h, last);
    }
    return v;
  }
}

/** Multiplies as many coordinates as there are signs, from one on, by these, then by Sylvester's matrix over its root. */
function transform(v: number[], from: number, signs: readonly number[]): void {
  const h = signs.length;
  for (let i = 0; i < h; i++) {
    v[from + i]! *= signs[i]! / Math.sqrt(h);
  }
  for (let step = 1; step < h; step *= 2) {
    for (let i = 0; i < h; i += 2 * step) {
      for (let j = from + i; j < from + i + step; j++) {
        [v[j], v[j + step]] = [v[j]! + v[j + step]!, v[j]! - v[j + step]!];
      }
    }
  }
}
