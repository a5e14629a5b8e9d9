// Randomness that somebody sees or that hides something: the platform's cryptographic generator, and nothing else. Integers are
// drawn and compared, no float is, so that each law is exact.

/** n bytes; crypto gives 65,536 at a time. */
export function randomBytes(n: number): Uint8Array<ArrayBuffer> {
  const b = new Uint8Array(n);
  for (let at = 0; at < n; at += 65536) {
    crypto.getRandomValues(b.subarray(at, Math.min(n, at + 65536)));
  }
  return b;
}

/** A probability as a multiple of 2^-128: from 0 to 2^128, both of which are exact. */
export type Threshold = bigint;

const all64 = (1n << 64n) - 1n;

/** A source of uniform words of 64 bits, and what is drawn from them. */
export abstract class Words {
  /** The next word. */
  abstract word(): bigint;

  /** The highest bit of a word. */
  coin(): boolean {
    return this.word() >> 63n === 1n;
  }

  /** True with that probability. Its lower 64 places count only when the upper ones tie. */
  bernoulli(t: Threshold): boolean {
    const u = this.word(), high = t >> 64n;
    return u === high ? this.word() < (t & all64) : u < high;
  }

  /** True with probability t/2^63, t up to 2^63. */
  under(t: bigint): boolean {
    return this.word() >> 1n < t;
  }

  /** True with odds t to one: the first of two coins to win, of which the second shows heads with that probability. */
  odds(t: Threshold): boolean {
    while (this.coin()) {
      if (this.bernoulli(t)) {
        return true;
      }
    }
    return false;
  }

  /** A whole number below n, from 1 to 2^64, each equally likely: of a power of two the lower bits of a word, else the upper 64 bits of a word times n; what would make some likelier is drawn again. */
  belowBig(n: bigint): bigint {
    if (n < 1n || n > 1n << 64n) {
      throw new RangeError("need a number of outcomes from 1 to 2^64");
    }
    if ((n & (n - 1n)) === 0n) {
      return this.word() & (n - 1n);
    }
    const least = (1n << 64n) % n;
    let product = this.word() * n;
    while ((product & all64) < least) {
      product = this.word() * n;
    }
    return product >> 64n;
  }

  /** As belowBig, of a number of outcomes up to 2^53. */
  below(n: number): number {
    if (!Number.isSafeInteger(n) || n < 1) {
      throw new RangeError("need a number of outcomes from 1 to 2^53");
    }
    return Number(this.belowBig(BigInt(n)));
  }

  /** Puts the items into an order of which each is equally likely. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [items[i], items[j]] = [items[j]!, items[i]!];
    }
    return items;
  }
}

/** The words of bytes, each little endian: for tests and replays. It throws a RangeError when all are read. */
export class ByteWords extends Words {
  #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array = new Uint8Array()) {
    super();
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Bytes that go on from those that are read. */
  protected more(): Uint8Array {
    throw new RangeError("no random bytes are left");
  }

  word(): bigint {
    if (this.#at + 8 > this.#view.byteLength) {
      const next = this.more();
      this.#view = new DataView(next.buffer, next.byteOffset, next.byteLength);
      this.#at = 0;
    }
    this.#at += 8;
    return this.#view.getBigUint64(this.#at - 8, true);
  }
}

class System extends ByteWords {
  protected override more(): Uint8Array {
    return randomBytes(2048);
  }
}

/** The words of the platform's generator. */
export const system: Words = new System();
