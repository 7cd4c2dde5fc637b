// Makes a token. The full value exists here only: it is returned once and forgotten.

import { refuse, refuseField } from "../../errors.ts";
import { newId, newToken, tokenHash, tokenPrefix } from "../../ids.ts";
import type { Token } from "../../schema/keys.ts";
import type { Tx } from "../../store/db/db.ts";
import * as billingEvents from "../../store/feeds/billing-events.ts";
import * as keys from "../../store/tenants/keys.ts";
import { logEntryOf } from "../emit.ts";

const TOKENS_MAX = 1_000;

type Wanted = Pick<Token, "name" | "expires_at"> & {
  readonly project_ids: keys.Binding;
  readonly scopes: readonly Token["scopes"][number][];
};

export async function createToken(
  tx: Tx,
  organization_id: string,
  wanted: Wanted,
  address: string | null,
  now: Date,
) {
  if (wanted.expires_at !== null && wanted.expires_at <= now) {
    throw refuseField("expires_at", "past", "expires_at has passed: the token would not be good.");
  }
  await keys.lockOrganization(tx, organization_id);
  if ((await keys.count(tx, organization_id, now)) >= TOKENS_MAX) {
    throw refuse("limit_exceeded", `An organization has at most ${TOKENS_MAX} live tokens.`);
  }
  const token = newToken();
  const row = await keys.insert(
    tx,
    organization_id,
    { ...wanted, id: newId(), key_prefix: tokenPrefix(token), hash: tokenHash(token) },
    now,
  );
  const { id, name, key_prefix, scopes, project_ids, expires_at } = row;
  const payload = { name, key_prefix, scopes, project_ids, address };
  const entry = logEntryOf(
    { type: "token.created", resource_id: id, payload },
    { actor_token_id: id },
  );
  await billingEvents.insertForOrganization(tx, organization_id, project_ids, entry, now);
  return { token, id, key_prefix, name, scopes, project_ids, expires_at };
}
