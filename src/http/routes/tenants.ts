// Workspaces and projects of the token's organization.

import Type from "typebox";
import { notFound, refuse } from "../../errors.ts";
import { CursorPage, WholeQuery } from "../../schema/common.ts";
import { Project, ProjectCreate, Workspace, WorkspaceCreate } from "../../schema/tenants.ts";
import type { Db } from "../../store/db/db.ts";
import * as clock from "../../store/tenants/clock.ts";
import * as tenants from "../../store/tenants/tenants.ts";
import { requireWholeOrganization } from "../request/auth.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { type Route, read, write } from "../route.ts";

const tag = "Workspaces and projects";
const Ref = Type.Optional(Type.String({ maxLength: 64, description: "Slug or id." }));

const listWorkspaces = read({
  method: "GET",
  path: "/v1/workspaces",
  id: "listWorkspaces",
  tag,
  summary: "List workspaces",
  description: "Of the organization of the token, newest first.",
  scope: "read",
  project: "none",
  query: Type.Object({ ...WholeQuery }),
  reply: [200, CursorPage("workspaces", Workspace)],
  async handle({ context, db, actor, query }) {
    const { organization_id, project_ids } = actor;
    const cursors = new Cursors(context.secret_key, organization_id, "workspaces", {});
    const request = cursors.whole(query);
    const found = await tenants.listWorkspaces(db, organization_id, project_ids, request);
    return { workspaces: found.rows, ...cursors.foot(found) };
  },
});

const createWorkspace = write({
  method: "POST",
  path: "/v1/workspaces",
  once_by: "slug",
  id: "createWorkspace",
  errors: ["already_exists"],
  tag,
  summary: "Create a workspace",
  description: "A group for projects, named by its slug.",
  scope: "admin",
  project: "none",
  body: WorkspaceCreate,
  reply: [201, Type.Object({ workspace: Workspace })],
  async handle({ tx, actor, body, now }) {
    requireWholeOrganization(actor);
    const workspace = await tenants.insertWorkspace(tx, actor.organization_id, body, now);
    if (workspace !== undefined) return { workspace };
    const existing = await tenants.getWorkspace(tx, actor.organization_id, body.slug);
    throw refuse("already_exists", "A workspace with this slug exists.", {
      details: [{ field: "slug", code: "taken", ...(existing && { existing_id: existing.id }) }],
    });
  },
});

const listProjects = read({
  method: "GET",
  path: "/v1/projects",
  id: "listProjects",
  tag,
  summary: "List projects",
  description:
    "With workspace and slug: resolves slugs to the one project they name. A token that is for some projects sees those.",
  scope: "read",
  project: "none",
  query: Type.Object({ ...WholeQuery, workspace: Ref, slug: Ref }),
  reply: [200, CursorPage("projects", Project)],
  async handle({ context, db, actor, query }) {
    const { organization_id, project_ids } = actor;
    const asked = filtersOf(query);
    const cursors = new Cursors(context.secret_key, organization_id, "projects", asked);
    const filter = { ...asked, within: project_ids };
    const found = await tenants.listProjects(db, organization_id, filter, cursors.whole(query));
    return { projects: await withClocks(db, found.rows), ...cursors.foot(found) };
  },
});

/** Projects with their clocks; a sandbox whose clock cannot be read now is shown without. */
async function withClocks(db: Db, projects: readonly tenants.PlainProject[]) {
  const sandboxes = projects.filter(({ mode }) => mode === "sandbox").map(({ id }) => id);
  const clocks = await clock.list(db, sandboxes);
  const frozen = new Map(clocks.map(({ project_id, frozen_at }) => [project_id, frozen_at]));
  return projects.map((project) => {
    const frozen_at = project.mode === "live" ? null : frozen.get(project.id);
    return frozen_at === undefined ? project : { ...project, frozen_at };
  });
}

const createProject = write({
  method: "POST",
  path: "/v1/projects",
  once_by: "slug",
  id: "createProject",
  errors: ["not_found", "already_exists"],
  tag,
  summary: "Create a project",
  description:
    "A live one by default. One of mode sandbox has a clock that can be moved; the mode never changes.",
  scope: "admin",
  project: "none",
  body: ProjectCreate,
  reply: [201, Type.Object({ project: Project })],
  async handle({ tx, actor, body, now }) {
    requireWholeOrganization(actor);
    const { organization_id } = actor;
    const workspace = await tenants.getWorkspace(tx, organization_id, body.workspace);
    if (workspace === undefined) {
      throw notFound("workspace", { field: "workspace", by: "slug or id" });
    }
    const project = await tenants.insertProject(tx, { ...workspace, organization_id }, body, now);
    if (project !== undefined) return { project: { ...project, frozen_at: null } };
    const existing = await tenants.getProject(tx, organization_id, workspace.id, body.slug);
    throw refuse("already_exists", "A project with this slug exists in the workspace.", {
      details: [{ field: "slug", code: "taken", ...(existing && { existing_id: existing.id }) }],
    });
  },
});

export const tenantRoutes: Route[] = [listWorkspaces, createWorkspace, listProjects, createProject];
