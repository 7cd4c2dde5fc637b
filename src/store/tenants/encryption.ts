// Encryption of secrets at rest: AES-256-GCM, bound to the row that a secret belongs to, so that it
// cannot be decrypted from a copied or swapped row.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { ProjectId } from "../../ids.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The first byte of what is stored says which key encrypted it. There is one so far. */
const KEY_ID = Buffer.from([1]);
/** Part of the key: with another text nothing that is stored could be decrypted. */
const KEY_INFO = "dues sealing v1";

/** Keys derived from secret keys, once each: every webhook delivery decrypts a secret. */
const derived = new WeakMap<Buffer, Buffer>();

function keyFor(secret_key: Buffer): Buffer {
  const known = derived.get(secret_key);
  if (known !== undefined) return known;
  const key = Buffer.from(hkdfSync("sha256", secret_key, "", KEY_INFO, 32));
  derived.set(secret_key, key);
  return key;
}

/** The row that the secret of a webhook endpoint is bound to. */
export function secretBinding(project: ProjectId, endpoint_id: string): string {
  return `webhook ${project} ${endpoint_id}`;
}

export function encrypt(secret_key: Buffer, binding: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyFor(secret_key), nonce);
  cipher.setAAD(Buffer.from(binding));
  const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([KEY_ID, nonce, cipher.getAuthTag(), encrypted]);
}

/** Throws when the key is another one, the row is another one, or a byte has changed. */
export function decrypt(secret_key: Buffer, binding: string, encrypted: Buffer): string {
  if (encrypted[0] !== KEY_ID[0]) throw new Error("The secret was encrypted with an unknown key.");
  const nonce = encrypted.subarray(1, 1 + NONCE_BYTES);
  const tag = encrypted.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", keyFor(secret_key), nonce);
  decipher.setAAD(Buffer.from(binding));
  decipher.setAuthTag(tag);
  const rest = encrypted.subarray(1 + NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(rest), decipher.final()]).toString("utf8");
}
