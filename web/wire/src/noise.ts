// Whole numbers of the laws that devices' noise has.
import { complement, Powers, threshold } from "./draw";
import type { Threshold, Words } from "./random";

/** e^-x, never below it; above by at most 2^-50 of x's decay. */
export function decay(x: number): Threshold {
  return x > Math.LN2 ? threshold(Math.exp(-x) * (1 + 2 ** -51)) : complement(threshold(-Math.expm1(-x) * (1 - 2 ** -51)));
}

/** Mean one, from uniform integers alone (Duchon and Duvignau 2016). */
function unitPoisson(from: Words): number {
  let g = 0, k = 1;
  for (let n = 1; ; n++) {
    const i = 1 + from.below(n + 1);
    if (i === n + 1) {
      k++;
    } else if (i > g) {
      k--;
      g = n + 1;
    } else {
      return k;
    }
  }
}

/** Poisson: as many of mean one as the mean has wholes, and of another each event with the probability of the fraction. */
export function poisson(mean: number, from: Words): number {
  if (!(mean >= 0 && mean <= 2 ** 40)) {
    throw new RangeError("a mean is from 0 to 2^40");
  }
  const whole = Math.floor(mean), fraction = mean - whole;
  let k = 0;
  for (let i = 0; i < whole; i++) {
    k += unitPoisson(from);
  }
  if (fraction > 0) {
    const keep = threshold(fraction);
    for (let events = unitPoisson(from); events > 0; events--) {
      k += from.bernoulli(keep) ? 1 : 0;
    }
  }
  return k;
}

type Emit = (channel: number, size: number) => void;

/** Negative binomial of shape r, P(k) = C(k+r-1, k) (1-p)^r p^k, in each channel: clusters whose sizes are logarithmic. */
export function negativeBinomial(r: number, p: number, channels: number, from: Words, emit: Emit): void {
  if (!(r > 0 && Number.isFinite(r) && p >= 0 && p < 1)) {
    throw new RangeError("a shape is above 0 and p from 0 to below 1");
  }
  const powers = new Powers(threshold(p));
  for (let left = poisson(channels * (-r * Math.log1p(-p)), from); left > 0; left--) {
    emit(from.below(channels), logarithmic(powers, from));
  }
}

/** k from 1 on with probability proportional to p^k / k: of a block [2^j, 2^(j+1)), kept with probability (2^j / k) p^k. */
function logarithmic(powers: Powers, from: Words): number {
  for (;;) {
    const first = 1n << BigInt(from.below(powers.levels));
    const k = first + from.belowBig(first);
    if ((k === 1n || from.belowBig(k) < first) && powers.bernoulli(k, from)) {
      return Number(k);
    }
  }
}

/** The sum over j = 1..size of j Poisson(rate e^(theta j)/j), in each channel. */
export function risingFlood(rate: number, theta: number, size: number, channels: number, from: Words, emit: Emit): void {
  const fall = new Powers(decay(theta));
  for (let first = 1; first <= size; first *= 2) {
    const top = Math.min(2 * first - 1, size), sizes = top - first + 1;
    for (let left = poisson((channels * rate * Math.exp(theta * top) * sizes) / first, from); left > 0; left--) {
      const j = first + from.below(sizes);
      if (from.below(j) < first && fall.bernoulli(BigInt(top - j), from)) {
        emit(from.below(channels), j);
      }
    }
  }
}

/** P(k) proportional to e^(-d |k|): the difference of two geometric numbers. Powers are of decay(d). */
export const discreteLaplace = (powers: Powers, from: Words): bigint => {
  const up = powers.geometric(from);
  return up - powers.geometric(from);
};

/** P(k) proportional to e^(-k^2 / 2 sigma^2) on all whole numbers: one is drawn up to 13.5 sigma on both sides, and kept as often as its weight is. */
export function discreteGaussian(sigma: number, from: Words): bigint {
  if (!(sigma >= 2 ** -8 && sigma <= 2 ** 24)) {
    throw new RangeError("sigma is from 2^-8 to 2^24");
  }
  const weight = new Powers(decay((0.5 / (sigma * sigma)) * (1 - 2 ** -51))), sizes = Math.floor(13.5 * sigma) + 2;
  for (;;) {
    const k = BigInt(from.below(2 * sizes - 1) - sizes + 1);
    if (weight.bernoulli(k * k, from)) {
      return k;
    }
  }
}
