// From what a respondent holds to an answer as a plan's question takes it. What does not fit is answered as the plan says, and says
// so to nobody; what is wrong with what everybody may know throws.
import { fromHex } from "./bytes";
import { tableVector } from "./crosscode";
import { cellsOf, type Domain } from "./domain";
import { experimentVector } from "./experiment";
import { features, type Kernel, nearest, UnfitError } from "./features";
import { domainOf } from "./histogram";
import type { Plan } from "./plan";
import { recordVector } from "./records";
import type { Answer } from "./report";
import { clusters, encoder, gradientModel, StateError, vectorState } from "./state";
import { stringVector } from "./treecode";

/** What a respondent holds. Which members a question takes, docs/wire-reports.md says. */
export interface Value {
  readonly crowd?: number; // public
  readonly answers?: readonly (readonly string[] | readonly number[])[]; // of a histogram, by attribute; an empty list is no answer. Of strings one, with the string; of a table one for each column
  readonly features?: readonly number[];
  readonly class?: number; // index of the plan's classes, or arms
  readonly number?: number;
  readonly record?: number; // which public record it is
}

/** Undefined where the value does not fit. */
function fitting<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (e) {
    if (e instanceof UnfitError) {
      return undefined;
    }
    throw e;
  }
}

/** The answer of a value, for report or measure. state is the one that the plan names. */
export function encode(plan: Plan, value: Value, state?: Uint8Array): Answer {
  switch (plan.question.kind) {
    case "histogram":
      return encodeHistogram(plan, value);
    case "density":
      return encodeDensity(plan, value);
    case "vector":
      return { kind: "vector", vector: fitting(() => recordVector(plan, vectorState(state), held(value))) ?? [] };
    case "strings":
      return { kind: "strings", vector: stringVector(plan, String(value.answers?.[0]?.[0] ?? "")) };
    case "table":
      return { kind: "table", vector: tableVector(plan, value.answers ?? []) };
    case "experiment":
      return { kind: "experiment", vector: experimentVector(plan, value.class, value.features ?? []) };
    case "gradient":
      return encodeGradient(plan, value, state);
    case "label":
      return encodeLabel(plan, value, state);
    case "latent":
      return encodeLatent(plan, value, state);
  }
  throw new RangeError(`questions of kind ${plan.question.kind} are not known here`);
}

function given(state: Uint8Array | undefined): Uint8Array {
  if (state === undefined) {
    throw new StateError("the state that the plan names is missing");
  }
  return state;
}

const held = (v: Value) => ({ features: v.features ?? [], ...(v.class !== undefined && { class: v.class }), ...(v.number !== undefined && { number: v.number }) });

/** A class of so many, or none. */
const classOf = (v: Value, classes: number): number | undefined => (Number.isInteger(v.class) && v.class! >= 0 && v.class! < classes ? v.class : undefined);

function encodeHistogram(plan: Plan, value: Value): Answer {
  const attributes = (plan.question["histogram"] as { attributes: readonly unknown[] }).attributes;
  if (value.answers?.length !== attributes.length) {
    throw new RangeError(`need answers to ${attributes.length} attributes`);
  }
  const cells = value.answers.map((answer, i) => cellsHeld(plan, domainOf(plan, i), answer));
  return { kind: "histogram", crowd: value.crowd ?? 0, cells };
}

function cellsHeld(plan: Plan, d: Domain, answer: readonly string[] | readonly number[]): number[] {
  const none = answer.length === 0 && d.kind !== "set";
  if (none && !d.others) {
    return [];
  }
  const all = fitting(() => cellsOf(d, none ? (d.kind === "categories" ? ["\u0003"] : [NaN, NaN]) : answer));
  if (all !== undefined || d.kind !== "set" || plan.question.unfit !== "clip") {
    return all ?? [];
  }
  const near = new Set<number>(); // the first items that have a cell, as many as a set may have
  for (const item of answer as readonly string[]) {
    const cell = fitting(() => cellsOf({ kind: "categories", values: d.values, others: d.others }, [item]));
    if (cell !== undefined && near.size < d.most) {
      near.add(cell[0]!);
    }
  }
  return [...near];
}

interface Density {
  readonly dimension: number;
  readonly normalize: boolean;
  readonly repetitions: number;
  readonly kernel: Omit<Kernel, "seed" | "dimension" | "repetitions" | "normalize"> & { readonly seed: string };
}

/** The kernel of a plan's density. */
export function kernelOf(plan: Plan): Kernel {
  const { dimension, normalize, repetitions, kernel } = plan.question["density"] as Density;
  return { ...kernel, seed: fromHex(kernel.seed), dimension, normalize, repetitions };
}

/** How many features a kernel gives. */
export function channelsOf(k: Kernel): number {
  if (k.name === "ip-identity" || k.name === "ip-rotated") {
    return k.dimension;
  }
  return k.repetitions * (k.name === "gaussian-paired" ? 2 : k.name === "laplacian" || k.name === "exponential" ? k.buckets! : 1);
}

function encodeDensity(plan: Plan, value: Value): Answer {
  const k = kernelOf(plan), own = classOf(value, Math.max(1, plan.crowd.names?.length ?? 0)), x = (value.features ?? []).map(Math.fround);
  const near = () => (plan.question.unfit === "clip" ? nearest(k, x) : undefined);
  const mapped = own === undefined ? undefined : (fitting(() => features(k, x)) ?? fitting(() => { const n = near(); return n && features(k, n); }));
  return { kind: "density", channels: channelsOf(k), ...(mapped && { features: mapped }), ...(own !== undefined && { class: own }) };
}

function encodeGradient(plan: Plan, value: Value, state?: Uint8Array): Answer {
  const ask = plan.question["gradient"] as { dimension: number; classes: readonly string[] };
  const model = gradientModel(given(state)), x = value.features ?? [], own = classOf(value, ask.classes.length);
  if (own === undefined || x.length !== ask.dimension || !x.every((v) => Number.isFinite(Math.fround(v)))) {
    return { kind: "gradient", gradient: model.gradient(new Array<number>(ask.dimension).fill(0), 0).map(() => 0) };
  }
  return { kind: "gradient", gradient: model.gradient(x, own) };
}

/** Features that everybody may know: as many as the plan has. */
function known(x: readonly number[] | undefined, n: number): readonly number[] {
  if (x?.length !== n) {
    throw new RangeError(`need ${n} features`);
  }
  return x;
}

const finite = (x: readonly number[]): boolean => Number.isFinite(Math.fround(x.reduce((s, v) => s + Math.fround(v) ** 2, 0)));

function encodeLabel(plan: Plan, value: Value, state?: Uint8Array): Answer {
  const ask = plan.question["label"] as { report: string; features?: number; classes: readonly string[] };
  const own = classOf(value, ask.classes.length), said = own === undefined ? {} : { class: own };
  switch (ask.report) {
    case "sums":
      return { kind: "label", vector: fitting(() => recordVector(plan, vectorState(state), held(value))) ?? [] };
    case "each":
      return { kind: "label", ...(value.record !== undefined && { number: value.record }), ...said };
  }
  const x = known(value.features, ask.features!);
  if (!finite(x)) {
    throw new RangeError("a feature is not finite, or too large");
  }
  return { kind: "label", cluster: clusters(given(state))(x), ...said };
}

function encodeLatent(plan: Plan, value: Value, state?: Uint8Array): Answer {
  const ask = plan.question["latent"] as { report: string; features: number; classes?: readonly string[] };
  const k = ask.classes?.length ?? 0, own = k === 0 ? 0 : classOf(value, k), x = known(value.features, ask.features);
  const public_ = { kind: "latent" as const, crowd: value.crowd ?? 0, ...(value.record !== undefined && { number: value.record }) };
  if (ask.report === "vector") {
    const vector = encoder(given(state))(x);
    return own === undefined || !vector.every(Number.isFinite) ? public_ : { ...public_, vector, class: own };
  }
  const find = clusters(given(state));
  if (own === undefined || !finite(x)) {
    return public_;
  }
  const c = find(x);
  return { ...public_, symbol: ask.report === "right" ? (c === own ? 1 : 0) : c * Math.max(1, k) + own };
}
