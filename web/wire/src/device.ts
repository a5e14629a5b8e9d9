// What a device with a randomizer of its own needs: a report's messages, sealed for an instance.
import { encodeContribution, payload } from "./messages";
import { envelopeLength, seal } from "./envelope";
import { type Plan, way } from "./plan";
import { below, shuffle } from "./random";

/**
 * Seals the bodies of a report for an instance of a plan: filled up with dummies, in an order drawn at random, always
 * as many as the plan says. Of more bodies than that as many stay, each equally likely. tokens has the respondent's for
 * the hops after the entry that demand one, each of which is put into one envelope drawn at random.
 */
export async function contribution(plan: Plan, hash: Uint8Array, at: { readonly instance: number; readonly crowd: number }, bodies: readonly Uint8Array[], tokens: ReadonlyMap<number, Uint8Array> = new Map()): Promise<Uint8Array<ArrayBuffer>> {
  const { per_device: number, payload_bytes: bytes } = plan.envelopes;
  const kept = shuffle([...bodies]).slice(0, number);
  const payloads = shuffle(Array.from({ length: number }, (_, i) => payload(bytes, kept[i])));
  const through = way(plan, at.instance);
  envelopeLength(through, bytes, 0); // throws if it is too long for anybody to take
  const carried = payloads.map(() => new Map<number, Uint8Array>());
  for (const [h, slot] of through.slots.entries()) {
    const token = tokens.get(h);
    if (slot > 0 && token === undefined) {
      throw new RangeError(`hop ${h + 1} demands a token`);
    }
    if (slot > 0) {
      carried[below(number)]!.set(h, token!);
    }
  }
  const place = { plan: hash, instance: at.instance, crowd: at.crowd };
  const envelopes = await Promise.all(payloads.map((p, i) => seal(through, place, p, carried[i])));
  return encodeContribution({ ...place, envelopes });
}
