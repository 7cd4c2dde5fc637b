// What plans, metrics and catalog items are called now: fees keep it when they are made.

import type { NameBook } from "../../domain/names.ts";
import type { ProjectId } from "../../ids.ts";
import type { Queryable } from "../db/db.ts";
import { sql } from "../db/sql.ts";

export async function getBook(
  db: Queryable,
  project: ProjectId,
  wanted: {
    readonly plan_ids: readonly string[];
    readonly metric_ids: readonly string[];
    readonly item_codes: readonly string[];
  },
): Promise<NameBook> {
  const rows = await db.many<{ kind: string; key: string; name: string }>(sql`
    select 'plan' as kind, id::text as key, name
      from plans
     where project_id = ${project} and id = any(${wanted.plan_ids}::uuid[])
     union all
    select 'metric', id::text, name
      from metrics
     where project_id = ${project} and id = any(${wanted.metric_ids}::uuid[])
     union all
    select 'item', code, name
      from catalog_items
     where project_id = ${project} and code = any(${wanted.item_codes}::text[])`);
  const of = (kind: string) =>
    new Map(rows.filter((row) => row.kind === kind).map(({ key, name }) => [key, name]));
  return { plans: of("plan"), metrics: of("metric"), items: of("item") };
}
