/** Whether the 64 bytes are the key's Ed25519 signature (RFC 8032) of the message. */
export async function verifyEd25519(key: Uint8Array<ArrayBuffer>, signature: Uint8Array, message: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify("Ed25519", imported, new Uint8Array(signature), message);
}
