// What a device says to a plan, of every kind: bodies of messages, private already, or of a plan whose answers are summed a vector.
// A value comes encoded: as cells, features, a vector, a gradient, a class, or numbers of an encoder.
import { concat, fromHex, uint } from "./bytes";
import { type Bitsum, bitsum, type Said } from "./bitsum";
import { capReport, signReport } from "./direction";
import { Histogram, type Randomizer, type Settled } from "./histogram";
import { type Latents, latentReport, subsetReport } from "./latent";
import { channelBody } from "./messages";
import { negativeBinomial } from "./noise";
import type { Plan } from "./plan";
import { system, type Words } from "./random";
import { krr } from "./randomize";
import { rows, type Rows } from "./rows";

/** What is to be sealed: the crowd, and the bodies of each contribution. */
export interface Report {
  readonly crowd: number;
  readonly parts: readonly (readonly Uint8Array[])[];
}

/** An answer as a plan's question takes it. What does not fit is left out where "?" or undefined allows it, and is answered as docs/wire-reports.md says. */
export type Answer =
  | { readonly kind: "histogram"; readonly crowd?: number; readonly cells: readonly (readonly number[])[]; readonly settled?: readonly Settled[] }
  | { readonly kind: "density"; readonly features?: readonly number[]; readonly channels: number; readonly class?: number }
  | { readonly kind: "vector"; readonly vector: readonly number[] }
  | { readonly kind: "strings" | "table"; readonly vector: readonly number[] }
  | { readonly kind: "experiment"; readonly vector: readonly number[] }
  | { readonly kind: "gradient"; readonly gradient: readonly number[] }
  | { readonly kind: "label"; readonly class?: number; readonly cluster?: number; readonly number?: number; readonly vector?: readonly number[] }
  | { readonly kind: "latent"; readonly crowd?: number; readonly symbol?: number; readonly number?: number; readonly vector?: readonly number[]; readonly class?: number };

const bodies = (said: readonly Said[]): Uint8Array[] => said.map((s) => channelBody(s.channel, s.symbol));

/** How many respondents' noise is relied upon. */
const honest = (plan: Plan): number => Math.floor((1 - (plan.budget["dishonest_share"] as number)) * plan.crowd.minimum + 1e-9);

const crowds = (plan: Plan): number => Math.max(1, plan.crowd.names?.length ?? 0);

/** Messages of a device that count at most: envelopes, or what a proof allows. */
function mostMessages(plan: Plan): number {
  const c = plan.route.sum?.circuit;
  return c === undefined || plan.envelopes.per_device > 0 ? plan.envelopes.per_device : c.kind === "sumvec" ? c.length : c.kind === "multihot" ? c.weight : 1;
}

interface Round {
  readonly sums: string;
  readonly answered: number;
  readonly rows: number;
  readonly clip: number;
  readonly flip_probability: number;
}

/** The round of a plan of vectors: of a study its own, or the last of those that differ. */
export function vectorRound(plan: Plan): Round {
  const all = (plan.question["vector"] as { rounds: readonly Round[] }).rounds;
  return all[Math.min(plan.round?.number ?? 1, all.length) - 1]!;
}

function rowsOf(plan: Plan, seed: string, r: Round): Rows {
  return { seed: fromHex(seed), rows: r.rows, answered: r.answered, envelopes: Math.min(mostMessages(plan), r.rows), clip: r.clip, flip: r.flip_probability };
}

interface Gradient {
  readonly seed: string;
  readonly clip: number;
  readonly report: { readonly name: string; readonly epsilon?: number; readonly share?: number; readonly bits?: number; readonly radius?: number; readonly flip?: number };
}

/** The rows of vectors of so many numbers, of which so many are answered: a power of two. */
export const leastRows = (numbers: number, answered: number): number => 2 ** Math.ceil(Math.log2(Math.max(numbers, answered)));

/** A vector scaled down to a length, zero where it has none. */
function clipped(x: readonly number[], most: number): number[] {
  const far = Math.sqrt(x.reduce((s, v) => s + v * v, 0));
  if (!Number.isFinite(far)) {
    return x.map(() => 0);
  }
  const by = (most / far) * (1 - 2 ** -50);
  return far > most ? x.map((v) => v * by) : [...x];
}

async function gradientBodies(plan: Plan, gradient: readonly number[], from: Words): Promise<Uint8Array[]> {
  const ask = plan.question["gradient"] as Gradient, z = ask.report, g = clipped(gradient, ask.clip);
  switch (z.name) {
    case "direction":
      return [await signReport(ask.clip, z.epsilon!, g, from)];
    case "cap":
      return [await capReport(ask.clip, z.share!, z.epsilon!, g, from)];
    case "vector": {
      const least = leastRows(g.length, z.bits!);
      const m = rowsOf(plan, ask.seed, { sums: "", answered: z.bits!, rows: least, clip: z.radius!, flip_probability: z.flip! });
      return bodies(rows({ ...m, envelopes: mostMessages(plan) }, g.map((v) => v / ask.clip), from));
    }
  }
  throw new RangeError(`no report ${z.name} is known here`);
}

/** A plan of a histogram of one attribute, by which labels and symbols are told. */
export const counted = (plan: Plan, attribute: object, randomizer: Randomizer): Plan => ({ ...plan, question: { kind: "histogram", histogram: { attributes: [attribute], randomizer } } });

/** The plan of a histogram of labels. */
export const labelPlan = (plan: Plan): Plan => {
  const ask = plan.question["label"] as Label;
  return counted(plan, { name: "label", kind: "categories", values: ask.classes }, ask.randomizer!);
};

const histogram = (plan: Plan, crowd: number, cells: readonly (readonly number[])[], from: Words, settled?: readonly Settled[]): Report => {
  const h = new Histogram(plan);
  return { crowd, parts: h.say(settled ?? h.settle(cells, from), from).map(bodies) };
};

export interface Label { readonly classes: readonly string[]; readonly report: string; readonly records?: number; readonly randomizer?: Randomizer; readonly seed?: string; readonly sum?: Round }
export interface Latent { readonly classes?: readonly string[]; readonly report: string; readonly records?: number; readonly clusters?: number; readonly randomizer?: Randomizer; readonly vector?: Latents }

const numbered = (n: number | undefined, records: number): number => {
  if (n === undefined || !Number.isInteger(n) || n < 0 || n >= records) {
    throw new RangeError(`the record is none of the plan's ${records}`);
  }
  return n;
};

/** The report of an answer to a plan. What it says is drawn, and hides the answer as the plan promises; whether that is enough is for whoever checks the plan. */
export async function report(plan: Plan, answer: Answer, from: Words = system): Promise<Report> {
  if (answer.kind !== plan.question.kind) {
    throw new RangeError(`an answer to a ${answer.kind}, and the plan asks for a ${plan.question.kind}`);
  }
  switch (answer.kind) {
    case "histogram":
      return histogram(plan, inCrowd(plan, answer.crowd), answer.cells, from, answer.settled);
    case "density": {
      const epsilon = plan.budget["label_epsilon"], k = crowds(plan), own = answer.class;
      const crowd = own === undefined ? from.below(k) : epsilon === "none" || k === 1 ? inCrowd(plan, own) : krr(k, epsilon as number, own, from);
      const features = answer.features ?? new Array<number>(answer.channels).fill(0);
      return { crowd, parts: [bodies(bitsum((plan.question["density"] as { bitsum: Bitsum }).bitsum, honest(plan), features, from))] };
    }
    case "vector":
      return { crowd: 0, parts: [bodies(rows(rowsOf(plan, (plan.question["vector"] as { seed: string }).seed, vectorRound(plan)), answer.vector, from))] };
    case "strings":
    case "table": {
      const ask = plan.question[answer.kind] as Round & { readonly seed: string };
      return { crowd: 0, parts: [bodies(rows(rowsOf(plan, ask.seed, ask), answer.vector, from))] };
    }
    case "experiment": {
      const ask = plan.question["experiment"] as { readonly seed: string; readonly bits: Round };
      return { crowd: 0, parts: [bodies(rows({ ...rowsOf(plan, ask.seed, ask.bits), few: true }, answer.vector, from))] };
    }
    case "gradient":
      return { crowd: 0, parts: [await gradientBodies(plan, answer.gradient, from)] };
    case "label": {
      const ask = plan.question["label"] as Label, k = ask.classes.length;
      const own = answer.class;
      if (ask.report === "sums") {
        return { crowd: 0, parts: [bodies(rows(rowsOf(plan, ask.seed!, ask.sum!), answer.vector ?? [], from))] };
      }
      if (ask.report === "each") {
        const n = numbered(answer.number, ask.records!);
        return { crowd: 0, parts: [[channelBody(n * k + krr(k, ask.randomizer!.epsilon, own ?? from.below(k), from), 0)]] };
      }
      return histogram(labelPlan(plan), inCrowd(plan, answer.cluster), [own === undefined ? [] : [own]], from);
    }
    case "latent": {
      const ask = plan.question["latent"] as Latent, k = ask.classes?.length ?? 0, z = ask.randomizer;
      const crowd = inCrowd(plan, answer.crowd), symbols = ask.report === "right" ? 2 : (ask.clusters ?? 0) * Math.max(1, k);
      const number = ask.records ? uint(numbered(answer.number, ask.records), 4) : new Uint8Array();
      if (ask.report === "vector") {
        const told = await latentReport(ask.vector!, k, answer.vector ?? new Array<number>(ask.vector!.dim).fill(0), answer.vector && answer.class, from);
        return { crowd, parts: [[concat(number, told)]] };
      }
      if (ask.records) {
        return { crowd, parts: [[concat(number, subsetReport(symbols, z!.subset!, z!.epsilon, answer.symbol, from))]] };
      }
      return histogram(counted(plan, { name: "symbol", kind: "categories", size: symbols }, z!), crowd, [answer.symbol === undefined ? [] : [answer.symbol]], from);
    }
  }
}

function inCrowd(plan: Plan, crowd = 0): number {
  if (!Number.isInteger(crowd) || crowd < 0 || crowd >= crowds(plan)) {
    throw new RangeError(`the crowd is not one of the plan's ${crowds(plan)}`);
  }
  return crowd;
}

/** The vector of an answer to a plan whose answers are summed, and its crowd: for sumReport. */
export async function measure(plan: Plan, answer: Answer, from: Words = system): Promise<{ crowd: number; vector: number[] }> {
  const sum = plan.route.sum;
  if (sum === undefined) {
    throw new RangeError("the plan's answers are not summed");
  }
  if (answer.kind === "experiment") {
    return { crowd: 0, vector: [...answer.vector] };
  }
  if (answer.kind === "strings") { // a one for each entry: nothing is drawn
    return { crowd: 0, vector: answer.vector.map((x) => (x > 0 ? 1 : 0)) };
  }
  const c = sum.circuit, noised = answer.kind === "histogram" && (sum.noise !== "devices" || (plan.question["histogram"] as { randomizer: Randomizer }).randomizer.name === "none");
  const { crowd, parts } = await report(plan, answer, from);
  let said = parts[0]!.map((b) => ({ channel: new DataView(b.buffer, b.byteOffset).getUint32(0), symbol: b[4]! }));
  const vector = new Array<number>(c.length).fill(0);
  if (c.kind === "multihot" && said.length > c.weight) {
    said = from.shuffle(said).slice(0, c.weight);
  }
  const symbols = answer.kind === "histogram" ? 1 : 2;
  for (const { channel, symbol } of said) {
    if (answer.kind === "density") {
      vector[channel] = symbol;
    } else {
      vector[channel * symbols + symbol] = 1;
    }
  }
  if (noised && sum.noise === "devices" && c.kind === "sumvec") {
    share(plan, (c.max - 1) / 2, vector, from);
  } else if (noised && said.length === 0 && c.kind === "histogram") {
    vector[c.length - 1] = 1; // of whoever counts for nothing
  }
  return { crowd, vector };
}

/** Adds a device's share of discrete Laplace noise to each number, and raises all by the reach beyond which shares are cut. */
function share(plan: Plan, reach: number, vector: number[], from: Words): void {
  const noise = vector.map(() => 0), shape = (1 / honest(plan)) * (1 + 2 ** -48), p = Math.exp(-plan.route.sum!.decay! * (1 - 2 ** -50));
  negativeBinomial(shape, p, vector.length, from, (channel, size) => { noise[channel]! += size; });
  negativeBinomial(shape, p, vector.length, from, (channel, size) => { noise[channel]! -= size; });
  noise.forEach((z, i) => { vector[i]! += Math.max(-reach, Math.min(reach, z)) + reach; });
}
