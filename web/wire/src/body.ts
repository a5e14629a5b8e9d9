// What a message of a plan may say: an analyzer counts nothing else.
import { kernelOf, channelsOf } from "./encode";
import { Histogram } from "./histogram";
import { bodyOf } from "./messages";
import type { Plan } from "./plan";
import { counted, type Label, labelPlan, type Latent, leastRows, vectorRound } from "./report";
import { seedBytes } from "./direction";

/** How long bodies are, in bytes, and of those that name a channel and a symbol, how many there are of these. */
export interface Form {
  readonly bytes: number;
  readonly channels?: number;
  readonly symbols?: number;
}

const counts = (channels: number, symbols: number): Form => ({ bytes: 5, channels, symbols });

/** The form of a plan's bodies. parameters is how many numbers the model of a plan of gradients has; it is needed for bits of them alone. */
export function formOf(plan: Plan, parameters?: number): Form {
  switch (plan.question.kind) {
    case "histogram":
      return counts(new Histogram(plan).channels, 1);
    case "density":
      return counts(channelsOf(kernelOf(plan)), 2);
    case "vector":
      return counts(vectorRound(plan).rows, 2);
    case "strings":
    case "table":
      return counts((plan.question[plan.question.kind] as { rows: number }).rows, 2);
    case "experiment":
      return counts((plan.question["experiment"] as { bits: { rows: number } }).bits.rows, 2);
    case "gradient": {
      const z = (plan.question["gradient"] as { report: { name: string; bits?: number } }).report;
      return z.name === "direction" ? { bytes: 1 + seedBytes } : z.name === "cap" ? { bytes: seedBytes } : counts(leastRows(parameters!, z.bits!), 2);
    }
    case "label": {
      const ask = plan.question["label"] as Label;
      return ask.report === "sums" ? counts(ask.sum!.rows, 2) : ask.report === "each" ? counts(ask.records! * ask.classes.length, 1) : counts(new Histogram(labelPlan(plan)).channels, 1);
    }
    case "latent": {
      const ask = plan.question["latent"] as Latent, k = ask.classes?.length ?? 0, number = ask.records ? 4 : 0;
      const symbols = ask.report === "right" ? 2 : (ask.clusters ?? 0) * Math.max(1, k);
      if (ask.report === "vector") {
        return { bytes: number + (ask.vector!.mechanism === "cap" ? seedBytes : 4 * ask.vector!.dim) + (k > 0 ? 2 : 0) };
      }
      return ask.records ? { bytes: number + Math.ceil(symbols / 8) } : counts(new Histogram(counted(plan, { name: "symbol", kind: "categories", size: symbols }, ask.randomizer!)).channels, 1);
    }
  }
  throw new RangeError(`questions of kind ${plan.question.kind} are not known here`);
}

/** The body of a payload; undefined is a dummy. A SyntaxError says that no analyzer counts it. */
export function readPayload(form: Form, payload: Uint8Array): Uint8Array | undefined {
  const body = bodyOf(payload, form.bytes);
  if (body === undefined || form.channels === undefined) {
    return body;
  }
  if (new DataView(body.buffer, body.byteOffset).getUint32(0) >= form.channels || body[4]! >= form.symbols!) {
    throw new SyntaxError("a channel or a symbol that the plan has not");
  }
  return body;
}
