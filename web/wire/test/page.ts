// A page of an app, for a test of Go that drives it in a browser: a person signs in at a provider by the code flow with PKCE, gets
// tokens for that sign-in, and answers. What became of it stands in the page.
import { text, toBase64url } from "../src/bytes";
import { contributions, encode, fetchPlan, Problem, report, trust } from "../src/index";
import { fromHex } from "../src/bytes";
import { randomBytes } from "../src/random";
import { askTokens, blindAll, upload } from "../src/service";
import { signedIn, signIn } from "../src/signin";

interface Settings {
  provider: string;
  client: string;
  service: string; // that has the plan
  plan: string; // its name
  publisher: string;
  answers: string[][];
}

const settings = JSON.parse(document.querySelector("#settings")!.textContent!) as Settings;
const here = location.origin + location.pathname;
const kept = "sign-in"; // in the tab's storage, until it is back

/** Leads to the provider. */
async function begin(plan: string): Promise<void> {
  const begun = signIn(fromHex(plan)), [state, verifier] = [toBase64url(randomBytes(32)), toBase64url(randomBytes(32))];
  const challenge = toBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", text(verifier))));
  sessionStorage.setItem(kept, JSON.stringify({ ...begun, state, verifier }));
  location.assign(`${settings.provider}/authorize?${new URLSearchParams({
    response_type: "code", scope: "openid", client_id: settings.client, redirect_uri: here, state, nonce: begun.nonce, code_challenge: challenge, code_challenge_method: "S256",
  })}`);
}

/** Goes on with what the browser came back with: once. */
async function finish(came: URLSearchParams): Promise<string> {
  const begun = JSON.parse(sessionStorage.getItem(kept) ?? "{}") as { secret?: string; nonce?: string; state?: string; verifier?: string };
  sessionStorage.removeItem(kept);
  if (begun.state === undefined || came.get("state") !== begun.state) {
    return "not begun here";
  }
  const answer = await fetch(`${settings.provider}/token`, {
    method: "POST", body: new URLSearchParams({ grant_type: "authorization_code", client_id: settings.client, redirect_uri: here, code: came.get("code")!, code_verifier: begun.verifier! }),
  });
  if (!answer.ok) {
    return "no identity token";
  }
  const { id_token: token } = (await answer.json()) as { id_token: string };
  const { plan, hash } = await fetchPlan(settings.service, settings.plan, trust(settings.publisher));
  const tokens = await askTokens(plan, hash, await blindAll(plan, hash), signedIn(token, { secret: begun.secret!, nonce: begun.nonce! }));
  const said = await report(plan, encode(plan, { answers: settings.answers }));
  for (const { instance, body } of await contributions(plan, hash, said, tokens)) {
    await upload(plan, hash, instance, body, tokens.get(instance)!.get(0)!);
  }
  return "sent";
}

document.querySelector("#begin")!.addEventListener("click", () => void begin(settings.plan));
document.querySelector("#other")!.addEventListener("click", () => void begin("00".repeat(32))); // for another plan than it then answers
const came = new URLSearchParams(location.search);
if (came.has("code")) {
  document.body.dataset["outcome"] = await finish(came).catch((e: unknown) => (e instanceof Problem ? e.code : String(e)));
}
