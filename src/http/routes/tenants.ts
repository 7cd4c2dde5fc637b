// Workspaces and projects of the token's organization.

import Type from "typebox";
import { refuse } from "../../errors.ts";
import { Project, ProjectCreate, Workspace, WorkspaceCreate } from "../../schema/tenants.ts";
import * as tenants from "../../store/tenants.ts";
import { requireWholeOrganization } from "../auth.ts";
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
  reply: [200, Type.Object({ workspaces: Type.Array(Workspace), has_more: Type.Boolean() })],
  async handle({ db, actor }) {
    const workspaces = await tenants.listWorkspaces(db, actor.organization_id, actor.project_ids);
    return { workspaces, has_more: false };
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
  query: Type.Object({ workspace: Ref, slug: Ref }),
  reply: [200, Type.Object({ projects: Type.Array(Project), has_more: Type.Boolean() })],
  async handle({ db, actor, query }) {
    const filter = { ...query, within: actor.project_ids };
    const projects = await tenants.listProjects(db, actor.organization_id, filter);
    return { projects, has_more: false };
  },
});

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
      throw refuse("not_found", "workspace: no workspace has this slug or id.");
    }
    const project = await tenants.insertProject(tx, { ...workspace, organization_id }, body, now);
    if (project !== undefined) return { project };
    const existing = await tenants.getProject(tx, organization_id, workspace.id, body.slug);
    throw refuse("already_exists", "A project with this slug exists in the workspace.", {
      details: [{ field: "slug", code: "taken", ...(existing && { existing_id: existing.id }) }],
    });
  },
});

export const tenantRoutes: Route[] = [listWorkspaces, createWorkspace, listProjects, createProject];
