// The names behind the codes on an invoice.

import type { Queryable } from "./db.ts";
import { sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type Named = { readonly code: string; readonly name: string };

export function listMetricNames(db: Queryable, project: ProjectId, codes: readonly string[]) {
  return db.many<Named>(sql`
    select code, name
      from metrics
     where project_id = ${project} and code = any(${codes}::text[])`);
}

export function listCatalogNames(db: Queryable, project: ProjectId, codes: readonly string[]) {
  return db.many<Named>(sql`
    select code, name
      from catalog_items
     where project_id = ${project} and code = any(${codes}::text[])`);
}

export function getPlanName(db: Queryable, project: ProjectId, subscription_id: string) {
  return db.maybeOne<{ name: string }>(sql`
    select p.name
      from subscriptions s
      join plans p on p.project_id = ${project} and p.id = s.plan_id
     where s.project_id = ${project} and s.id = ${subscription_id}`);
}
