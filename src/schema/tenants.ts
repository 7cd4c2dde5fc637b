// Organizations, workspaces and projects.

import Type, { type Static } from "typebox";
import { Currency, Name, Nullable, OneOf, Patterned, Timestamp, Uuid } from "./common.ts";

export const SLUG_PATTERN = "^[a-z0-9][a-z0-9-]{0,62}$";
export const Slug = Patterned(
  SLUG_PATTERN,
  "have 1 to 63 lower-case letters, digits and hyphens, and not begin with a hyphen",
);

export type Organization = {
  id: string;
  /** The id that callers know: POST /v1/keys takes it, and it can be renewed. */
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

export const WorkspaceCreate = Type.Object({ slug: Slug, name: Type.Optional(Name) });
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
    frozen_at: Type.Optional(Nullable(Timestamp)),
    default_currency: Currency,
    created_at: Timestamp,
  },
  { title: "Project" },
);
export type Project = Static<typeof Project>;

export const ProjectCreate = Type.Object({
  workspace: Type.String({ maxLength: 64, description: "Slug or id of the workspace." }),
  slug: Slug,
  name: Type.Optional(Name),
  mode: Type.Optional(OneOf(PROJECT_MODES)),
  default_currency: Type.Optional(Currency),
});
export type ProjectCreate = Static<typeof ProjectCreate>;
