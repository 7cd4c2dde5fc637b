// Tokens: made by whoever knows the organization's id, listed and revoked by the organization.

import Type from "typebox";
import { parseTimestamp } from "../../domain/dates.ts";
import { notFound, refuse } from "../../errors.ts";
import { canonicalUuid } from "../../ids.ts";
import { logEntryOf } from "../../operations/emit.ts";
import { createToken } from "../../operations/tenants/create-token.ts";
import { CursorPage, OneOf, WholeQuery } from "../../schema/common.ts";
import { DEFAULT_SCOPES, Token, TokenCreate, TokenCreated, WhoAmI } from "../../schema/keys.ts";
import type { Organization } from "../../schema/tenants.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as billingEvents from "../../store/feeds/billing-events.ts";
import * as keys from "../../store/tenants/keys.ts";
import { findByKeyCreationId, getOrganization, listKnown } from "../../store/tenants/tenants.ts";
import { networkOf, RateLimit } from "../admission/rate-limit.ts";
import { type Actor, mayDo } from "../request/auth.ts";
import { keyOf, once, type StoredAnswer } from "../request/idempotency.ts";
import { Cursors } from "../request/paging.ts";
import { JSON_TYPE } from "../responses.ts";
import {
  type Call,
  Content,
  type HeaderFields,
  ownTransactions,
  Reply,
  type Route,
  read,
  write,
} from "../route.ts";

const RATE = { burst: 300, per_minute: 60 };
/** The room of a body that is sent without a token. */
const BODY_BYTES_MAX = 4 * 1024;

const tag = "Tokens";

/** A function, because each server counts its own callers. */
export function keyRoutes(): Route[] {
  const perAddress = new RateLimit(RATE);

  const createKey = ownTransactions({
    method: "POST",
    path: "/v1/keys",
    replays: "within",
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
      "Needs no authentication: the organization's id is the secret. KEY_CREATION narrows who may. A token that is for some projects makes tokens for no others.",
    scope: "public",
    project: "none",
    body: TokenCreate,
    body_max: BODY_BYTES_MAX,
    reply: [201, TokenCreated],
    async handle({ context, db, gate, body, now, request }) {
      perAddress.take(networkOf(request.ip));
      const organization = await findByKeyCreationId(db, body.organization_id.toLowerCase());
      const maker = await makerOf({ context, db, gate, request }, organization);
      if (organization === undefined) {
        throw notFound("organization", { field: "organization_id" });
      }
      const project_ids = await bindingOf(db, organization.id, body.project_ids, maker);
      const expires_at = body.expires_at ? (parseTimestamp(body.expires_at) ?? null) : null;
      const { name, scopes = DEFAULT_SCOPES } = body;
      const wanted = { name, scopes, project_ids, expires_at };
      const make = (tx: Tx) => createToken(tx, organization.id, wanted, request.ip, now);
      const key = keyOf(request.headers["idempotency-key"]);
      if (key === undefined) return db.tx(make);
      const { secret_key } = context;
      const scope_id = maker?.project_ids ? maker.token_id : organization.id;
      const asked = JSON.stringify([request.method, request.url, body]);
      const keyed = { scope_id, key, request: asked, secret_key };
      return kept(await db.tx((tx) => once(tx, keyed, () => created(make(tx)))));
    },
  });

  return [createKey, listKeys, whoAmI, revokeKey];
}

async function created(token: Promise<unknown>) {
  return { status: 201, body: JSON.stringify(await token) };
}

function kept({ status, body, replayed }: StoredAnswer): Reply<Content> {
  const headers: HeaderFields = replayed ? { "idempotent-replayed": "true" } : {};
  return new Reply(status, new Content(JSON_TYPE, body), headers);
}

type Asked = Pick<Call, "context" | "db" | "gate" | "request">;

/** The token that another one is made with; undefined where KEY_CREATION asks for none. */
async function makerOf(
  { context, db, gate, request }: Asked,
  organization: Organization | undefined,
): Promise<Actor | undefined> {
  const { key_creation } = context.config;
  if (key_creation === "open") return undefined;
  const isStarted = organization !== undefined && (await keys.hasHad(db, organization.id));
  if (key_creation === "bootstrap" && !isStarted) return undefined;
  const actor = await gate.authenticate(request);
  if (actor.organization_id !== organization?.id || !mayDo(actor, "admin")) {
    throw refuse("forbidden", 'A token with the scope "admin" of this organization is needed.');
  }
  return actor;
}

/** The projects that a new token is for: of its organization, and no others than its maker's. */
async function bindingOf(
  db: Queryable,
  organization_id: string,
  wanted: readonly string[] | undefined,
  maker: Actor | undefined,
): Promise<keys.Binding> {
  const within = maker?.project_ids ?? null;
  if (wanted === undefined) {
    if (within === null) return null;
    throw refuse(
      "forbidden",
      "This token is for some projects only: name some of them in project_ids.",
    );
  }
  const ids = [...new Set(wanted.map((id) => id.toLowerCase()))];
  const known = await listKnown(db, organization_id, ids, within);
  const unknown = ids.find((id) => !known.some((project) => project.id === id));
  if (unknown !== undefined) {
    throw refuse("not_found", `project_ids: no project has the id ${unknown}.`);
  }
  return ids;
}

const listKeys = read({
  method: "GET",
  path: "/v1/keys",
  id: "listKeys",
  tag,
  summary: "List the organization's tokens",
  description:
    "Those that live; with state=all also expired and revoked ones. A token that is for some projects sees those that are for no others. Expired ones are removed after 30 days, all but the newest token.",
  scope: "read",
  project: "none",
  query: Type.Object({
    ...WholeQuery,
    state: Type.Optional(OneOf(["live", "all"], "all: expired and revoked ones too.")),
  }),
  reply: [200, CursorPage("tokens", Token)],
  async handle({ context, db, actor, query, now }) {
    const { organization_id, project_ids: within } = actor;
    const { state = "live" } = query;
    const works_at = state === "live" ? now : null;
    const cursors = new Cursors(context.secret_key, organization_id, "tokens", { state });
    const found = await keys.list(db, organization_id, { within, works_at }, cursors.whole(query));
    return { tokens: found.rows, ...cursors.foot(found) };
  },
});

const whoAmI = read({
  method: "GET",
  path: "/v1/keys/me",
  id: "getCurrentKey",
  tag,
  summary: "The current token and its organization",
  description:
    "The organization's id is shown to admin tokens only: whoever knows it can make tokens. One that is for some projects sees it where KEY_CREATION is not open.",
  scope: "read",
  project: "none",
  reply: [200, WhoAmI],
  async handle({ context, db, actor }) {
    const token = await keys.get(db, actor.organization_id, actor.token_id);
    const { key_creation_id: id, name, slug } = await getOrganization(db, actor.organization_id);
    // The id is not shown to a token for some projects where it is enough to make any token.
    const isSafe = actor.project_ids === null || context.config.key_creation !== "open";
    const isShown = mayDo(actor, "admin") && isSafe;
    return { token, organization: { ...(isShown && { id }), name, slug } };
  },
});

const revokeKey = write({
  method: "DELETE",
  path: "/v1/keys/:id",
  id: "revokeKey",
  tag,
  summary: "Revoke a token",
  description: "Calls with it answer 401 from then on. It cannot be brought back.",
  scope: "admin",
  project: "none",
  params: { id: "Id of the token." },
  reply: [204, null],
  async handle({ tx, gate, actor, params, now, afterCommit }) {
    const id = canonicalUuid(params.id);
    const { organization_id, project_ids: within } = actor;
    const revoked = id && (await keys.revoke(tx, organization_id, { id, within }, now));
    if (!revoked) throw notFound("live token");
    const payload = { name: revoked.name, key_prefix: revoked.key_prefix };
    const fact = { type: "token.revoked" as const, resource_id: revoked.id, payload };
    const entry = logEntryOf(fact, { actor_token_id: actor.token_id });
    const { project_ids } = revoked;
    await billingEvents.insertForOrganization(tx, organization_id, project_ids, entry, now);
    afterCommit(() => gate.forget());
  },
});
