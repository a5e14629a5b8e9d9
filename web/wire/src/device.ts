// From the bodies of a report to contributions: filled up with dummies, in an order that tells nothing, and sealed.
import { encodeContribution, payload } from "./messages";
import { envelopeLength, seal } from "./envelope";
import { type Plan, way } from "./plan";
import { system, type Words } from "./random";
import type { Report } from "./report";

/** The payloads of bodies: always as many as the plan says, dummies among them, in an order drawn at random. Of more bodies than that as many stay, each equally likely. */
export function fragments(plan: Plan, bodies: readonly Uint8Array[], from: Words = system): Uint8Array<ArrayBuffer>[] {
  const { per_device: number, payload_bytes: bytes } = plan.envelopes;
  const all = Array.from({ length: Math.max(number, bodies.length) }, (_, i) => payload(bytes, bodies[i]));
  return from.shuffle(all).slice(0, number);
}

/** Seals the bodies of a report for an instance of a plan. tokens has the respondent's for the hops after the entry that demand one, each of which is put into one envelope drawn at random. */
export async function contribution(plan: Plan, hash: Uint8Array, at: { readonly instance: number; readonly crowd: number }, bodies: readonly Uint8Array[], tokens: ReadonlyMap<number, Uint8Array> = new Map()): Promise<Uint8Array<ArrayBuffer>> {
  const payloads = fragments(plan, bodies);
  const through = way(plan, at.instance);
  envelopeLength(through, plan.envelopes.payload_bytes, 1); // throws if it is too long for anybody to take
  const carried = payloads.map(() => new Map<number, Uint8Array>());
  for (const [h, slot] of through.slots.entries()) {
    const token = tokens.get(h);
    if (slot > 0 && token === undefined) {
      throw new RangeError(`hop ${h + 1} demands a token`);
    }
    if (slot > 0) {
      carried[system.below(payloads.length)]!.set(h, token!);
    }
  }
  const place = { plan: hash, instance: at.instance, crowd: at.crowd };
  const envelopes = await Promise.all(payloads.map((p, i) => seal(through, place, p, carried[i])));
  return encodeContribution(through.suite, through.keys[0]!, { ...place, envelopes });
}

/** The contributions of a report: one to each instance where the plan spreads them, otherwise one to an instance drawn at random. tokens are by instance and hop. */
export async function contributions(plan: Plan, hash: Uint8Array, report: Report, tokens: ReadonlyMap<number, ReadonlyMap<number, Uint8Array>> = new Map()): Promise<{ instance: number; body: Uint8Array<ArrayBuffer> }[]> {
  const instances = plan.route.mix?.instances.length ?? 0;
  return Promise.all(report.parts.map(async (bodies, i) => {
    const instance = report.parts.length === 1 ? system.below(instances) : i;
    return { instance, body: await contribution(plan, hash, { instance, crowd: report.crowd }, bodies, tokens.get(instance)) };
  }));
}
