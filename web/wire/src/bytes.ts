// Bytes, and the two ways in which the wire format writes them as text.

/** The bytes of all parts, one after the other. */
export function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  return all;
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i]);
}

/** An unsigned big-endian integer of the given number of bytes. */
export function uint(value: number, bytes: 1 | 2 | 4): Uint8Array<ArrayBuffer> {
  if (!Number.isInteger(value) || value < 0 || value >= 2 ** (8 * bytes)) {
    throw new RangeError(`not an unsigned integer of ${bytes} bytes`);
  }
  const b = new Uint8Array(bytes);
  for (let i = bytes - 1; i >= 0; i--) {
    b[i] = value % 256;
    value = Math.floor(value / 256);
  }
  return b;
}

/** UTF-8. */
export const text = (s: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(s));

/** Lower-case hexadecimal. */
export const toHex = (b: Uint8Array): string => Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("");

export function fromHex(s: string): Uint8Array<ArrayBuffer> {
  if (s.length % 2 !== 0 || !/^[0-9a-f]*$/.test(s)) {
    throw new SyntaxError("not lower-case hexadecimal");
  }
  return Uint8Array.from({ length: s.length / 2 }, (_, i) => parseInt(s.slice(2 * i, 2 * i + 2), 16));
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Base64url of RFC 4648, section 5, without padding. */
export function toBase64url(b: Uint8Array): string {
  let s = "";
  for (let i = 0; i < b.length; i += 3) {
    const n = (b[i]! << 16) | ((b[i + 1] ?? 0) << 8) | (b[i + 2] ?? 0);
    const chars = Math.min(4, b.length - i + 1);
    for (let c = 0; c < chars; c++) {
      s += alphabet[(n >> (18 - 6 * c)) & 63];
    }
  }
  return s;
}

/** The bytes of what toBase64url writes; no other text is accepted, so that unused bits are zero. */
export function fromBase64url(s: string): Uint8Array<ArrayBuffer> {
  const b = new Uint8Array(Math.floor((s.length * 3) / 4));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (const c of s) {
    const value = alphabet.indexOf(c);
    if (value < 0) {
      throw new SyntaxError("not base64url without padding");
    }
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      b[at++] = (held >> bits) & 0xff;
    }
  }
  if (s.length % 4 === 1 || (held & ((1 << bits) - 1)) !== 0) {
    throw new SyntaxError("not base64url without padding, unused bits zero");
  }
  return b;
}
