// Tokens: made by whoever knows the organization's id, listed and revoked by the organization.

import Type from "typebox";
import { parseTimestamp } from "../../domain/dates.ts";
import { refuse } from "../../errors.ts";
import { canonicalUuid } from "../../ids.ts";
import { createToken } from "../../operations/create-token.ts";
import { entryOf } from "../../operations/emit.ts";
import { DEFAULT_SCOPES, Token, TokenCreate, TokenCreated, WhoAmI } from "../../schema/keys.ts";
import * as billingEvents from "../../store/billing-events.ts";
import * as keys from "../../store/keys.ts";
import { getOrganization } from "../../store/tenants.ts";
import { mayDo } from "../auth.ts";
import { networkOf, RateLimit } from "../rate-limit.ts";
import { own, type Route, read, write } from "../route.ts";

const RATE = { burst: 300, per_minute: 60 };
/** It takes no token, so it gets little room. */
const BODY_BYTES_MAX = 4 * 1024;

const tag = "Tokens";

/** A function, because each server counts its own callers. */
export function keyRoutes(): Route[] {
  const perAddress = new RateLimit(RATE);

  const createKey = own({
    method: "POST",
    path: "/v1/keys",
    id: "createKey",
    errors: [
      "unauthorized",
      "forbidden",
      "not_found",
      "limit_exceeded",
      "rate_limited",
      "unavailable",
    ],
    tag,
    summary: "Create a token",
    description:
      "Needs no authentication: the organization's id is the secret. KEY_CREATION narrows who may.",
    scope: "public",
    project: "none",
    body: TokenCreate,
    body_max: BODY_BYTES_MAX,
    reply: [201, TokenCreated],
    async handle({ context, db, gate, body, now, request }) {
      perAddress.take(networkOf(request.ip));
      const { config } = context;
      const organization_id = body.organization_id.toLowerCase();
      const organization = await getOrganization(db, organization_id);
      if (config.key_creation !== "open") {
        const isStarted = organization !== undefined && (await keys.hasHad(db, organization.id));
        if (config.key_creation === "authenticated" || isStarted) {
          const actor = await gate.authenticate(request);
          if (actor.organization_id !== organization_id || !mayDo(actor, "admin")) {
            throw refuse(
              "forbidden",
              'A token with the scope "admin" of this organization is needed.',
            );
          }
        }
      }
      if (organization === undefined) {
        throw refuse("not_found", "organization_id: no organization has this id.");
      }
      const expires_at = body.expires_at ? (parseTimestamp(body.expires_at) ?? null) : null;
      const wanted = { name: body.name, scopes: body.scopes ?? DEFAULT_SCOPES, expires_at };
      return db.tx((tx) => createToken(tx, organization_id, wanted, request.ip, now));
    },
  });

  return [createKey, listKeys, whoAmI, revokeKey];
}

const listKeys = read({
  method: "GET",
  path: "/v1/keys",
  id: "listKeys",
  tag,
  summary: "List the organization's tokens",
  scope: "read",
  project: "none",
  reply: [200, Type.Object({ tokens: Type.Array(Token), has_more: Type.Boolean() })],
  async handle({ db, actor }) {
    return { tokens: await keys.list(db, actor.organization_id), has_more: false };
  },
});

const whoAmI = read({
  method: "GET",
  path: "/v1/keys/me",
  id: "getCurrentKey",
  tag,
  summary: "The current token and its organization",
  description:
    "The organization's id is shown to admin tokens only: whoever knows it can make tokens.",
  scope: "read",
  project: "none",
  reply: [200, WhoAmI],
  async handle({ db, actor }) {
    const token = await keys.get(db, actor.organization_id, actor.token_id);
    const organization = await getOrganization(db, actor.organization_id);
    if (organization === undefined) throw new Error("A token without an organization.");
    const { id, name, slug } = organization;
    return { token, organization: { ...(mayDo(actor, "admin") && { id }), name, slug } };
  },
});

const revokeKey = write({
  method: "DELETE",
  path: "/v1/keys/:id",
  id: "revokeKey",
  tag,
  summary: "Revoke a token",
  scope: "admin",
  project: "none",
  params: { id: "Id of the token." },
  reply: [204, null],
  async handle({ tx, gate, actor, params, now, afterCommit }) {
    const id = canonicalUuid(params.id ?? "");
    const revoked = id && (await keys.revoke(tx, actor.organization_id, id, now));
    if (!revoked) throw refuse("not_found", "No live token has this id.");
    const payload = { name: revoked.name, key_prefix: revoked.key_prefix };
    const fact = { type: "token.revoked" as const, resource_id: revoked.id, payload };
    const entry = entryOf(fact, { actor_token_id: actor.token_id });
    await billingEvents.insertForOrganization(tx, actor.organization_id, entry, now);
    afterCommit(() => gate.forget());
  },
});
