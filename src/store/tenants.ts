// Organizations, workspaces and projects. The only tables that are not a project's own.

import { newCustomerPrefix, newId, newSecretId } from "../ids.ts";
import type { Organization, Project, ProjectCreate, Workspace } from "../schema/tenants.ts";
import type { Queryable, Tx } from "./db.ts";
import type { Binding } from "./keys.ts";
import { type Sql, sql } from "./sql.ts";

declare const projectId: unique symbol;
export type ProjectId = string & { readonly [projectId]: true };

/** Of organizations whose id was never renewed it is the one they were made with. */
const ORGANIZATION: Sql = sql`id, coalesce(key_creation_id, id) as key_creation_id, slug, name,
  created_at`;

/** A project's settings for billing, and the time of its clock when that is frozen. */
export type ProjectSettings = {
  readonly id: ProjectId;
  readonly organization_id: string;
  readonly mode: "live" | "sandbox";
  readonly frozen_at: Date | null;
  readonly default_currency: string;
  readonly net_payment_days: number;
  readonly late_usage_periods: number;
};

export const SETTINGS_COLUMNS: Sql = sql`p.id, p.organization_id, p.mode, p.frozen_at,
  p.default_currency, p.net_payment_days, p.late_usage_periods`;

const WORKSPACE: Sql = sql`id, slug, name, created_at`;
const PROJECT: Sql = sql`p.id, p.workspace_id, w.slug as workspace_slug, p.slug, p.name, p.mode,
  p.frozen_at, p.default_currency, p.created_at`;

/** Undefined for a project of another organization, as for one that does not exist. */
export function getSettings(db: Queryable, organization_id: string, project: string) {
  return db.maybeOne<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from projects p
     where p.id = ${project} and p.organization_id = ${organization_id}`);
}

export function getSettingsById(db: Queryable, project: ProjectId) {
  return db.one<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from projects p
     where p.id = ${project}`);
}

export function getOrganization(db: Queryable, id: string) {
  return db.one<Organization>(sql`
    select ${ORGANIZATION}
      from organizations
     where id = ${id}`);
}

export function getOrganizationBySlug(db: Queryable, slug: string) {
  return db.maybeOne<Organization>(sql`
    select ${ORGANIZATION}
      from organizations
     where slug = ${slug}`);
}

/** By the id that POST /v1/keys takes, which `renewKeyCreationId` changes. */
export function findByKeyCreationId(db: Queryable, key_creation_id: string) {
  return db.maybeOne<Organization>(sql`
    select ${ORGANIZATION}
      from organizations
     where key_creation_id = ${key_creation_id}
        or (id = ${key_creation_id} and key_creation_id is null)`);
}

/** Undefined when no organization has the slug. */
export function renewKeyCreationId(tx: Tx, slug: string) {
  return tx.maybeOne<Organization>(sql`
    update organizations
       set key_creation_id = ${newSecretId()}
     where slug = ${slug}
    returning ${ORGANIZATION}`);
}

export function countOrganizations(db: Queryable) {
  return db.one<{ count: number }>(sql`select count(*) from organizations`);
}

/** Finds or creates it; two processes that start at once get the same row. */
export async function upsertOrganization(tx: Tx, slug: string, now: Date): Promise<Organization> {
  await tx.run(sql`
    insert into organizations (id, slug, name, created_at)
    values (${newSecretId()}, ${slug}, ${slug}, ${now})
    on conflict (slug) do nothing`);
  return tx.one<Organization>(sql`
    select ${ORGANIZATION}
      from organizations
     where slug = ${slug}`);
}

/** `within`: only those that hold one of these projects. */
export function listWorkspaces(db: Queryable, organization_id: string, within: Binding) {
  return db.many<Workspace>(sql`
    select ${WORKSPACE}
      from workspaces w
     where organization_id = ${organization_id}
       and (${within}::uuid[] is null or exists (
         select 1
           from projects p
          where p.organization_id = ${organization_id} and p.workspace_id = w.id
            and p.id = any(${within}::uuid[])))
     order by id desc`);
}

/** By slug or id. */
export function getWorkspace(db: Queryable, organization_id: string, ref: string) {
  return db.maybeOne<Workspace>(sql`
    select ${WORKSPACE}
      from workspaces
     where organization_id = ${organization_id} and (slug = ${ref} or id::text = ${ref})`);
}

/** Undefined when the slug is taken. */
export function insertWorkspace(
  tx: Tx,
  organization_id: string,
  workspace: { slug: string; name?: string },
  now: Date,
) {
  return tx.maybeOne<Workspace>(sql`
    insert into workspaces (organization_id, id, slug, name, created_at)
    values (${organization_id}, ${newId()}, ${workspace.slug},
            ${workspace.name ?? workspace.slug}, ${now})
    on conflict on constraint workspaces_slug_key do nothing
    returning ${WORKSPACE}`);
}

export function listProjects(
  db: Queryable,
  organization_id: string,
  filter: { workspace?: string; slug?: string; within: Binding },
) {
  return db.many<Project>(sql`
    select ${PROJECT}
      from projects p
      join workspaces w on w.organization_id = p.organization_id and w.id = p.workspace_id
     where p.organization_id = ${organization_id}
       and (${filter.workspace ?? null}::text is null
            or w.slug = ${filter.workspace ?? null} or w.id::text = ${filter.workspace ?? null})
       and (${filter.slug ?? null}::text is null or p.slug = ${filter.slug ?? null})
       and (${filter.within}::uuid[] is null or p.id = any(${filter.within}::uuid[]))
     order by p.id desc`);
}

export function getProject(
  db: Queryable,
  organization_id: string,
  workspace_id: string,
  slug: string,
) {
  return db.maybeOne<Project>(sql`
    select ${PROJECT}
      from projects p
      join workspaces w on w.organization_id = p.organization_id and w.id = p.workspace_id
     where p.organization_id = ${organization_id}
       and p.workspace_id = ${workspace_id} and p.slug = ${slug}`);
}

/** Undefined when the slug is taken in this workspace. */
export async function insertProject(
  tx: Tx,
  workspace: { organization_id: string; id: string; slug: string },
  project: Omit<ProjectCreate, "workspace">,
  now: Date,
): Promise<Project | undefined> {
  const { organization_id, id: workspace_id, slug: workspace_slug } = workspace;
  for (;;) {
    const inserted = await tx.maybeOne<Omit<Project, "workspace_slug">>(sql`
      insert into projects (id, organization_id, workspace_id, slug, name, mode, default_currency,
                            customer_prefix, created_at)
      values (${newId()}, ${organization_id}, ${workspace_id}, ${project.slug},
              ${project.name ?? project.slug}, ${project.mode ?? "live"},
              ${project.default_currency ?? "USD"}, ${newCustomerPrefix()}, ${now})
      on conflict do nothing
      returning id, workspace_id, slug, name, mode, frozen_at, default_currency, created_at`);
    if (inserted !== undefined) {
      await insertRows(tx, inserted.id as ProjectId);
      return { ...inserted, workspace_slug };
    }
    // Else another project has the prefix: one in 4 billion, for each project there is.
    if (await getProject(tx, organization_id, workspace_id, project.slug)) return undefined;
  }
}

/** The rows that each project has one of. */
async function insertRows(tx: Tx, project: ProjectId): Promise<void> {
  await Promise.all([
    tx.run(sql`insert into project_anchors (project_id) values (${project})`),
    tx.run(sql`insert into log_heads (project_id, last) values (${project}, 0)`),
  ]);
}
