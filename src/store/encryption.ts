// Secrets at rest: AES-256-GCM, bound to the row they belong to, so that a copied or swapped row
// opens nothing.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Which key sealed it; there is one so far. */
const KEY_ID = Buffer.from([1]);

/** Derived once: every delivery opens a secret. */
const derived = new WeakMap<Buffer, Buffer>();

function keyFor(secret_key: Buffer): Buffer {
  const known = derived.get(secret_key);
  if (known !== undefined) return known;
  const key = Buffer.from(hkdfSync("sha256", secret_key, "", "dues sealing v1", 32));
  derived.set(secret_key, key);
  return key;
}

export function seal(secret_key: Buffer, bound_to: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyFor(secret_key), nonce);
  cipher.setAAD(Buffer.from(bound_to));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([KEY_ID, nonce, cipher.getAuthTag(), sealed]);
}

/** Throws when the key is another one, the row is another one, or a byte has changed. */
export function unseal(secret_key: Buffer, bound_to: string, sealed: Buffer): string {
  if (sealed[0] !== KEY_ID[0]) throw new Error("The secret was sealed with an unknown key.");
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", keyFor(secret_key), nonce);
  decipher.setAAD(Buffer.from(bound_to));
  decipher.setAuthTag(tag);
  const rest = sealed.subarray(1 + NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(rest), decipher.final()]).toString("utf8");
}
