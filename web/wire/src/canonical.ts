// The one byte form of plans and of what stands beside them.
import { text } from "./bytes";

/** An object's members in their order: a name with "?" may be left out; a value says what is in it, true anything. */
type Shape = { readonly [name: string]: Shape | readonly [Shape] | true };

const party: Shape = { operator: true, "key?": true, "url?": true, "receipts?": true, "tokens?": true, "releases?": true, "relay?": { operator: true, url: true, key: true } };
const times: Shape = { "opens?": true, "closes?": true };

const planShape: Shape = {
  version: true,
  title: true,
  question: { kind: true, "unfit?": true, "density?": true, "histogram?": true, "vector?": true, "gradient?": true, "label?": true, "latent?": true, "strings?": true, "table?": true, "experiment?": true },
  budget: { epsilon: true, delta: true, adjacency: true, "label_epsilon?": true, "local_epsilon?": true, dishonest_share: true },
  crowd: { "names?": true, minimum: true, "maximum?": true, "deletion?": { epsilon: true, delta: true, noise: true, threshold: true } },
  envelopes: { per_device: true, payload_bytes: true, suite: true },
  route: { kind: true, "mix?": { instances: [{ hops: [party] }], "spread?": true, "issuer?": party }, "sum?": true },
  analyzer: party,
  "times?": times,
  "signatures?": true,
  "state?": true,
  "round?": { study: true, number: true },
};

const studyShape: Shape = { version: true, plan: planShape, rounds: true, takes: true, withheld: true, "merged?": true, coordinator: true, "times?": times };
const roundShape: Shape = { number: true, "state?": true, "times?": times, plan: true, signature: true };
const withdrawalShape: Shape = { plan: true, at: true, reason: true };

const shapes = { plan: planShape, study: studyShape, round: roundShape, withdrawal: withdrawalShape };

/** Throws unless the value has every member that it must have, and no other. */
function fits(value: unknown, shape: Shape | readonly [Shape] | true, where: string): void {
  if (shape === true) {
    return;
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) {
      throw new SyntaxError(`${where} is no list`);
    }
    value.forEach((v, i) => fits(v, shape[0] as Shape, `${where}[${i}]`));
    return;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SyntaxError(`${where} is no object`);
  }
  const members = Object.entries(shape).map(([name, of]) => ({ name: name.replace("?", ""), must: !name.endsWith("?"), of }));
  const got = value as Record<string, unknown>;
  const present = members.filter((m) => Object.hasOwn(got, m.name));
  const names = Object.keys(got);
  if (members.some((m) => m.must && !present.includes(m)) || names.length !== present.length || names.some((n, i) => n !== present[i]!.name)) {
    throw new SyntaxError(`${where} has other members than it must have, or in another order`);
  }
  present.forEach((m) => fits(got[m.name], m.of, `${where}.${m.name}`));
}

/** JSON without white space; Go escapes U+2028 and U+2029, which ECMAScript does not. */
export const canonical = (value: unknown): Uint8Array<ArrayBuffer> =>
  text(JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029"));

/** Parses a text in its canonical form, and refuses every other form. */
export function parseCanonical<T>(bytes: Uint8Array, kind: keyof typeof shapes): T {
  const value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  fits(value, shapes[kind], kind);
  const again = canonical(value);
  // What parsing forgives shows here: repeated members, white space, numbers written otherwise.
  if (again.length !== bytes.length || again.some((x, i) => x !== bytes[i])) {
    throw new SyntaxError(`a ${kind}, but not in its canonical form`);
  }
  return value as T;
}
