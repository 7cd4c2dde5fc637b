// Makes the organization, workspace and project that slugs name, as far as they are missing. The
// caller holds the lock of the setup, so that two of these follow one another.

import { refuse } from "../../errors.ts";
import type { Organization, Project } from "../../schema/tenants.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as tenants from "../../store/tenants/tenants.ts";

export type Slugs = { readonly org: string; readonly workspace: string; readonly project: string };

/** The ids that callers use; that of the organization is the one that makes tokens. */
type Ids = {
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly project_id: string;
};

/** What slugs name, where all of it is there. */
export async function findTenant(
  db: Queryable,
  slugs: Slugs,
): Promise<{ readonly organization: Organization; readonly ids: Ids } | undefined> {
  const organization = await tenants.getOrganizationBySlug(db, slugs.org);
  if (organization === undefined) return undefined;
  const workspace = await tenants.getWorkspace(db, organization.id, slugs.workspace);
  if (workspace === undefined) return undefined;
  const project = await tenants.getProject(db, organization.id, workspace.id, slugs.project);
  if (project === undefined) return undefined;
  return { organization, ids: idsOf(organization, workspace, project) };
}

export async function setUpTenant(
  tx: Tx,
  slugs: Slugs,
  mode: Project["mode"],
  now: Date,
): Promise<{ readonly organization: Organization; readonly ids: Ids }> {
  const organization = await tenants.upsertOrganization(tx, slugs.org, now);
  const workspace =
    (await tenants.getWorkspace(tx, organization.id, slugs.workspace)) ??
    (await tenants.insertWorkspace(tx, organization.id, { slug: slugs.workspace }, now));
  if (workspace === undefined)
    throw new Error("The workspace's slug is taken by a transaction that has not ended.");
  const owner = { organization_id: organization.id, id: workspace.id, slug: workspace.slug };
  const project =
    (await tenants.getProject(tx, organization.id, workspace.id, slugs.project)) ??
    (await tenants.insertProject(tx, owner, { slug: slugs.project, mode }, now));
  if (project === undefined)
    throw new Error("The project's slug is taken by a transaction that has not ended.");
  // A caller who asked for a sandbox would otherwise try things out on real customers.
  if (mode === "sandbox" && project.mode === "live") {
    const name = `${slugs.workspace}/${slugs.project}`;
    throw refuse(
      "live_project",
      `The project ${name} is live and stays so. Name another one for a sandbox; nothing was made.`,
    );
  }
  return { organization, ids: idsOf(organization, workspace, project) };
}

function idsOf(
  { key_creation_id }: Organization,
  workspace: { readonly id: string },
  project: { readonly id: string },
): Ids {
  return {
    organization_id: key_creation_id,
    workspace_id: workspace.id,
    project_id: project.id,
  };
}
