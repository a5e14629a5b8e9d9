// Experiments: a respondent's arm and metrics become a vector of few numbers, of length at most one, or of whole numbers where these are summed.
import type { Plan } from "./plan";

interface Metric {
  readonly low: number;
  readonly high: number;
  readonly before?: string;
  readonly times?: number;
  readonly most?: number;
  readonly per?: string;
  readonly rate?: number;
}

/** What 1 is told as where vectors are of whole numbers. */
const scale = 65535;

/** The vector of an arm, by number, and of all numbers that the metrics name, in their order. What does not fit is zero. */
export function experimentVector(plan: Plan, arm: number | undefined, numbers: readonly number[]): number[] {
  const { arms, metrics } = plan.question["experiment"] as { arms: readonly string[]; metrics: readonly Metric[] };
  const vector = new Array<number>(arms.length * metrics.length * 3).fill(0), weight = Math.sqrt(1 / metrics.length), units: number[] = [];
  let at = 0;
  for (const m of metrics) {
    let left = numbers[at++] ?? NaN;
    if (m.before !== undefined) {
      left -= (m.times ?? 0) * Math.min(numbers[at++] ?? NaN, m.most ?? 0);
    }
    if (m.per !== undefined) {
      left -= (m.rate ?? 0) * (numbers[at++] ?? NaN);
    }
    units.push(Number.isFinite(left) ? Math.max(0, Math.min(1, (left - m.low) / (m.high - m.low))) : NaN);
  }
  if (arm === undefined || !Number.isInteger(arm) || arm < 0 || arm >= arms.length || at !== numbers.length || units.some(Number.isNaN)) {
    return vector;
  }
  units.forEach((u, i) => {
    const from = (arm * metrics.length + i) * 3;
    if (plan.route.sum === undefined) {
      [u, 1 - u, Math.sqrt(8) * u * (1 - u)].forEach((x, k) => { vector[from + k] = Math.fround(weight * x); });
      return;
    }
    const a = Math.floor(u * scale + 0.5), b = scale - a;
    [a, b, Math.floor((Math.sqrt(8) * a * b) / scale)].forEach((x, k) => { vector[from + k] = x; });
  });
  return vector;
}
