// Organizations, workspaces and projects.

import Type, { type Static } from "typebox";
import { Currency, Nullable, OneOf, Text, Timestamp, Uuid } from "./common.ts";

export const SLUG_PATTERN = "^[a-z0-9][a-z0-9-]{0,62}$";
export const Slug = Type.String({
  pattern: SLUG_PATTERN,
  "x-must": "have 1 to 63 lower-case letters, digits and hyphens, and not begin with a hyphen",
});

export type Organization = {
  id: string;
  /** What callers know as the organization's id: POST /v1/keys takes it, and it can be renewed. */
  key_creation_id: string;
  slug: string;
  name: string;
  created_at: Date;
};

export const Workspace = Type.Object(
  { id: Uuid, slug: Slug, name: Type.String(), created_at: Timestamp },
  { title: "Workspace" },
);
export type Workspace = Static<typeof Workspace>;

export const WorkspaceCreate = Type.Object({ slug: Slug, name: Type.Optional(Text) });
export type WorkspaceCreate = Static<typeof WorkspaceCreate>;

export const PROJECT_MODES = ["live", "sandbox"] as const;

export const Project = Type.Object(
  {
    id: Uuid,
    workspace_id: Uuid,
    workspace_slug: Slug,
    slug: Slug,
    name: Type.String(),
    mode: OneOf(PROJECT_MODES, "A sandbox project has a clock that can be moved."),
    frozen_at: Nullable(Timestamp),
    default_currency: Currency,
    created_at: Timestamp,
  },
  { title: "Project" },
);
export type Project = Static<typeof Project>;

export const ProjectCreate = Type.Object({
  workspace: Type.String({ maxLength: 64, description: "Slug or id of the workspace." }),
  slug: Slug,
  name: Type.Optional(Text),
  mode: Type.Optional(OneOf(PROJECT_MODES)),
  default_currency: Type.Optional(Currency),
});
export type ProjectCreate = Static<typeof ProjectCreate>;
