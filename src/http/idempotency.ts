// Idempotency-Key: the key, a hash of the request and the answer are written with the effect.

import { createHash } from "node:crypto";
import { refuse, refuseField } from "../errors.ts";
import type { Tx } from "../store/db.ts";
import { decrypt, encrypt } from "../store/encryption.ts";
import * as idempotency from "../store/idempotency.ts";

const KEY_MAX = 255;

export type StoredAnswer = {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
};

export function keyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || header.length === 0 || header.length > KEY_MAX) {
    throw refuseField(
      "Idempotency-Key",
      "length",
      `Idempotency-Key takes 1 to ${KEY_MAX} characters.`,
    );
  }
  return header;
}

export type Keyed = {
  readonly scope_id: string;
  readonly key: string;
  /** What was asked: another request under the same key is a conflict. */
  readonly request: string;
  /** Given when the answer carries a secret: it is then stored encrypted. */
  readonly secret_key?: Buffer;
};

/** Runs the work once per key: a repeat gets the first answer, whatever happened in between. */
export async function once(
  tx: Tx,
  keyed: Keyed,
  now: Date,
  work: () => Promise<{ status: number; body: string }>,
): Promise<StoredAnswer> {
  const { scope_id, key, secret_key } = keyed;
  const request_hash = createHash("sha256").update(keyed.request).digest();
  if (!(await idempotency.lock(tx, scope_id, key))) {
    throw refuse(
      "idempotency_in_flight",
      "A request with this Idempotency-Key is still running. Try again.",
      { headers: { "retry-after": "1" } },
    );
  }
  const known = await idempotency.get(tx, scope_id, key);
  const binding = `idempotency ${scope_id} ${key}`;
  if (known !== undefined) {
    if (!known.request_hash.equals(request_hash)) {
      throw refuse(
        "idempotency_conflict",
        "This Idempotency-Key was used with another request. Use a new key for a new request.",
      );
    }
    const kept = secret_key && decrypt(secret_key, binding, Buffer.from(known.body, "base64"));
    return { status: known.status, body: kept ?? known.body, replayed: true };
  }
  const answer = await work();
  const encrypted = secret_key && encrypt(secret_key, binding, answer.body).toString("base64");
  const row = { key, request_hash, status: answer.status, body: encrypted ?? answer.body };
  await idempotency.insert(tx, scope_id, row, now);
  return { ...answer, replayed: false };
}
