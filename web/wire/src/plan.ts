// Plans as their publishers hand them out: signatures first, over the bytes as they came.
import { sha256 } from "@noble/hashes/sha2.js";
import { concat, fromBase64url, fromHex, text, toHex } from "./bytes";
import { canonical, parseCanonical } from "./canonical";
import { checkLog, type Log, logEntry, maxEvidenceBytes, maxWitnesses, verifyEvidence } from "./evidence";
import { verifyEd25519 } from "./ed25519";
import type { Suite, Way } from "./envelope";
import { parseKey } from "./keys";
import type { Circuit } from "./prio3";
import { tokenBytes } from "./tokens";

export interface Party {
  readonly operator: string;
  readonly key?: string;
  readonly url?: string;
  readonly receipts?: string;
  readonly tokens?: string;
  readonly releases?: string; // the analyzer's, since version 3
  readonly relay?: Relay; // since version 3, of those to whom devices send something
}

/** Through which devices come to a party, who would show it their addresses otherwise (RFC 9458). */
export interface Relay {
  readonly operator: string;
  readonly url: string;
  readonly key: string; // of the party's gateway
}

export interface Times {
  readonly opens?: string;
  readonly closes?: string;
}

/** A plan, as far as the wire format reads it. What a question's section says is its kind's. */
export interface Plan {
  readonly version: number;
  readonly title: string;
  readonly question: { readonly kind: string; readonly unfit?: string } & Readonly<Record<string, unknown>>;
  readonly budget: Readonly<Record<string, unknown>>;
  readonly crowd: { readonly names?: readonly string[]; readonly minimum: number; readonly maximum?: number };
  readonly envelopes: { readonly per_device: number; readonly payload_bytes: number; readonly suite: Suite };
  readonly route: { readonly kind: string; readonly mix?: { readonly instances: readonly { readonly hops: readonly Party[] }[]; readonly spread?: string; readonly issuer?: Party }; readonly sum?: SumRoute };
  readonly analyzer: Party;
  readonly times?: Times;
  readonly signatures?: number;
  readonly state?: string;
  readonly round?: { readonly study: string; readonly number: number };
}

/** How answers are summed. */
export interface SumRoute {
  readonly leader: Party;
  readonly helper: Party;
  readonly issuer?: Party;
  readonly wire: string;
  readonly proof: string;
  readonly circuit: Circuit;
  readonly chunk: number;
  readonly noise: string;
  readonly law?: string;
  readonly decay?: number;
}

interface Study {
  readonly plan: Plan;
  readonly coordinator: string;
  readonly times?: Times;
}

interface Round {
  readonly number: number;
  readonly state?: string;
  readonly times?: Times;
  readonly plan: string;
  readonly signature: string;
}

export const planVersion = 4;
const oldestPlanVersion = 2;
const releasesForm = /^ed25519:[A-Za-z0-9_-]{43}$/;
export const maxPlanBytes = 8 << 20;
const maxSignatures = 8;
const maxRoundBytes = 512;

/** The plan's name: the SHA-256 of its canonical form. */
export const planHash = (canonicalForm: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(sha256(canonicalForm));

/** Who opens the envelopes of an instance, and where there is room for tokens. */
export function way(plan: Plan, instance: number): Way {
  const hops = plan.route.mix?.instances[instance]?.hops;
  if (hops === undefined) {
    throw new RangeError("the plan has no such instance that mixes");
  }
  const keys = [...hops, plan.analyzer].map((p) => {
    if (p.key === undefined) {
      throw new SyntaxError(`the plan names no key of ${p.operator}`);
    }
    return p.key;
  });
  return { suite: plan.envelopes.suite, keys, slots: [...hops.map((p, h) => (h > 0 && p.tokens !== undefined ? tokenBytes : 0)), 0] };
}

/** One publisher's key, and until when it is good for plans that close no later. */
export interface PublisherKey {
  readonly key: string;
  readonly ends?: Date;
  readonly revoked?: Date;
}

/** Whose plans are taken: those that so many different ones have signed whose keys are good. */
export interface Publishers {
  readonly keys: readonly PublisherKey[];
  readonly signatures: number;
  readonly log?: Log; // in which their plans must stand
}

/** Publishers of these keys, without an end, any of whom is enough. */
export const trust = (...keys: string[]): Publishers => ({ keys: keys.map((key) => ({ key })), signatures: 1 });

interface Signature {
  readonly publisher: string;
  readonly signature: Uint8Array;
}

/** A signed plan whose signatures hold and whose form is canonical. */
export interface Signed {
  readonly plan: Plan;
  readonly hash: Uint8Array<ArrayBuffer>; // the plan's name
  readonly signers: readonly string[];
}

export class PlanError extends Error {
  override readonly name = "PlanError";
}

const entry = /^\{"publisher":"(ed25519:[A-Za-z0-9_-]{43})","signature":"([A-Za-z0-9_-]{86})"\}/;

/** The signatures before a member of one of these names, and where the member begins. */
function readHead(all: string, members: readonly string[], most: number): { signatures: Signature[]; member: string; from: number } {
  const signatures: Signature[] = [];
  const several = '{"signatures":[';
  const wrong = (why: string) => new PlanError(`not signatures and ${members.join(" or ")} in their one form: ${why}`);
  let at = 0;
  const read = (one: string) => {
    const m = entry.exec(one);
    if (m === null) {
      throw wrong("no signature where one is due");
    }
    try {
      signatures.push({ publisher: parseKey(m[1]!, "ed25519").text, signature: fromBase64url(m[2]!) });
    } catch {
      throw wrong("a key or signature is not base64url");
    }
    return m[0].length;
  };
  if (all.startsWith(several)) {
    at = several.length;
    for (;;) {
      at += read(all.slice(at, at + 200));
      const [before, last] = signatures.slice(-2);
      if (last !== undefined && before!.publisher >= last.publisher) {
        throw wrong("a publisher signs once, and signatures stand in the order of their publishers");
      }
      if (signatures.length > most) {
        throw wrong(`more than ${most} signatures`);
      }
      if (all[at++] !== ",") {
        break;
      }
    }
    if (all[at - 1] !== "]" || signatures.length === 1) {
      throw wrong("the list of signatures does not end, or has one");
    }
  } else {
    // Without the list, the entry's brace is that of the whole.
    const first = '{"publisher":"","signature":""'.length + 51 + 86;
    read(all.slice(0, first) + "}");
    at = first;
  }
  for (const member of members) {
    const begins = `,"${member}":`;
    if (all.startsWith(begins, at)) {
      return { signatures, member, from: at + begins.length };
    }
  }
  throw wrong("nothing of that name follows");
}

async function checkSignatures(what: string, all: readonly Signature[], body: Uint8Array): Promise<void> {
  for (const s of all) {
    if (!(await verifyEd25519(parseKey(s.publisher, "ed25519").bytes, s.signature, concat(text(what), body)))) {
      throw new PlanError("a signature does not belong to the text and its publisher");
    }
  }
}

/**
 * Reads a signed plan, or a round of a study, that somebody sent, and throws a PlanError unless it is the plan of that
 * name, enough publishers who are trusted vouch for it, and every signature holds. Nothing of the plan is parsed before
 * that. now is given for a plan that was not here before: a key that has ended vouches for nothing new. Where
 * publishers name a log, the evidence behind the plan must show that it stands there.
 */
export async function openSigned(bytes: Uint8Array, name: Uint8Array | undefined, publishers: Publishers, now?: Date): Promise<Signed> {
  if (bytes.length > maxPlanBytes + 4096 + maxEvidenceBytes) {
    throw new PlanError("the text is too long");
  }
  // Latin-1 keeps bytes and places alike.
  const all = Array.from(chunks(bytes), (c) => String.fromCharCode(...c)).join("");
  const { signatures, member, from } = readHead(all, ["plan", "study"], maxSignatures);
  enough(signatures, publishers, publishers.signatures, () => true);
  let end = all.length - 1;
  if (all[end] !== "}") {
    throw new PlanError("the text does not end with the brace that closes it");
  }
  // A string of base64 and lines, so that it has no brace; plans end with one.
  const begins = ',"evidence":';
  const at = all.lastIndexOf(begins + '"', end);
  let evidence: string | undefined;
  if (at >= from && at > all.lastIndexOf("}", end - 1)) {
    evidence = new TextDecoder().decode(bytes.subarray(at + begins.length, end)); // in JSON
    end = at;
  }
  const body = bytes.subarray(from, end);
  try {
    const signed = member === "plan" ? await openPlan(body, signatures) : await openRound(body, all.slice(from, end), signatures);
    if (name !== undefined && toHex(signed.hash) !== toHex(name)) {
      throw new PlanError("another plan than the one that was asked for");
    }
    const least = Math.max(publishers.signatures, signed.plan.signatures ?? 1);
    const closes = signed.closes === undefined ? undefined : new Date(signed.closes);
    enough(signatures, publishers, least, (k) => [k.ends, k.revoked].every((until) => until === undefined || (closes !== undefined && closes <= until && (now === undefined || now < until))));
    if (publishers.log !== undefined) {
      if (evidence === undefined) {
        throw new PlanError("there is no evidence that it stands in a log, and one is asked for here");
      }
      const proof: unknown = JSON.parse(evidence);
      if (typeof proof !== "string" || JSON.stringify(proof) !== evidence) {
        throw new PlanError("the evidence is no text in its one form");
      }
      await verifyEvidence(publishers.log, logEntry(signed.hash, concat(bytes.subarray(0, end), text("}"))), proof);
    }
    return { plan: signed.plan, hash: signed.hash, signers: signatures.map((s) => s.publisher) };
  } catch (e) {
    throw e instanceof PlanError ? e : new PlanError(String(e));
  }
}

function* chunks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 8192) {
    yield bytes.subarray(at, at + 8192);
  }
}

function enough(signatures: readonly Signature[], publishers: Publishers, least: number, good: (k: PublisherKey) => boolean): void {
  const n = signatures.filter((s) => publishers.keys.some((k) => k.key === s.publisher && good(k))).length;
  if (n < Math.max(1, least)) {
    throw new PlanError(`${n} of its publishers are trusted here and good for it, and ${Math.max(1, least)} are needed`);
  }
}

type Opened = { plan: Plan; hash: Uint8Array<ArrayBuffer>; closes: string | undefined };

async function openPlan(body: Uint8Array, signatures: readonly Signature[]): Promise<Opened> {
  await checkSignatures("confetti/plan/v1\n", signatures, body);
  const plan = parsePlan(body);
  if (plan.round !== undefined) {
    throw new PlanError("a round of a study comes with its study");
  }
  return { plan, hash: planHash(body), closes: plan.times?.closes };
}

/** A plan in its canonical form. Nobody has signed it here. */
export function parsePlan(body: Uint8Array): Plan {
  const plan = parseCanonical<Plan>(body, "plan");
  if (plan.version < oldestPlanVersion || plan.version > planVersion) {
    throw new PlanError(`a plan of version ${plan.version}: versions ${oldestPlanVersion} to ${planVersion} are read here`);
  }
  checkReleases(plan);
  checkRelays(plan);
  return plan;
}

/** The analyzer of a plan since version 3 has a key that signs releases, and nobody else has one. */
function checkReleases(plan: Plan): void {
  const releases = plan.analyzer.releases;
  if (plan.version < 3 ? releases !== undefined : releases === undefined || !releasesForm.test(releases)) {
    throw new PlanError(plan.version < 3 ? "a plan of version 2 has no key of releases" : "the plan names no public key that signs its releases");
  }
  if (releases !== undefined) {
    parseKey(releases, "ed25519");
  }
  const { mix, sum } = plan.route;
  const others = [...(mix?.instances ?? []).flatMap((i) => i.hops), ...(mix?.issuer ? [mix.issuer] : []), ...(sum ? [sum.leader, sum.helper] : [])];
  if (others.some((p) => p.releases !== undefined || (releases !== undefined && p.receipts === releases))) {
    throw new PlanError("a key of releases is the analyzer's, and of nobody else");
  }
}

/** A relay is of a party to whom devices send something, and leads to it alone. Two parties at one address have the same. */
function checkRelays(plan: Plan): void {
  const { mix, sum } = plan.route;
  const issuer = mix?.issuer ?? sum?.issuer;
  const hops = (mix?.instances ?? []).map((i) => i.hops);
  const visited = [...hops.flatMap((h) => h.slice(0, 1)), ...(sum ? [sum.leader] : []), ...(issuer ? [issuer] : [])];
  const others = [...hops.flatMap((h) => h.slice(1)), ...(sum ? [sum.helper] : []), plan.analyzer];
  if (others.some((p) => p.relay !== undefined)) {
    throw new PlanError("a relay is of those to whom devices send something");
  }
  const at = new Map<string, string>();
  for (const p of visited) {
    const relay = p.relay;
    const known = JSON.stringify(relay ?? null);
    const host = p.url?.replace(/\/$/, "");
    if (host !== undefined && (at.get(host) ?? known) !== known) {
      throw new PlanError("two parties at one address have other relays");
    }
    if (host !== undefined) {
      at.set(host, known);
    }
    if (relay === undefined) {
      continue;
    }
    const same = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase();
    if (plan.version < 3 || relay.operator.trim() === "" || same(relay.operator, p.operator) || host === undefined || relay.key === p.key || !relay.key.startsWith(`${plan.envelopes.suite}:`) || relay.key.length === plan.envelopes.suite.length + 1) {
      throw new PlanError("a relay is of another organisation, with a key of its own for a party that has an address");
    }
    // The URL's own parser forgives a missing host.
    const form = /^https:\/\/([^/@?#]+)(?:[/?][^#]*)?$/.exec(relay.url);
    if (form === null || text(relay.url).length > 500 || same(form[1]!, host.replace(/^https:\/\//, ""))) {
      throw new PlanError("a relay has an https address on another host than the party, without a password and a fragment");
    }
  }
}

/** Throws unless new answers are collected under the plan: version 2 names nobody who signs its releases, and version 3 seals every envelope for the entry. */
export function collected(plan: Plan): void {
  if (plan.version !== planVersion) {
    throw new PlanError(`version ${plan.version} ${plan.version < 3 ? "names nobody who signs its releases" : "seals every envelope for the entry by itself"}, and nothing new is collected under it: have the author write and sign the plan anew`);
  }
}

async function openRound(body: Uint8Array, all: string, signatures: readonly Signature[]): Promise<Opened> {
  const begins = ',"round":';
  const at = all.lastIndexOf(begins + '{"number":');
  if (at < 0 || all.length - at > maxRoundBytes) {
    throw new PlanError("no round behind the study");
  }
  const signed = body.subarray(0, at);
  await checkSignatures("confetti/study/v1\n", signatures, signed);
  const study = parseCanonical<Study>(signed, "study");
  const round = parseCanonical<Round>(body.subarray(at + begins.length), "round");
  // The members that a round adds, each in its place.
  const { signatures: least, ...before } = study.plan;
  const made = canonical({
    ...before, ...(round.times && { times: round.times }), ...(least !== undefined && { signatures: least }),
    ...(round.state !== undefined && { state: round.state }), round: { study: toHex(sha256(signed)), number: round.number },
  });
  const plan = parsePlan(made);
  const hash = planHash(made);
  if (toHex(hash) !== round.plan) {
    throw new PlanError("the round is of another name");
  }
  await checkSignatures("confetti/round/v1\n", [{ publisher: study.coordinator, signature: fromBase64url(round.signature) }], made);
  return { plan, hash, closes: study.times?.closes };
}

/** A publisher's word that a plan of theirs is over for good. */
export interface Withdrawal {
  readonly plan: Uint8Array; // hash
  readonly at: Date;
  readonly reason: string;
  readonly publisher: string;
}

/** Reads a signed withdrawal. Whether its publisher has signed the plan is the caller's to compare. */
export async function openWithdrawal(bytes: Uint8Array): Promise<Withdrawal> {
  if (bytes.length > 2048) {
    throw new PlanError("longer than 2048 bytes");
  }
  if (bytes[bytes.length - 1] === 10) {
    bytes = bytes.subarray(0, -1);
  }
  const all = String.fromCharCode(...bytes);
  const { signatures, from } = readHead(all, ["withdrawal"], 1);
  if (!all.endsWith("}")) {
    throw new PlanError("the text does not end with the brace that closes it");
  }
  const body = bytes.subarray(from, -1);
  await checkSignatures("confetti/withdrawal/v1\n", signatures, body);
  try {
    const { plan, at, reason } = parseCanonical<{ plan: string; at: string; reason: string }>(body, "withdrawal");
    const hash = fromHex(plan);
    if (hash.length !== 32 || text(reason).length > 500 || !/^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(reason)) {
      throw new PlanError("the plan's name or the reason is not of its form");
    }
    return { plan: hash, at: second(at), reason, publisher: signatures[0]!.publisher };
  } catch (e) {
    throw e instanceof PlanError ? e : new PlanError(String(e));
  }
}

/** A time of whole seconds in UTC, in its one form. */
function second(at: string): Date {
  const time = new Date(at);
  if (Number.isNaN(time.getTime()) || time.toISOString().replace(".000Z", "Z") !== at) {
    throw new PlanError("no time such as 2027-06-01T00:00:00Z");
  }
  return time;
}

/** Reads a file of publishers. */
export function parsePublishers(file: string): Publishers {
  const lines = file.split("\n").map((l) => l.replace(/\r$/, ""));
  if (text(file).length > 65536 || lines[0] !== "confetti-publishers/v1") {
    throw new PlanError("no file of publishers: the first line is confetti-publishers/v1");
  }
  const keys: PublisherKey[] = [];
  let signatures: number | undefined;
  let log: Log | undefined;
  for (const [i, line] of lines.entries()) {
    const wrong = (why: string) => new PlanError(`line ${i + 1} ${why}`);
    if (i === 0 || line === "" || line.startsWith("#")) {
      continue;
    }
    const words = line.split(" ");
    if (words[0] === "signatures") {
      if (signatures !== undefined || keys.length > 0 || words.length !== 2 || !/^[1-8]$/.test(words[1]!)) {
        throw wrong("does not say once, before the keys, how many signatures are needed, 1 to 8");
      }
      signatures = Number(words[1]);
      continue;
    }
    const [word, value] = [words[0]!, line.slice(words[0]!.length + 1)];
    if (word === "log") {
      if (log !== undefined) {
        throw wrong("names another log: one is asked for");
      }
      log = { key: value, witnesses: [] };
    } else if (word === "witness" || word === "witnesses") {
      if (log === undefined || (word === "witness" && log.witnesses.length === maxWitnesses)) {
        throw wrong(`is before the log, or there are more than ${maxWitnesses} witnesses`);
      }
      if (word === "witness") {
        log = { ...log, witnesses: [...log.witnesses, value] };
      } else if (log.least !== undefined || !/^[1-9][0-9]?$/.test(value) || Number(value) > maxWitnesses) {
        throw wrong(`does not say, once, how many witnesses are needed, 1 to ${maxWitnesses}`);
      } else {
        log = { ...log, least: Number(value) };
      }
    }
    if (["log", "witness", "witnesses"].includes(word)) {
      try {
        checkLog(log!);
      } catch (e) {
        throw wrong(`does not name a log or a witness: ${String(e)}`);
      }
      continue;
    }
    const parsed = /^(\S+?)(?: ends (\S+))?(?: revoked (\S+))?$/.exec(line);
    if (parsed === null || keys.some((k) => k.key === parsed[1]) || keys.length === 256) {
      throw wrong("is not a key of its own, with ends and revoked, one space apart");
    }
    try {
      parseKey(parsed[1]!, "ed25519");
    } catch {
      throw wrong("does not begin with a public key in the form ed25519:base64url");
    }
    keys.push({ key: parsed[1]!, ...(parsed[2] !== undefined && { ends: second(parsed[2]) }), ...(parsed[3] !== undefined && { revoked: second(parsed[3]) }) });
  }
  if (keys.length < Math.max(1, signatures ?? 1)) {
    throw new PlanError("fewer keys than signatures are needed");
  }
  if ((log?.least ?? 0) > (log?.witnesses.length ?? 0)) {
    throw new PlanError("fewer witnesses are named than must have signed");
  }
  return { keys, signatures: signatures ?? 1, ...(log && { log }) };
}
