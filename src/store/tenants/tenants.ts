// Organizations, workspaces and projects. The only tables that are not a project's own.

import { newCustomerPrefix, newId, newSecretId, type ProjectId } from "../../ids.ts";
import type { InvoiceGrouping } from "../../schema/enums.ts";
import type { Organization, Project, ProjectCreate, Workspace } from "../../schema/tenants.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";
import type { Binding } from "./keys.ts";

/** The id that makes keys is an organization's own, as long as it was never renewed. */
const ORGANIZATION: Sql = sql`id, coalesce(key_creation_id, id) as key_creation_id, slug, name,
  created_at`;

/** A project's settings for billing, and the time of its clock when that is frozen. */
export type ProjectSettings = {
  readonly id: ProjectId;
  readonly organization_id: string;
  readonly mode: "live" | "sandbox";
  /** The time of a frozen clock; null: the real time, as a live project always has. */
  readonly frozen_at: Date | null;
  readonly default_currency: string;
  readonly net_payment_days: number;
  readonly late_usage_periods: number;
  /** What makes one invoice where a customer does not say. */
  readonly invoice_grouping: InvoiceGrouping;
  /** Whether a customer gets, or ever got, one invoice of what falls due together. */
  readonly groups_customers: boolean;
};

const PLAIN_SETTINGS: Sql = sql`p.id, p.organization_id, p.mode, p.default_currency,
  p.net_payment_days, p.late_usage_periods, p.invoice_grouping, p.groups_customers`;
/** The settings of a project `p` with its clock `k`, which only a sandbox has. */
export const SETTINGS_COLUMNS: Sql = sql`${PLAIN_SETTINGS}, k.frozen_at`;

const WORKSPACE: Sql = sql`id, slug, name, created_at`;
const PROJECT: Sql = sql`p.id, p.workspace_id, w.slug as workspace_slug, p.slug, p.name, p.mode,
  p.default_currency, p.created_at`;

/**
 * A project's settings; undefined if it is another organization's, or does not exist. Needs no node
 * of a cluster but the one that is asked, so it knows no frozen clock: for a sandbox, see clock.ts.
 */
export function getSettings(db: Queryable, organization_id: string, project: string) {
  return db.maybeOne<ProjectSettings>(sql`
    select ${PLAIN_SETTINGS}, null::timestamptz as frozen_at
      from projects p
     where p.id = ${project} and p.organization_id = ${organization_id}`);
}

export function getSettingsById(db: Queryable, project: ProjectId) {
  return db.one<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from project_anchors a
      join projects p on p.id = ${project}
      left join project_clocks k on k.project_id = ${project}
     where a.project_id = ${project}`);
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

/** The organization with the id that POST /v1/keys takes, which `renewKeyCreationId` changes. */
export function findByKeyCreationId(db: Queryable, key_creation_id: string) {
  return db.maybeOne<Organization>(sql`
    select ${ORGANIZATION}
      from organizations
     where key_creation_id = ${key_creation_id}
        or (id = ${key_creation_id} and key_creation_id is null)`);
}

/** Gives an organization a new id that makes keys; undefined when none has the slug. */
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

/** Finds or makes an organization; two processes that start at once get the same row. */
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

/** The workspaces, if `within` is not null only those that hold one of its projects. */
export function listWorkspaces(
  db: Queryable,
  organization_id: string,
  within: Binding,
  request: PageRequest,
) {
  const isWithin = sql`(${within}::uuid[] is null or exists (
         select 1
           from projects p
          where p.organization_id = ${organization_id} and p.workspace_id = w.id
            and p.id = any(${within}::uuid[])))`;
  return page<Workspace>(
    db,
    {
      columns: WORKSPACE,
      from: sql`workspaces w`,
      where: [sql`w.organization_id = ${organization_id}`, isWithin],
      project: sql`w.organization_id`,
      order: [{ column: sql`w.id`, type: sql`uuid` }],
    },
    request,
  );
}

/** The workspace with this slug or id. */
export function getWorkspace(db: Queryable, organization_id: string, ref: string) {
  return db.maybeOne<Workspace>(sql`
    select ${WORKSPACE}
      from workspaces
     where organization_id = ${organization_id} and (slug = ${ref} or id::text = ${ref})`);
}

/** Makes a workspace; undefined when the slug is taken. */
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

/** A project as every node of a cluster knows it. */
export type PlainProject = Omit<Project, "frozen_at">;

export type SlugFilter = {
  readonly workspace?: string;
  readonly slug?: string;
  readonly within: Binding;
};

export function listProjects(
  db: Queryable,
  organization_id: string,
  filter: SlugFilter,
  request: PageRequest,
) {
  const { workspace, slug, within } = filter;
  const where = [
    sql`p.organization_id = ${organization_id}`,
    sql`(${within}::uuid[] is null or p.id = any(${within}::uuid[]))`,
  ];
  if (workspace !== undefined) {
    where.push(sql`(w.slug = ${workspace} or w.id::text = ${workspace})`);
  }
  if (slug !== undefined) where.push(sql`p.slug = ${slug}`);
  return page<PlainProject>(
    db,
    {
      columns: PROJECT,
      from: sql`projects p
      join workspaces w on w.organization_id = p.organization_id and w.id = p.workspace_id`,
      where,
      project: sql`p.organization_id`,
      order: [{ column: sql`p.id`, type: sql`uuid` }],
    },
    request,
  );
}

/** The ids of an organization's projects, or of those within the binding. */
export async function listProjectIds(
  db: Queryable,
  organization_id: string,
  within: Binding,
): Promise<ProjectId[]> {
  const rows = await db.many<{ id: ProjectId }>(sql`
    select id
      from projects
     where organization_id = ${organization_id}
       and (${within}::uuid[] is null or id = any(${within}::uuid[]))
     order by id`);
  return rows.map(({ id }) => id);
}

/** The projects among these ids that a token with this binding may reach. */
export function listKnown(
  db: Queryable,
  organization_id: string,
  ids: readonly string[],
  within: Binding,
) {
  return db.many<{ id: string }>(sql`
    select id
      from projects
     where organization_id = ${organization_id} and id = any(${ids}::uuid[])
       and (${within}::uuid[] is null or id = any(${within}::uuid[]))`);
}

export function getProject(
  db: Queryable,
  organization_id: string,
  workspace_id: string,
  slug: string,
) {
  return db.maybeOne<PlainProject>(sql`
    select ${PROJECT}
      from projects p
      join workspaces w on w.organization_id = p.organization_id and w.id = p.workspace_id
     where p.organization_id = ${organization_id}
       and p.workspace_id = ${workspace_id} and p.slug = ${slug}`);
}

/** Makes a project; undefined when the slug is taken in this workspace. */
export async function insertProject(
  tx: Tx,
  workspace: { organization_id: string; id: string; slug: string },
  project: Omit<ProjectCreate, "workspace">,
  now: Date,
): Promise<PlainProject | undefined> {
  const { organization_id, id: workspace_id, slug: workspace_slug } = workspace;
  for (;;) {
    const inserted = await tx.maybeOne<Omit<PlainProject, "workspace_slug">>(sql`
      insert into projects (id, organization_id, workspace_id, slug, name, mode, default_currency,
                            customer_prefix, created_at)
      values (${newId()}, ${organization_id}, ${workspace_id}, ${project.slug},
              ${project.name ?? project.slug}, ${project.mode ?? "live"},
              ${project.default_currency ?? "USD"}, ${newCustomerPrefix()}, ${now})
      on conflict do nothing
      returning id, workspace_id, slug, name, mode, default_currency, created_at`);
    if (inserted !== undefined) {
      await insertRows(tx, inserted.id as ProjectId, inserted.mode);
      return { ...inserted, workspace_slug };
    }
    // Another project has the prefix: one in 4 billion, for each project there is.
    if (await getProject(tx, organization_id, workspace_id, project.slug)) return undefined;
  }
}

/** Makes the rows that each project has one of, and the clock of a sandbox. */
async function insertRows(tx: Tx, project: ProjectId, mode: Project["mode"]): Promise<void> {
  await Promise.all([
    tx.run(sql`insert into project_anchors (project_id) values (${project})`),
    tx.run(sql`insert into log_heads (project_id, last) values (${project}, 0)`),
    mode === "sandbox" && tx.run(sql`insert into project_clocks (project_id) values (${project})`),
  ]);
}
