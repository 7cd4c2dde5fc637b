// Generated from the OpenAPI document: the types of Workspaces and projects. Do not edit.

import type { Currency } from "./common.ts";

export type Workspace = {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly created_at: string;
};

export type ListWorkspacesReply = {
  readonly workspaces: readonly Workspace[];
  readonly has_more: boolean;
};

export type CreateWorkspaceBody = {
  readonly slug: string;
  readonly name?: string;
};

export type Project = {
  readonly id: string;
  readonly workspace_id: string;
  readonly workspace_slug: string;
  readonly slug: string;
  readonly name: string;
  /** A sandbox project has a clock that can be moved. */
  readonly mode: "live" | "sandbox";
  readonly frozen_at: string | null;
  readonly default_currency: Currency;
  readonly created_at: string;
};

export type ListProjectsQuery = {
  /** Slug or id. */
  readonly workspace?: string | undefined;
  /** Slug or id. */
  readonly slug?: string | undefined;
};

export type ListProjectsReply = {
  readonly projects: readonly Project[];
  readonly has_more: boolean;
};

export type CreateProjectBody = {
  /** Slug or id of the workspace. */
  readonly workspace: string;
  readonly slug: string;
  readonly name?: string;
  readonly mode?: "live" | "sandbox";
  readonly default_currency?: Currency;
};
