// A respondent's record as the vector that a plan asks for.
import { UnfitError } from "./features";
import type { Plan } from "./plan";
import { classVector, gradientVector, momentVector, normalized, squareVector } from "./record";
import { vectorRound } from "./report";
import type { VectorState } from "./state";

interface Asked {
  readonly features: number;
  readonly classes?: readonly string[];
  readonly number?: { readonly low: number; readonly high: number };
}

/** What a respondent holds. */
export interface Held {
  readonly features: readonly number[];
  readonly class?: number;
  readonly number?: number;
}

/**
 * The vector of a record, of length at most one, for a plan of vectors, or of sums of labels. One that does not fit, for
 * which the plan has no nearest one, throws an UnfitError: whoever holds it answers with the zero vector, which is empty.
 */
export function recordVector(plan: Plan, state: VectorState, held: Held): number[] {
  const label = plan.question.kind === "label";
  const ask = plan.question[label ? "label" : "vector"] as Asked;
  const sums = label ? (plan.question["label"] as { sum: { sums: string } }).sum.sums : vectorRound(plan).sums;
  const k = ask.classes?.length ?? 0, scaled = sums === "features" || sums === "squares";
  const x = held.features.map(Math.fround), squares = x.reduce((s, v) => s + v * v, 0);
  if (x.length !== (state.numbers ?? ask.features) || !Number.isFinite(squares)) {
    throw new UnfitError("need as many finite numbers as the plan has features");
  }
  if ((k > 0 && !(held.class! >= 0 && held.class! < k)) || (ask.number !== undefined && !Number.isFinite(held.number))) {
    throw new UnfitError("the class is none of the plan's, or the number is not finite");
  }
  const mapped = state.numbers !== undefined;
  let psi = scaled && !mapped ? x : state.features(x);
  if (!mapped && scaled && squares > 1 + 1e-6) {
    if (plan.question.unfit !== "clip") {
      throw new UnfitError("longer than one");
    }
    psi = normalized(x);
  }
  if (!mapped && !scaled && squares === 0) {
    throw new UnfitError("features without a direction");
  }
  switch (sums) {
    case "features":
      return psi;
    case "classes":
      return classVector(psi, k, held.class!);
    case "moments":
      return momentVector(psi, k, held.class!);
    case "squares":
      return squareVector(psi, target(ask, held));
    case "gradients":
      if (state.point === undefined) {
        throw new RangeError("a round of gradients needs the state that says where");
      }
      return gradientVector(state.point.features(psi), state.point.weights, k, held.class!);
  }
  throw new RangeError(`no sums of ${sums} are known here`);
}

/** The number in [-1, 1] that features are to tell: of two classes the ends. */
function target(ask: Asked, held: Held): number {
  if (ask.number === undefined) {
    return 2 * held.class! - 1;
  }
  const { low = 0, high = 0 } = ask.number, half = (high - low) / 2;
  return (Math.max(low, Math.min(high, held.number!)) - low - half) / half;
}
