// Idempotency-Key: the key, a hash of the request and the answer are written with the effect.

import { createHash } from "node:crypto";
import { refuse, refuseField } from "../errors.ts";
import type { Tx } from "../store/db.ts";
import * as idempotency from "../store/idempotency.ts";

const KEY_MAX = 255;

export type Answered = {
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

/** Runs the work once per key: a repeat gets the first answer, whatever happened in between. */
export async function once(
  tx: Tx,
  scope_id: string,
  key: string,
  request: string,
  now: Date,
  work: () => Promise<{ status: number; body: string }>,
): Promise<Answered> {
  const hash = createHash("sha256").update(request).digest();
  if (!(await idempotency.lock(tx, scope_id, key))) {
    throw refuse(
      "idempotency_in_flight",
      "A request with this Idempotency-Key is still running. Try again.",
      { headers: { "retry-after": "1" } },
    );
  }
  const known = await idempotency.get(tx, scope_id, key);
  if (known !== undefined) {
    if (!known.request_hash.equals(hash)) {
      throw refuse(
        "idempotency_conflict",
        "This Idempotency-Key was used with another request. Use a new key for a new request.",
      );
    }
    return { status: known.status, body: known.body, replayed: true };
  }
  const answer = await work();
  await idempotency.insert(tx, scope_id, { key, request_hash: hash, ...answer }, now);
  return { ...answer, replayed: false };
}
