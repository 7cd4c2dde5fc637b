// Which projects have work waiting. The only statements that look across projects: they list
// project ids, and the work itself is then claimed project by project, which keeps tenants fair.

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import { type ProjectId, type ProjectSettings, SETTINGS_COLUMNS } from "./tenants.ts";

/** A sandbox project is due by its own clock. */
function dueProjects(db: Queryable, now: Date, work: (at: Sql) => Sql) {
  const at = sql`coalesce(p.frozen_at, ${now})`;
  // across projects: one index probe each.
  return db.many<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from projects p
     where exists (${work(at)})`);
}

export type Ended = ProjectSettings & {
  /** Whether some of the periods ended after the project's cutoff, which must be raised first. */
  readonly beyond_cutoff: boolean;
};

export function withEndedPeriods(db: Queryable, now: Date) {
  const at = sql`coalesce(p.frozen_at, ${now})`;
  const ended = sql`
      select 1
        from subscriptions s
       where s.project_id = p.id and s.status in ('active', 'suspended')
         and s.current_period_next <= ${at}
         and (s.set_aside_until is null or s.set_aside_until <= ${DATABASE_NOW})`;
  // across projects: one index probe each.
  return db.many<Ended>(sql`
    select ${SETTINGS_COLUMNS},
           exists (${ended}
         and s.current_period_next > coalesce((
               select closing_until from usage_cutoffs u where u.project_id = p.id), '-infinity')
           ) as beyond_cutoff
      from projects p
     where exists (${ended})`);
}

export function withLateUsage(db: Queryable, now: Date) {
  return dueProjects(
    db,
    now,
    (at) => sql`
      select 1
        from closed_periods c
       where c.project_id = p.id and c.settle_at <= ${at}`,
  );
}

export function withOverdueInvoices(db: Queryable, now: Date) {
  return dueProjects(
    db,
    now,
    (at) => sql`
      select 1
        from invoices i
       where i.project_id = p.id and i.status = 'outstanding'
         and i.due_date < (${at} at time zone 'UTC')::date`,
  );
}

export function withDunningDue(db: Queryable, now: Date) {
  return dueProjects(
    db,
    now,
    (at) => sql`
      select 1
        from invoices i
       where i.project_id = p.id and i.dunning_on <= (${at} at time zone 'UTC')::date`,
  );
}

/** Subscriptions whose period is over, unlocked, in the order in which they are closed. */
export async function listEnded(db: Queryable, project: ProjectId, now: Date, limit: number) {
  const rows = await db.many<{ id: string }>(sql`
    select id
      from subscriptions
     where project_id = ${project} and status in ('active', 'suspended')
       and current_period_next <= ${now}
       and (set_aside_until is null or set_aside_until <= ${DATABASE_NOW})
     order by current_period_next, id
     limit ${limit}`);
  return rows.map((row) => row.id);
}
