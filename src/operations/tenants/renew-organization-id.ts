// Gives an organization another id for POST /v1/keys: the one before no longer makes tokens.

import type { Organization } from "../../schema/tenants.ts";
import type { Tx } from "../../store/db/db.ts";
import * as billingEvents from "../../store/feeds/billing-events.ts";
import * as tenants from "../../store/tenants/tenants.ts";
import { logEntryOf } from "../emit.ts";

/** Undefined when no organization has the slug. */
export async function renewOrganizationId(
  tx: Tx,
  slug: string,
  now: Date,
): Promise<Organization | undefined> {
  const organization = await tenants.renewKeyCreationId(tx, slug);
  if (organization === undefined) return undefined;
  // Neither id stands in the log: whoever may read it would else know what makes tokens.
  for (const id of await tenants.listProjectIds(tx, organization.id, null)) {
    const fact = { type: "organization.id_renewed" as const, resource_id: id, payload: { slug } };
    billingEvents.insert(tx, id, [logEntryOf(fact, { actor_token_id: null })], now);
  }
  return organization;
}
