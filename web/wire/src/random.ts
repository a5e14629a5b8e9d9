// Randomness that somebody sees or that hides something: the platform's cryptographic generator, and nothing else.

/** n bytes; crypto gives 65,536 at a time. */
export function randomBytes(n: number): Uint8Array<ArrayBuffer> {
  const b = new Uint8Array(n);
  for (let at = 0; at < n; at += 65536) {
    crypto.getRandomValues(b.subarray(at, Math.min(n, at + 65536)));
  }
  return b;
}

/** A whole number below n, each equally likely: what would make some likelier is drawn again. n is from 1 to 2^32. */
export function below(n: number): number {
  if (!Number.isInteger(n) || n < 1 || n > 2 ** 32) {
    throw new RangeError("need a number of outcomes from 1 to 2^32");
  }
  const whole = 2 ** 32 - (2 ** 32 % n);
  const draw = new Uint32Array(1);
  do {
    crypto.getRandomValues(draw);
  } while (draw[0]! >= whole);
  return draw[0]! % n;
}

/** Puts the items into an order of which each is equally likely. */
export function shuffle<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [items[i], items[j]] = [items[j]!, items[i]!];
  }
  return items;
}
