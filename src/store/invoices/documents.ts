// The names behind the codes on an invoice.

import type { ProjectId } from "../../ids.ts";
import type { Queryable } from "../db/db.ts";
import { sql } from "../db/sql.ts";

export type Named = { readonly code: string; readonly name: string };

export type Dimensions = { readonly code: string; readonly dimensions: readonly string[] };

export function listDimensions(db: Queryable, project: ProjectId, codes: readonly string[]) {
  return db.many<Dimensions>(sql`
    select code, dimensions
      from metrics
     where project_id = ${project} and code = any(${codes}::text[])`);
}

/** The plans of its parts, which their subscriptions may have left since. */
export function listPlans(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.many<Named>(sql`
    select distinct p.code, p.name
      from invoice_parts t
      join subscriptions s on s.project_id = ${project} and s.id = t.subscription_id
      left join closed_periods c on c.project_id = ${project}
            and c.subscription_id = t.subscription_id and c.period_no = t.period_no
      join plans p on p.project_id = ${project} and p.id = coalesce(c.plan_id, s.plan_id)
     where t.project_id = ${project} and t.invoice_id = ${invoice_id}`);
}
