// Tokens, their scopes, and the organization they belong to.

import Type, { type Static } from "typebox";
import { Name, Nullable, OneOf, Timestamp, TimestampInput, Uuid } from "./common.ts";

export const SCOPES = ["read", "write", "events", "admin", "*"] as const;
export type Scope = (typeof SCOPES)[number];
/** What a route can ask for: `*` is only granted, never asked for. */
export type RequiredScope = Exclude<Scope, "*">;
export const DEFAULT_SCOPES: readonly Scope[] = ["read", "write", "admin"];

const Scopes = Type.Array(OneOf(SCOPES), { minItems: 1, maxItems: 10, uniqueItems: true });

const PROJECTS_MAX = 50;
const ProjectIds = Type.Array(Uuid, { minItems: 1, maxItems: PROJECTS_MAX, uniqueItems: true });
const OnlyProjects = Nullable(ProjectIds);

export const Token = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    key_prefix: Type.String(),
    scopes: Scopes,
    project_ids: OnlyProjects,
    last_used_at: Nullable(Timestamp),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    revoked_at: Nullable(Timestamp),
  },
  { title: "Token" },
);
export type Token = Static<typeof Token>;

export const TokenCreate = Type.Object({
  name: Name,
  organization_id: Uuid,
  scopes: Type.Optional(Scopes),
  project_ids: Type.Optional({
    ...ProjectIds,
    description: "The only projects that the token is for. Left out: all of the organization.",
  }),
  expires_at: Type.Optional(TimestampInput),
});
export type TokenCreate = Static<typeof TokenCreate>;

export const TokenCreated = Type.Object({
  token: Type.String({ description: "The full value: shown once and not kept." }),
  id: Uuid,
  key_prefix: Type.String(),
  name: Type.String(),
  scopes: Scopes,
  project_ids: OnlyProjects,
  expires_at: Nullable(Timestamp),
});

export const WhoAmI = Type.Object({
  token: Token,
  organization: Type.Object({
    id: Type.Optional(Uuid),
    name: Type.String(),
    slug: Type.String(),
  }),
});
