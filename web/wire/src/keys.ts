// Keys as text: "suite:base64url", one way to write each.
import { sha256 } from "@noble/hashes/sha2.js";
import { fromBase64url, text, toBase64url, toHex } from "./bytes";

/** What a key is for, by its suite, and how long its bytes are. */
const lengths = { x25519: 32, "x-wing": 1216, ed25519: 32 } as const;

/** The beginning of a SubjectPublicKeyInfo of RSA with a modulus of 2,048 bits, and the exponent 65,537 at its end. */
const rsaBegins = "30820122300d06092a864886f70d01010105000382010f003082010a0282010100";
const rsaEnds = "0203010001";

export type KeySuite = keyof typeof lengths | "rsa2048";

/** A public key whose text was read. */
export interface PublicKey {
  readonly suite: KeySuite;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
}

/** Reads a public key of the suite. Any text but the one that the key has is refused. */
export function parseKey(key: string, suite: KeySuite): PublicKey {
  const [name, encoded, ...more] = key.split(":");
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  try {
    bytes = fromBase64url(encoded ?? "");
  } catch {
    // said below
  }
  if (name !== suite || bytes === undefined || more.length > 0 || !fits(suite, bytes) || `${suite}:${toBase64url(bytes)}` !== key) {
    throw new SyntaxError(`not a public key in the form ${suite}:base64url`);
  }
  return { suite, bytes, text: key };
}

function fits(suite: KeySuite, bytes: Uint8Array): boolean {
  if (suite !== "rsa2048") {
    return bytes.length === lengths[suite];
  }
  const hex = toHex(bytes);
  // The modulus has 2,048 bits: its highest is set, and its lowest, since it is odd.
  return bytes.length === 294 && hex.startsWith(rsaBegins) && hex.endsWith(rsaEnds) && bytes[33]! >= 128 && bytes[288]! % 2 === 1;
}

/** What people compare: the first 8 bytes of the SHA-256 of the key's text, in hexadecimal. */
export const keyID = (key: string): string => toHex(sha256(text(key)).subarray(0, 8));
