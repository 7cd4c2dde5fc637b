// Idempotency-Key: the key, a hash of the request and the answer are written with the effect.

import { createHash } from "node:crypto";
import { refuse, refuseField } from "../../errors.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import { decrypt, encrypt } from "../../store/tenants/encryption.ts";
import * as idempotency from "../../store/tenants/idempotency.ts";

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

function hashOf({ request }: Keyed): Buffer {
  return createHash("sha256").update(request).digest();
}

function bindingOf({ scope_id, key }: Keyed): string {
  return `idempotency ${scope_id} ${key}`;
}

/** What was answered under the key; another request under it is refused. */
export async function findAnswer(db: Queryable, keyed: Keyed): Promise<StoredAnswer | undefined> {
  const { scope_id, key, secret_key } = keyed;
  const known = await idempotency.get(db, scope_id, key);
  if (known === undefined) return undefined;
  if (!known.request_hash.equals(hashOf(keyed))) {
    throw refuse(
      "idempotency_conflict",
      "This Idempotency-Key was used with another request. Use a new key for a new request.",
    );
  }
  const bytes = Buffer.from(known.body, "base64");
  const kept = secret_key && decrypt(secret_key, bindingOf(keyed), bytes);
  return { status: known.status, body: kept ?? known.body, replayed: true };
}

/** Runs the work once per key: a repeat gets the first answer, whatever happened in between. */
export async function once(
  tx: Tx,
  keyed: Keyed,
  work: () => Promise<{ status: number; body: string }>,
): Promise<StoredAnswer> {
  const { scope_id, key, secret_key } = keyed;
  if (!(await idempotency.lock(tx, scope_id, key))) {
    throw refuse(
      "idempotency_in_flight",
      "A request with this Idempotency-Key is still running. Try again.",
      { headers: { "retry-after": "1" } },
    );
  }
  const known = await findAnswer(tx, keyed);
  if (known !== undefined) return known;
  const answer = await work();
  const binding = bindingOf(keyed);
  const encrypted = secret_key && encrypt(secret_key, binding, answer.body).toString("base64");
  const row = {
    key,
    request_hash: hashOf(keyed),
    status: answer.status,
    body: encrypted ?? answer.body,
  };
  await idempotency.insert(tx, scope_id, row);
  return { ...answer, replayed: false };
}
