// Answers that are summed: a report of DAP (draft-ietf-ppm-dap-18) for the two aggregators of a plan.
import { sha256 } from "@noble/hashes/sha2.js";
import { concat, text, toBase64url, uint } from "./bytes";
import { sealBase, type Suite } from "./envelope";
import type { Plan } from "./plan";
import { type Circuit, Prio3, vdafNumber } from "./prio3";
import { randomBytes } from "./random";
import { tokenBytes } from "./tokens";

const dap = "dap-18";
const day = 24 * 60 * 60; // seconds of a report's unit of time
const tokenExtension = 0xff01;
const client = 1, leader = 2, helper = 3; // roles
const leaderSelected = 2;

const long = (x: number): Uint8Array<ArrayBuffer> => concat(uint(Math.floor(x / 2 ** 32), 4), uint(x % 2 ** 32, 4));
const opaque = (b: Uint8Array, bytes: 2 | 4): Uint8Array<ArrayBuffer> => concat(uint(b.length, bytes), b);

/** A crowd of a plan whose answers are summed. */
export interface Task {
  readonly id: Uint8Array<ArrayBuffer>; // 32 bytes
  readonly configuration: Uint8Array<ArrayBuffer>; // as it is authenticated in every share
  readonly prio3: Prio3;
}

/** The task of a crowd. */
export function task(plan: Plan, hash: Uint8Array, crowd: number): Task {
  const sum = plan.route.sum;
  if (sum === undefined || sum.wire !== dap || sum.proof !== "prio3/18" || !["histogram", "multihot", "sumvec"].includes(sum.circuit.kind)) {
    throw new RangeError("the plan's answers are not summed, or in another way than this module knows");
  }
  if (hash.length !== 32 || crowd < 0 || crowd >= (plan.crowd.names?.length ?? 1)) {
    throw new RangeError("the plan has no such crowd");
  }
  const info = concat(hash, uint(crowd, 4));
  const id = new Uint8Array(sha256(concat(text("confetti/task/v1\n"), info)));
  const c: Circuit = sum.circuit;
  const parameters = {
    histogram: () => concat(uint(c.length, 4), uint(sum.chunk, 4)),
    multihot: () => concat(uint(c.length, 4), uint(sum.chunk, 4), long((c as { weight: number }).weight)),
    sumvec: () => concat(uint(c.length, 4), long((c as { max: number }).max), uint(sum.chunk, 4)),
  }[c.kind]();
  const none = new Uint8Array();
  const configuration = concat(
    Uint8Array.of(info.length), info, opaque(text(sum.leader.url ?? ""), 2), opaque(text(sum.helper.url ?? ""), 2), long(day), long(plan.crowd.minimum),
    Uint8Array.of(leaderSelected), opaque(none, 2), uint(vdafNumber(c), 4), opaque(parameters, 2), opaque(none, 2),
  );
  return { id, configuration, prio3: new Prio3(c, sum.chunk, concat(text(dap), id)) };
}

/** What is sealed to the aggregator, and under which info and data. */
export interface InputShare {
  readonly key: string;
  readonly info: Uint8Array<ArrayBuffer>;
  readonly data: Uint8Array<ArrayBuffer>;
  readonly plaintext: Uint8Array<ArrayBuffer>;
}

/** A report before its shares are sealed. */
export interface Split {
  readonly head: Uint8Array<ArrayBuffer>; // its name, its time and its public share
  readonly shares: readonly [InputShare, InputShare]; // the leader's and the helper's
}

/** Splits a vector for the aggregators. The token is the one that the helper demands. The name, 16 bytes, and the randomness are drawn where none are given, and given in tests alone. */
export function split(plan: Plan, hash: Uint8Array, crowd: number, vector: readonly number[], now: Date, token?: Uint8Array, name: Uint8Array = randomBytes(16), random?: Uint8Array): Split {
  const t = task(plan, hash, crowd), sum = plan.route.sum!;
  if ((sum.helper.tokens !== undefined) !== (token !== undefined) || (token !== undefined && token.length !== tokenBytes)) {
    throw new RangeError("a helper is shown the token that it demands, and no other");
  }
  const shares = random === undefined ? t.prio3.split(vector, name) : t.prio3.split(vector, name, random);
  const head = concat(name, long(Math.max(0, Math.floor(now.getTime() / 1000 / day))), uint(0, 2), opaque(shares.public, 4));
  const data = concat(t.id, t.configuration, head);
  const extensions = token === undefined ? new Uint8Array() : concat(uint(tokenExtension, 2), opaque(token, 2));
  const share = (to: number, key: string | undefined, private_: Uint8Array, body: Uint8Array): InputShare => ({
    key: key ?? "", info: concat(text(`${dap} input share`), Uint8Array.of(client, to)), data, plaintext: concat(opaque(private_, 2), opaque(body, 4)),
  });
  return { head, shares: [share(leader, sum.leader.key, new Uint8Array(), shares.leader), share(helper, sum.helper.key, extensions, shares.helper)] };
}

/** The upload of a device: one report of a vector that the plan's circuit allows. */
export async function sumReport(plan: Plan, hash: Uint8Array, crowd: number, vector: readonly number[], now: Date, token?: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { head, shares } = split(plan, hash, crowd, vector, now, token);
  const sealed = await Promise.all(shares.map(async (s) => {
    const { enc, payload } = await sealBase(s.key.split(":")[0] as Suite, s.key, s.info, s.data, s.plaintext);
    return concat(Uint8Array.of(0), opaque(enc, 2), opaque(payload, 4));
  }));
  return concat(head, ...sealed);
}

/** The path of a task's uploads at the leader. */
export const reportsPath = (t: Task): string => `/tasks/${toBase64url(t.id)}/reports`;
