// What binds a sign-in at an OpenID provider to one plan and one device.
import { sha256 } from "@noble/hashes/sha2.js";
import { concat, fromBase64url, text, toBase64url } from "./bytes";
import { randomBytes } from "./random";

/** What a device keeps until it has its tokens, and the nonce to sign in with. */
export interface SignIn {
  readonly secret: string;
  readonly nonce: string;
}

/** The nonce for a plan of that hash and a secret of 32 bytes in base64url, drawn anew where none is given. */
export function signIn(plan: Uint8Array, secret: string = toBase64url(randomBytes(32))): SignIn {
  if (plan.length !== 32 || fromBase64url(secret).length !== 32) {
    throw new RangeError("a plan's hash and a secret have 32 bytes each");
  }
  return { secret, nonce: toBase64url(sha256(concat(text("confetti/sign-in/v1\n"), plan, text(secret)))) };
}

/** The bearer that askTokens shows an issuer which knows people by identity tokens: the token that was given out for the nonce, and the secret. */
export const signedIn = (idToken: string, { secret }: SignIn): string => `${idToken}~${secret}`;
