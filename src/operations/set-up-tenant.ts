// Makes the organization, workspace and project that slugs name, as far as they are missing. The
// caller holds the lock of the setup, so that two of these follow one another.

import type { Project } from "../schema/tenants.ts";
import type { Tx } from "../store/db.ts";
import * as tenants from "../store/tenants.ts";

export type Slugs = { readonly org: string; readonly workspace: string; readonly project: string };

export async function setUpTenant(
  tx: Tx,
  slugs: Slugs,
  mode: Project["mode"],
  now: Date,
): Promise<{ organization_id: string; workspace_id: string; project_id: string }> {
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
  return { organization_id: organization.id, workspace_id: workspace.id, project_id: project.id };
}
