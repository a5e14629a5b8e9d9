// The laws of what is drawn: of the primitives, as functions of words, and of every mechanism, over all that the primitives may give.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHex, toHex } from "../src/bytes";
import { bitsum, flippedBits } from "../src/bitsum";
import { signReport } from "../src/direction";
import { complement, mask, Powers, Skipper, threshold } from "../src/draw";
import { gridReport, latentReport, snap, subsetReport } from "../src/latent";
import { decay, discreteGaussian, discreteLaplace, negativeBinomial, poisson, risingFlood } from "../src/noise";
import { ByteWords, type Threshold, Words } from "../src/random";
import { hadamard, hashed, krr, OneHot, subset } from "../src/randomize";
import { localHash } from "../src/sketch";

const max64 = (1n << 64n) - 1n;

/** These words, and whether all were read. */
class Given extends Words {
  #at = 0;
  constructor(readonly words: readonly bigint[]) {
    super();
  }
  word(): bigint {
    assert.ok(this.#at < this.words.length, "another word is read than is due");
    return this.words[this.#at++]!;
  }
  get done(): boolean {
    return this.#at === this.words.length;
  }
}

test("thresholds are the numbers that they are given", () => {
  const unit = 1n << 128n;
  for (const [p, want] of [[0, 0n], [1, unit], [0.5, unit / 2n], [1 - 2 ** -53, unit - (1n << 75n)], [2 ** -128, 1n], [1.5 * 2 ** -128, 2n], [2.5 * 2 ** -128, 2n], [2 ** -129, 0n], [2 ** -130, 0n], [5e-324, 0n], [0.1, 0x1999999999999an << 72n]] as [number, bigint][]) {
    assert.equal(threshold(p), want, String(p));
    assert.equal(complement(threshold(p)), unit - want);
  }
  for (const p of [-1e-300, 1 + 2 ** -52, NaN, Infinity]) {
    assert.throws(() => threshold(p), RangeError);
  }
});

// Of 2^128 pairs of words so many are hits as the threshold says: all with an upper one below, and of the tie those with a lower one.
test("a hit is as likely as its threshold says, to the last bit", () => {
  const t = (0x123456789abcdef0n << 64n) | 77n, high = t >> 64n;
  for (const [words, hit] of [[[0n], true], [[high - 1n], true], [[high, 0n], true], [[high, 76n], true], [[high, 77n], false], [[high, max64], false], [[high + 1n], false], [[max64], false]] as [bigint[], boolean][]) {
    const from = new Given(words);
    assert.equal(from.bernoulli(t), hit, words.join());
    assert.ok(from.done);
  }
  for (const word of [0n, max64]) {
    assert.equal(new Given([word]).bernoulli(threshold(1)), true);
    assert.equal(new Given([word, 0n]).bernoulli(threshold(0)), false);
  }
});

// Each outcome has the same number of words: of the interval of words whose product with n has it for the upper half, those
// whose lower half is not too small. Only the first of an interval can be.
test("every number below n has as many words as any other", () => {
  for (const n of [3n, 5n, 6n, 7n, 1000n, (1n << 61n) - 1n, (1n << 63n) + 1n]) {
    const least = (1n << 64n) % n;
    const counts = new Set<bigint>();
    for (let v = 0n; v < n && v < 2000n; v++) {
      const first = ((v << 64n) + n - 1n) / n, beyond = (((v + 1n) << 64n) + n - 1n) / n;
      const refused = first * n - (v << 64n) < least ? 1n : 0n;
      if (refused) {
        const from = new Given([first, max64]);
        assert.equal(from.belowBig(n), n - 1n, `${first} is drawn again`);
        assert.ok(from.done);
      }
      for (const word of [first + refused, beyond - 1n]) {
        assert.equal(new Given([word]).belowBig(n), v);
      }
      counts.add(beyond - first - refused);
    }
    assert.equal(counts.size, 1, `${n}: ${[...counts]}`);
  }
  for (const n of [1n, 2n, 64n, 1n << 64n]) { // the lower bits
    assert.equal(new Given([max64 - 1n]).belowBig(n), (max64 - 1n) & (n - 1n));
  }
  assert.throws(() => new Given([]).below(0), RangeError);
  assert.throws(() => new Given([]).below(1.5), RangeError);
  assert.throws(() => new ByteWords(new Uint8Array(7)).word(), RangeError);
  assert.equal(new ByteWords(fromHex("0100000000000080")).word(), (1n << 63n) + 1n);
});

// Words that give the 64 bits of a mask all digits of four places: j of 16 bits are ones where the probability is j/16.
test("bits of a mask are ones as often as they should be", () => {
  const words = [0, 1, 2, 3].map((place) => Array.from({ length: 64 }, (_, i) => BigInt((i >> (3 - place)) & 1) << BigInt(i)).reduce((a, b) => a | b));
  for (let j = 0; j <= 16; j++) {
    const ones = mask(threshold(j / 16), new Given([...words, 0n])).toString(2).replaceAll("0", "").length;
    assert.equal(ones, 4 * j);
  }
});

// The words for which a bit is one are those below a number of them: found by halving, and compared with the probability.
test("a flipped bit of a feature is as likely as it should be, and never likelier than its flip allows", () => {
  for (const flip of [0, 0.25, 0.1, 1e-9, 0.4999]) {
    for (const m of [-1, -0.3, 0, 0.5, 1, 7]) {
      let [low, high] = [0n, 1n << 64n]; // one below low, zero from high
      while (high - low > 1n) {
        const middle = (low + high) >> 1n;
        if (flippedBits(flip, [m], new Given([middle - 1n]))[0]) {
          low = middle;
        } else {
          high = middle;
        }
      }
      const p = Number(low) / 2 ** 64, want = flip + ((1 - 2 * flip) * (1 + Math.max(-1, Math.min(1, Math.fround(m))))) / 2;
      assert.ok(Math.abs(p - want) <= 2 ** -52, `${flip}, ${m}: ${p}, not ${want}`);
      assert.ok(low >= BigInt(Math.ceil(flip * 2 ** 63)) * 2n && (1n << 64n) - low >= BigInt(Math.ceil(flip * 2 ** 63)) * 2n, "outside of the flip");
    }
  }
  assert.throws(() => flippedBits(0.5, [0], new Given([0n])), RangeError);
  assert.throws(() => flippedBits(0.1, [NaN], new Given([0n])), RangeError);
});

class Lost extends Error {}

/** Takes each branch of each draw, one run after the other. */
class Branches extends Words {
  weight = 1;
  #path: { taken: number; weights: readonly number[] }[] = [];
  #at = 0;

  constructor(readonly least: number, readonly each = false) {
    super();
  }

  /** Seeds of directions are uniform whatever a device holds: one stands for all. */
  word(): bigint {
    return 5n;
  }

  #choose(weights: readonly number[]): number {
    if (this.#at === this.#path.length) {
      this.#path.push({ taken: weights.findIndex((w) => w > 0), weights });
    }
    const { taken } = this.#path[this.#at++]!;
    this.weight *= weights[taken]!;
    if (this.weight < this.least) {
      throw new Lost();
    }
    return taken;
  }

  override coin(): boolean {
    return this.#choose([0.5, 0.5]) === 1;
  }
  override odds(t: Threshold): boolean {
    if (this.each) {
      return super.odds(t);
    }
    const x = Number(t) / 2 ** 128;
    return this.#choose([1 / (1 + x), x / (1 + x)]) === 1;
  }
  override bernoulli(t: Threshold): boolean {
    const p = Number(t) / 2 ** 128;
    return this.#choose([1 - p, p]) === 1;
  }
  override under(t: bigint): boolean {
    const p = Number(t) / 2 ** 63;
    return this.#choose([1 - p, p]) === 1;
  }
  override belowBig(n: bigint): bigint {
    assert.ok(n <= 4096n);
    return BigInt(this.#choose(new Array<number>(Number(n)).fill(1 / Number(n))));
  }

  /** Goes on to the next run; false after the last one. */
  next(): boolean {
    this.#path.length = Math.min(this.#path.length, this.#at);
    this.weight = 1;
    this.#at = 0;
    for (let last = this.#path.at(-1); last !== undefined; last = this.#path.at(-1)) {
      const more = last.weights.findIndex((w, i) => i > last!.taken && w > 0);
      if (more >= 0) {
        last.taken = more;
        return true;
      }
      this.#path.pop();
    }
    return false;
  }
}

/** The law of what is drawn, and how much of it was left out since it is too rare. */
async function lawOf(draw: (from: Words) => unknown, least = 1e-13): Promise<{ of: (outcome: unknown) => number; all: Map<string, number>; lost: number }> {
  const all = new Map<string, number>(), from = new Branches(least);
  let sum = 0;
  do {
    try {
      const outcome = JSON.stringify(await draw(from));
      all.set(outcome, (all.get(outcome) ?? 0) + from.weight);
      sum += from.weight;
    } catch (e) {
      if (!(e instanceof Lost)) {
        throw e;
      }
    }
  } while (from.next());
  return { of: (outcome) => all.get(JSON.stringify(outcome)) ?? 0, all, lost: 1 - sum };
}

test("odds are those of two coins", async () => {
  for (const x of [0, 0.25, 0.9, 1]) {
    const from = new Branches(1e-13, true);
    let yes = 0;
    do {
      try {
        yes += from.odds(threshold(x)) ? from.weight : 0;
      } catch (e) {
        assert.ok(e instanceof Lost);
      }
    } while (from.next());
    near(yes, x / (1 + x), 1e-9, `odds of ${x}`);
  }
});

const near = (got: number, want: number, tolerance: number, what: string) => assert.ok(Math.abs(got - want) <= tolerance, `${what}: ${got}, not ${want}`);

const epsilon = 1.3, e = Math.exp(epsilon);

test("randomized response says the own symbol e^epsilon times as often as each other", async () => {
  for (const k of [2, 3, 7]) {
    const law = await lawOf((from) => krr(k, epsilon, 1, from));
    for (let y = 0; y < k; y++) {
      near(law.of(y), (y === 1 ? e : 1) / (e + k - 1), 1e-14, `symbol ${y} of ${k}`);
      assert.ok(law.of(1) / law.of(y) <= e * (1 + 1e-14));
    }
    assert.ok(Math.abs((await lawOf((from) => krr(k, epsilon * 1.001, 1, from))).of(1) - law.of(1)) > 1e-6, "a twin of another epsilon is told apart");
  }
});

test("a set with the own cell is e^epsilon times as likely as one without", async () => {
  const [k, w] = [5, 2]; // of 10 sets, 4 have the cell
  const sorted = (from: Words) => subset(k, w, epsilon, 3, from).sort((a, b) => a - b);
  const law = await lawOf(sorted);
  assert.equal(law.all.size, 10);
  const total = 4 * e + 6;
  for (const [set, p] of law.all) {
    near(p, (set.includes("3") ? e : 1) / total, 1e-14, set);
  }
  const twin = await lawOf((from) => subset(k, w, 1.01 * epsilon, 3, from).sort((a, b) => a - b));
  assert.ok(Math.abs(twin.of([0, 3]) - law.of([0, 3])) > 1e-4, "a twin that favours its cell more is told apart");
  const bits = await lawOf((from) => toHex(subsetReport(k, w, epsilon, undefined, from)));
  near(bits.of("03"), 0.1, 1e-14, "of any symbol every set is as likely");
});

test("a column with a plus in the own row is e^epsilon times as likely", async () => {
  const law = await lawOf((from) => hadamard(3, epsilon, 1, from));
  for (let column = 0; column < 4; column++) {
    near(law.of(column), ((column & 2) === 0 ? e : 1) / (2 * (e + 1)), 1e-14, `column ${column}`);
  }
  assert.equal(law.all.size, 4);
  assert.ok(Math.abs((await lawOf((from) => hadamard(3, 1.01 * epsilon, 1, from))).of(0) - law.of(0)) > 1e-4, "a twin of another epsilon is told apart");
});

test("local hashing draws a function, and its symbol by randomized response", async () => {
  const seed = new Uint8Array(32).fill(9), [g, functions] = [3, 4];
  const law = await lawOf((from) => hashed(seed, g, functions, 10, epsilon, 6, from));
  for (let fn = 0; fn < functions; fn++) {
    for (let y = 0; y < g; y++) {
      near(law.of(fn * g + y), (localHash(seed, fn, g, 6) === y ? e : 1) / (e + g - 1) / functions, 1e-14, `function ${fn}, symbol ${y}`);
    }
  }
});

test("trials succeed by themselves, in any block", async () => {
  const p = 0.3, trials = 5;
  const law = await lawOf((from) => [...new Skipper(threshold(p)).successes(trials, from)], 1e-10);
  assert.ok(law.lost < 1e-6);
  for (let set = 0; set < 1 << trials; set++) {
    const list = Array.from({ length: trials }, (_, i) => i).filter((i) => (set >> i) & 1);
    near(law.of(list), p ** list.length * (1 - p) ** (trials - list.length), 1e-6, list.join());
  }
});

test("set bits are kept and others flipped, by themselves", async () => {
  const [keep, flip] = [0.75, 0.2], bits = new OneHot(3, keep, flip);
  const law = await lawOf((from) => bits.draw([1], from), 1e-10);
  for (let set = 0; set < 8; set++) {
    const list = [0, 1, 2].filter((i) => (set >> i) & 1);
    const want = [0, 1, 2].reduce((p, i) => { const q = i === 1 ? keep : flip; return p * ((set >> i) & 1 ? q : 1 - q); }, 1);
    near(law.of(list), want, 1e-6, list.join());
  }
  const twin = await lawOf((from) => new OneHot(3, keep, 1.01 * flip).draw([1], from), 1e-10);
  assert.ok(Math.abs(twin.of([1]) - law.of([1])) > 1e-4, "a twin that lies more often is told apart");
  for (const held of [[3], [-1], [1, 1], [0.5]]) {
    assert.throws(() => bits.draw(held, new Given([])), RangeError);
  }
});

const factorial = (k: number): number => (k < 2 ? 1 : k * factorial(k - 1));

test("noise has its laws", async () => {
  const mean = await lawOf((from) => poisson(0.4, from), 2e-6);
  for (let k = 0; k < 5; k++) {
    near(mean.of(k), (Math.exp(-0.4) * 0.4 ** k) / factorial(k), mean.lost, `poisson, ${k}`);
  }
  assert.ok(mean.lost < 0.05, String(mean.lost));
  const [r, p] = [0.1, 0.25];
  const binomial = await lawOf((from) => { let k = 0; negativeBinomial(r, p, 1, from, (_, size) => { k += size; }); return k; }, 3e-6);
  for (let k = 0, rising = 1; k < 4; rising *= (r + k) / (k + 1), k++) {
    near(binomial.of(k), rising * (1 - p) ** r * p ** k, binomial.lost + 1e-9, `negative binomial, ${k}`);
  }
  assert.ok(binomial.lost < 0.05, String(binomial.lost));
  const d = 2.5, powers = new Powers(decay(d));
  const laplace = await lawOf((from) => Number(discreteLaplace(powers, from)), 1e-12);
  for (const k of [-2, -1, 0, 1, 2]) {
    near(laplace.of(k), Math.tanh(d / 2) * Math.exp(-d * Math.abs(k)), laplace.lost + 1e-12, `laplace, ${k}`);
  }
  assert.ok(laplace.lost < 1e-6, String(laplace.lost));
  const sigma = 0.75, gaussian = await lawOf((from) => { // of the first candidate: what is refused begins anew
    const below = from.belowBig.bind(from);
    let drawn = 0;
    from.belowBig = (n) => { if (drawn++ > 0) { throw new Lost(); } return below(n); };
    try {
      return Number(discreteGaussian(sigma, from));
    } finally {
      Reflect.deleteProperty(from, "belowBig");
    }
  }, 1e-300);
  for (let k = -11; k <= 11; k++) {
    near(gaussian.of(k) * 23, Math.exp(-k * k / (2 * sigma * sigma)), 1e-12, `gaussian, ${k}`);
  }
  const flood = await lawOf((from) => { let k = 0; risingFlood(0.05, 0.5, 2, 1, from, (_, size) => { k += size; }); return k; }, 3e-6);
  const clusters = [0.05 * Math.exp(0.5), (0.05 * Math.exp(1)) / 2], none = Math.exp(-clusters[0]! - clusters[1]!);
  near(flood.of(0), none, flood.lost + 1e-9, "no flood");
  near(flood.of(1), none * clusters[0]!, flood.lost + 1e-9, "a flood of one");
  near(flood.of(2), none * (clusters[1]! + clusters[0]! ** 2 / 2), flood.lost + 1e-9, "a flood of two");
  assert.ok(flood.lost < 0.1, String(flood.lost));
});

test("bits of features are sent as each protocol says", async () => {
  const flips = await lawOf((from) => bitsum({ name: "rr", flip_probability: 0.25 }, 2, [0.5, -1], from).map((s) => s.symbol));
  near(flips.of([1, 0]), (0.25 + 0.5 * 0.75) * 0.75, 1e-14, "rr");
  const single = await lawOf((from) => bitsum({ name: "poisson", mean: 0.6 }, 2, [0], from).length, 3e-6);
  near(single.of(0), Math.exp(-0.3) / 2, single.lost + 1e-9, "poisson");
  assert.throws(() => bitsum({ name: "gauss" }, 2, [0], new Given([1n])), RangeError);
});

test("of the two signs of a direction one is e^epsilon times as likely, more so the longer a vector is", async () => {
  for (const x of [[2, 0, 0], [0.5, 0, 0], [0, 0, 0]]) {
    const law = await lawOf(async (from) => toHex(await signReport(1, epsilon, x, from)).slice(0, 2));
    const twin = await lawOf(async (from) => toHex(await signReport(1, epsilon, x.map((v) => -v), from)).slice(0, 2));
    const first = (1 + Math.min(1, Math.abs(x[0]!))) / 2, likelier = (first * e + (1 - first)) / (1 + e);
    near(Math.max(law.of("00"), law.of("01")), Math.max(likelier, 1 - likelier), 1e-14, "the favoured sign");
    near(law.of("00"), twin.of("01"), 1e-14, "the other end");
  }
});

test("points of the grid are no further apart than they may be, and their noise hides which it was", async () => {
  for (const x of [[1, 1, 1], [0.5, -0.5, 0.5], [100, 0, -3], [0, 0, 0], [NaN, 1, 0], [1e-9, 0, 0]]) {
    assert.ok(snap(3, 4, x).reduce((s, n) => s + Math.abs(n), 0) <= 4, x.join());
    assert.ok(snap(3, 4, x, 2).reduce((s, n) => s + n * n, 0) <= 16, x.join());
  }
  assert.deepEqual(snap(3, 4, [100, 0, 0]), [4, 0, 0]);
  assert.deepEqual(snap(3, 4, [1.9125, 1.9125, 1.2975], 2), [2, 2, 2]); // 3, 3, 2 have 22 in squares, and at most are 16
  const m = { mechanism: "laplace", dim: 1, length: 1, points: 1, epsilon: 5 };
  const law = await lawOf((from) => toHex(gridReport(m, [5], from)), 1e-12);
  near(Math.log(law.of("00000001") / law.of("00000000")), 2.5, 1e-9, "a step");
  near(Math.log(law.of("00000000") / law.of("ffffffff")), 2.5, 1e-9, "another");
  const both = await lawOf(async (from) => toHex(await latentReport({ ...m, class_epsilon: epsilon }, 2, [0], 1, from)), 1e-10);
  near(both.of("000000000001") / both.of("000000000000"), e, 1e-6, "the class");
  await assert.rejects(lawOf(async (from) => toHex(await latentReport({ ...m, mechanism: "cauchy" }, 0, [0], 0, from)), 1e-10), /cauchy are not known/);
});
