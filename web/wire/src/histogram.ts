// What a device says of the cells that it holds.
import { fromHex } from "./bytes";
import type { Said } from "./bitsum";
import type { Axis, Domain } from "./domain";
import type { Plan } from "./plan";
import type { Words } from "./random";
import { hadamard, hashed, krr, OneHot, subset } from "./randomize";
import { sketchCell, sketchRows } from "./sketch";

interface Attribute {
  readonly name: string;
  readonly kind: Domain["kind"] | "prefixes"; // the last ended
  readonly values?: readonly string[];
  readonly size?: number;
  readonly others?: boolean;
  readonly low?: number;
  readonly high?: number;
  readonly cells?: number;
  readonly most?: number;
  readonly x?: Axis;
  readonly y?: Axis;
}

/** The mechanism of a cell, with its numbers; see docs/wire-reports.md. */
export interface Randomizer {
  readonly name: string;
  readonly epsilon: number;
  readonly keep?: number;
  readonly flip?: number;
  readonly fragments?: number;
  readonly backstop_keep?: number;
  readonly backstop_flip?: number;
  readonly subset?: number;
  readonly range?: number;
  readonly functions?: number;
  readonly seed?: string;
}

interface Asked {
  readonly attributes: readonly Attribute[];
  readonly collect?: string;
  readonly randomizer: Randomizer;
  readonly sketch?: { readonly name: string; readonly hashes: number; readonly width: number; readonly seed: string };
}

/** What a device has settled on for an attribute. Where report fragments are asked for it is kept, and never drawn again for the same answer. */
export interface Settled {
  readonly attribute: number;
  readonly to: readonly number[];
}

const asked = (plan: Plan): Asked => plan.question["histogram"] as Asked;

/** The domain of an attribute of a plan. */
export function domainOf(plan: Plan, attribute: number): Domain {
  const a = asked(plan).attributes[attribute]!, others = a.others ?? false;
  switch (a.kind) {
    case "categories":
      return { kind: a.kind, others, values: a.values ?? a.size! };
    case "set":
      return { kind: a.kind, others, values: a.values ?? a.size!, most: a.most! };
    case "buckets":
      return { kind: a.kind, others, axis: { low: a.low ?? 0, high: a.high ?? 0, cells: a.cells! } };
    case "grid":
      return { kind: a.kind, others, axes: [a.x!, a.y!] };
  }
  const ended = a.kind === "prefixes" ? "prefixes ended with plan version 4: use strings" : "";
  throw new RangeError(ended || `attributes of kind ${a.kind as string} are not known here`);
}

/** How many cells a domain has. */
export function sizeOf(d: Domain): number {
  const extra = d.others ? 1 : 0;
  switch (d.kind) {
    case "categories":
    case "set":
      return (typeof d.values === "number" ? d.values : d.values.length) + extra;
    case "buckets":
      return d.axis.cells + extra;
    case "grid":
      return d.axes[0].cells * d.axes[1].cells + extra;
  }
}

/** One attribute's mechanism: commit settles what is said of cells, report says it once. */
interface Table {
  readonly channels: number;
  commit(held: readonly number[], from: Words): number[];
  report(settled: readonly number[], from: Words): number[];
}

function tableOf(z: Randomizer, size: number): Table {
  const one = (channels: number, say: (x: number, from: Words) => number[]): Table => ({
    channels,
    commit: (held, from) => (held.length === 0 ? [from.below(size)] : [...held]),
    report: (settled, from) => say(settled[0]!, from),
  });
  switch (z.name) {
    case "krr":
      return one(size, (x, from) => [krr(size, z.epsilon, x, from)]);
    case "subset":
      return one(size, (x, from) => subset(size, z.subset!, z.epsilon, x, from));
    case "local-hash": {
      const seed = fromHex(z.seed!);
      return one(z.functions! * z.range!, (x, from) => [hashed(seed, z.range!, z.functions!, size, z.epsilon, x, from)]);
    }
    case "hadamard":
      return one(2 ** size.toString(2).length, (x, from) => [hadamard(size, z.epsilon, x, from)]);
  }
  throw new RangeError(`no randomizer ${z.name} is known here`);
}

/** Bits, behind a backstop where there are report fragments, and of one row where there is a sketch. */
function bitsOf(ask: Asked, z: Randomizer, size: number, contributions: number): Table {
  const s = ask.sketch, cells = s === undefined ? size : s.name === "count" ? 2 * s.width : s.width;
  const several = (z.fragments ?? 0) > 1;
  const backstop = several ? new OneHot(cells, z.backstop_keep!, z.backstop_flip ?? 0) : new OneHot(cells, 1, 0);
  const fragment = new OneHot(cells, z.keep!, z.flip ?? 0);
  const times = Math.max(1, Math.floor((several ? z.fragments! : 1) / contributions));
  const say = (settled: readonly number[], from: Words) => Array.from({ length: times }, () => fragment.draw(settled, from)).flat();
  if (s === undefined) {
    return { channels: cells, commit: (held, from) => backstop.draw(held, from), report: say };
  }
  const rows = sketchRows(fromHex(s.seed), s.hashes);
  return {
    channels: s.hashes * cells,
    commit: (held, from) => {
      const row = from.below(s.hashes);
      const cell = held.length === 0 ? from.below(cells) : sketchCell(rows[row]!, cells, held[0]!);
      return [row, ...backstop.draw([cell], from)];
    },
    report: ([row, ...settled], from) => say(settled, from).map((cell) => row! * cells + cell),
  };
}

/** A plan's histogram, made ready. */
export class Histogram {
  readonly #ask: Asked;
  readonly #tables: Table[] = [];
  readonly #first: number[] = [];
  readonly channels: number;
  readonly #contributions: number;

  constructor(plan: Plan) {
    this.#ask = asked(plan);
    const mix = plan.route.mix;
    this.#contributions = mix?.spread === "all" ? mix.instances.length : 1;
    const z = this.#ask.randomizer, noised = plan.route.sum !== undefined && (plan.route.sum.noise !== "devices" || z.name === "none");
    let channels = 0;
    this.#ask.attributes.forEach((_, i) => {
      const size = sizeOf(domainOf(plan, i));
      const t = noised ? bitsOf(this.#ask, { name: "one-hot", epsilon: 0, keep: 1, flip: 0 }, size, 1) : z.name.startsWith("one-hot") ? bitsOf(this.#ask, z, size, this.#contributions) : tableOf(z, size);
      this.#tables.push(t);
      this.#first.push(channels);
      channels += t.channels;
    });
    this.channels = channels;
  }

  /** Settles what is said of the cells held, by attribute; none are those of an answer that the plan has no cell for. */
  settle(held: readonly (readonly number[])[], from: Words): Settled[] {
    const n = this.#tables.length;
    if (held.length !== n) {
      throw new RangeError(`need the cells of ${n} attributes`);
    }
    const which = this.#ask.collect === "sample" ? [from.below(n)] : held.map((_, i) => i);
    return which.map((attribute) => ({ attribute, to: this.#tables[attribute]!.commit(held[attribute]!, from) }));
  }

  /** What is said once of that, by contribution. */
  say(settled: readonly Settled[], from: Words): Said[][] {
    return Array.from({ length: this.#contributions }, () =>
      settled.flatMap(({ attribute, to }) => this.#tables[attribute]!.report(to, from).map((channel) => ({ channel: this.#first[attribute]! + channel, symbol: 0 }))));
  }
}
