// Which projects have billing work waiting. These statements look across projects and list them;
// the work is then claimed project by project, so that a large one does not hold up the others.

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import { type ProjectSettings, SETTINGS_COLUMNS } from "./tenants.ts";

/** `work` finds a row that is due `at`; for a sandbox project that is the time of its own clock. */
function projectsWith(db: Queryable, now: Date, work: (at: Sql) => Sql) {
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
  return projectsWith(
    db,
    now,
    (at) => sql`
      select 1
        from closed_periods c
       where c.project_id = p.id and c.settle_at <= ${at}`,
  );
}

export function withOverdueInvoices(db: Queryable, now: Date) {
  return projectsWith(
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
  return projectsWith(
    db,
    now,
    (at) => sql`
      select 1
        from invoices i
       where i.project_id = p.id and i.dunning_on <= (${at} at time zone 'UTC')::date`,
  );
}
