// One bit in each channel: what devices send so that ones can be counted.
import { threshold } from "./draw";
import { negativeBinomial, poisson, risingFlood } from "./noise";
import type { Words } from "./random";

/** A message of a density or a histogram. */
export interface Said {
  readonly channel: number;
  readonly symbol: number;
}

/** The protocol that a plan names, with its numbers; see docs/wire-reports.md. */
export interface Bitsum {
  readonly name: string;
  readonly flip_probability?: number;
  readonly noise?: number;
  readonly flood_shape?: number;
  readonly flood_probability?: number;
  readonly channel_epsilon?: number;
  readonly theta?: number;
  readonly drop?: number;
  readonly size?: number;
  readonly mean?: number;
  readonly shape?: number;
  readonly probability?: number;
}

const inside = (feature: number): number => {
  const x = 1 + Math.fround(feature);
  if (Number.isNaN(x)) {
    throw new RangeError("a feature is a number");
  }
  return Math.max(0, Math.min(2, x));
};

/** A one for a feature m with probability (1+m)/2. */
export function rounded(features: readonly number[], from: Words): boolean[] {
  return features.map((m) => from.under(BigInt(Math.trunc(inside(m) * 2 ** 62))));
}

/** A one for a feature m with probability p + (1-2p)(1+m)/2, p being the flip, as an integer over 2^63 that is never outside of p and 1-p. */
export function flippedBits(flip: number, features: readonly number[], from: Words): boolean[] {
  if (!(flip >= 0 && flip < 0.5)) {
    throw new RangeError("a flip is from 0 to below 1/2");
  }
  const least = BigInt(Math.ceil(flip * 2 ** 63)), span = (1n << 63n) - 2n * least;
  return features.map((m) => {
    const share = (span * BigInt(Math.trunc(inside(m) * 2 ** 61))) >> 62n;
    return from.under(least + share);
  });
}

/** The messages of a device with these features, among so many whose noise is relied upon, in an order that tells. */
export function bitsum(b: Bitsum, users: number, features: readonly number[], from: Words): Said[] {
  if (b.name === "rr") {
    return flippedBits(b.flip_probability ?? 0, features, from).map((one, channel) => ({ channel, symbol: one ? 1 : 0 }));
  }
  const bits = rounded(features, from), said: Said[] = [];
  const say = (channel: number, symbol: number, times = 1) => {
    for (let i = 0; i < times; i++) {
      said.push({ channel, symbol });
    }
  };
  const pairs = (channel: number, times: number) => {
    for (let i = 0; i < times; i++) {
      said.push({ channel, symbol: 0 }, { channel, symbol: 1 });
    }
  };
  const ones = () => bits.forEach((one, channel) => one && say(channel, 1));
  const noise = (symbols: readonly number[], r: number, p: number) =>
    symbols.forEach((symbol) => negativeBinomial(r, p, bits.length, from, (channel, size) => say(channel, symbol, size)));
  switch (b.name) {
    case "poisson":
      ones();
      for (let left = poisson(b.mean! * (bits.length / users), from); left > 0; left--) {
        say(from.below(bits.length), 1);
      }
      return said;
    case "nb":
      ones();
      noise([1], b.shape! * (1 / users), b.probability!);
      return said;
    case "3nb":
      ones();
      noise([0, 1], 1 / users, Math.exp(-b.noise!));
      negativeBinomial(b.flood_shape! / users, b.flood_probability ?? 0, bits.length, from, pairs);
      return said;
    case "pure": {
      const drop = threshold(b.drop ?? 0);
      bits.forEach((one, channel) => {
        if (!from.bernoulli(drop)) {
          pairs(channel, b.size!);
          say(channel, 1, one ? 1 : 0);
        }
      });
      noise([0, 1], 1 / users, Math.exp(-(b.channel_epsilon! - b.theta!)));
      risingFlood(1 / users, b.theta!, b.size!, bits.length, from, pairs);
      return said;
    }
  }
  throw new RangeError(`no bitsum ${b.name} is known here`);
}
