// The tenants that the operator makes: the default one of an empty database, those of `dues init`,
// and another id for an organization.

import type { Config } from "../config.ts";
import { createToken } from "../operations/tenants/create-token.ts";
import { renewOrganizationId } from "../operations/tenants/renew-organization-id.ts";
import { findTenant, type Slugs, setUpTenant } from "../operations/tenants/set-up.ts";
import { DEFAULT_SCOPES } from "../schema/keys.ts";
import { lockSetup } from "../store/backup/installation.ts";
import type { Db } from "../store/db/db.ts";
import { countOrganizations } from "../store/tenants/tenants.ts";
import { keepProfile, type Profile, readProfile } from "./profile.ts";
import { StartError } from "./start-error.ts";

const FULL_TOKEN = { scopes: DEFAULT_SCOPES, project_ids: null, expires_at: null };
const DEFAULT_SLUGS: Slugs = { org: "default", workspace: "default", project: "default" };

/**
 * Creates the default tenant and a token in an empty database, and another token in an embedded one
 * where none was kept, as after a start that ended early. Undefined where there is nothing to make.
 */
export async function firstTenant(db: Db, config: Config, now: Date): Promise<Profile | undefined> {
  const isEmbedded = config.database_url === undefined;
  // Looked at without a lock first, which a cluster takes on every node: one may be away.
  if (!isEmbedded && (await countOrganizations(db)).count > 0) return undefined;
  return db.tx(async (tx) => {
    await lockSetup(tx);
    const isNew = (await countOrganizations(tx)).count === 0;
    if (!isNew && (!isEmbedded || readProfile(config) !== undefined)) return undefined;
    const tenant = isNew
      ? await setUpTenant(tx, DEFAULT_SLUGS, isEmbedded ? "sandbox" : "live", now)
      : await findTenant(tx, DEFAULT_SLUGS);
    if (tenant === undefined) return undefined;
    const wanted = { ...FULL_TOKEN, name: isNew ? "first start" : "another start" };
    const { token } = await createToken(tx, tenant.organization.id, wanted, null, now);
    return { base_url: config.base_url, ...tenant.ids, token };
  });
}

/** Creates the organization, workspace and project that are missing, and a token for them. */
export async function initTenant(
  db: Db,
  slugs: Slugs,
  mode: "live" | "sandbox",
  base_url: string,
  now: Date,
): Promise<Profile> {
  return db.tx(async (tx) => {
    await lockSetup(tx);
    const { organization, ids } = await setUpTenant(tx, slugs, mode, now);
    const wanted = { ...FULL_TOKEN, name: `${slugs.project} (init)` };
    const { token } = await createToken(tx, organization.id, wanted, null, now);
    return { base_url, ...ids, token };
  });
}

/** Gives the organization another id for POST /v1/keys, also in the kept profile. */
export async function renewOrganization(db: Db, slug: string, config: Config, now: Date) {
  const renewed = await db.tx((tx) => renewOrganizationId(tx, slug, now));
  if (renewed === undefined) throw new StartError(`No organization has the slug "${slug}".`);
  const { key_creation_id: organization_id } = renewed;
  const profile = slug === DEFAULT_SLUGS.org ? readProfile(config) : undefined;
  if (profile) keepProfile(config, profile.base_url, { ...profile, organization_id });
  return { organization_id };
}
