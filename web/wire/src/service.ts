// Services of a plan over fetch, as a browser and Node have it.
import { sha256 } from "@noble/hashes/sha2.js";
import { fromHex, toHex } from "./bytes";
import { collected, openSigned, type Party, type Plan, type Publishers, type Signed } from "./plan";
import { readProblem } from "./problem";
import { blind, type BlindedRequest, decodeTokenResponse, encodeTokenRequest, finalize, tokenAuthorization } from "./tokens";

const types = {
  contribution: "application/vnd.confetti.contribution; version=",
  tokenRequest: "application/vnd.confetti.token-request; version=1",
} as const;

/** The network; fetch of the platform unless another one is given. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Nothing of the browser's goes along: no cookie, no referrer, and no redirect is followed, since a service stands where the plan says. */
async function ask(fetch: Fetch, base: string | undefined, path: string, init: RequestInit): Promise<Response> {
  if (base === undefined || !base.startsWith("https://")) {
    throw new RangeError("the plan names no https address of the service");
  }
  const answer = await fetch(base.replace(/\/$/, "") + path, { ...init, credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store" });
  const problem = await readProblem(answer);
  if (problem !== undefined) {
    throw problem;
  }
  return answer;
}

/** Where a party is reached by itself. This client speaks to no relay, and sends nothing past one that the plan names. */
function direct(party: Party | undefined): string | undefined {
  if (party?.relay !== undefined) {
    throw new RangeError(`devices come to ${party.operator} by a relay, which this client cannot: answer with another one`);
  }
  return party?.url;
}

/** Fetches the plan of that name from any of its services. Nothing of the device is shown but its address. */
export async function fetchPlan(service: string, name: string, publishers: Publishers, fetch: Fetch = globalThis.fetch): Promise<Signed> {
  if (!/^[0-9a-f]{64}$/.test(name)) {
    throw new SyntaxError("a plan's name is 64 lower-case hexadecimal digits");
  }
  const answer = await ask(fetch, service, `/v1/plans/${name}`, {});
  const signed = await openSigned(new Uint8Array(await answer.arrayBuffer()), fromHex(name), publishers, new Date());
  collected(signed.plan);
  return signed;
}

/**
 * Blinds a request for every hop of every instance that demands a token: of all instances, so that the issuer does not
 * learn which one is drawn. Keep what is returned on the device before tokens are asked for: the issuer signs one
 * request of a person for each hop, ever, and a lost answer is had again only by the same request.
 */
export function blindAll(plan: Plan, hash: Uint8Array): Promise<BlindedRequest[]> {
  const hops = (plan.route.mix?.instances ?? []).flatMap((i, instance) => i.hops.map((party, hop) => ({ key: party.tokens, instance, hop })));
  return Promise.all(hops.flatMap(({ key, instance, hop }) => (key === undefined ? [] : [blind(key, { plan: hash, instance, hop })])));
}

/** The tokens of an instance by hop. */
export type Tokens = ReadonlyMap<number, Uint8Array>;

/**
 * Has the plan's issuer sign the requests for whom the bearer says: an identity token of the issuer's OpenID provider,
 * an assertion of the app's backend, the code of a link, or a token of the operator's. Returns tokens by instance.
 */
export async function askTokens(plan: Plan, hash: Uint8Array, requests: readonly BlindedRequest[], bearer: string, fetch: Fetch = globalThis.fetch): Promise<Map<number, Map<number, Uint8Array>>> {
  const body = encodeTokenRequest(requests.map((r) => ({ instance: r.at.instance, hop: r.at.hop, blinded: r.blinded })));
  const answer = await ask(fetch, direct(plan.route.mix?.issuer), `/v1/plans/${toHex(hash)}/tokens`, {
    method: "POST", body: new Uint8Array(body), headers: { "Content-Type": types.tokenRequest, Authorization: `Bearer ${bearer}` },
  });
  const answers = decodeTokenResponse(new Uint8Array(await answer.arrayBuffer()));
  if (answers.length !== requests.length) {
    throw new SyntaxError("the issuer answers another number of requests than it was asked");
  }
  const tokens = new Map<number, Map<number, Uint8Array>>();
  for (const [i, request] of requests.entries()) {
    const { instance, hop } = request.at;
    const of = tokens.get(instance) ?? new Map<number, Uint8Array>();
    tokens.set(instance, of.set(hop, await finalize(request, answers[i]!)));
  }
  return tokens;
}

/**
 * Hands a contribution to the entry hop of its instance, which has it on disk when this returns. The same bytes again
 * are the same contribution. credential is the entry's single-use token where the plan demands one there, and nothing
 * else then; otherwise a bearer token.
 */
export async function upload(plan: Plan, hash: Uint8Array, instance: number, body: Uint8Array, credential: Uint8Array | string, fetch: Fetch = globalThis.fetch): Promise<void> {
  const entry = plan.route.mix?.instances[instance]?.hops[0];
  if ((entry?.tokens !== undefined) !== (typeof credential !== "string")) {
    throw new TypeError("an entry hop that demands a single-use token is shown that and nothing else");
  }
  const authorization = typeof credential === "string" ? `Bearer ${credential}` : tokenAuthorization(credential);
  await ask(fetch, direct(entry), `/v1/plans/${toHex(hash)}/instances/${instance}/contributions/${toHex(sha256(body))}`, {
    method: "PUT", body: new Uint8Array(body), headers: { "Content-Type": types.contribution + (body[0] === 1 ? 1 : 2), Authorization: authorization },
  });
}
