// Which projects have billing work waiting. These statements look across projects and list them;
// the work is then done project by project, so that a large one does not hold up the others.

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "./project-filter.ts";
import { type Sql, sql } from "./sql.ts";
import { DUE_AT, LIVE } from "./subscriptions.ts";
import { type ProjectSettings, SETTINGS_COLUMNS } from "./tenants.ts";

/** For a sandbox project, the time of its own clock. */
function projectTime(now: Date): Sql {
  return sql`coalesce(p.frozen_at, ${now})`;
}

/** `work` finds a row of the project of the anchor `a` that is due `at`. */
function projectsWith(db: Queryable, filter: ProjectFilter, now: Date, work: (at: Sql) => Sql) {
  // across projects: one index probe each.
  return db.many<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from project_anchors a
      join projects p on p.id = a.project_id
     where ${filter(sql`a.project_id`)} and exists (${work(projectTime(now))})`);
}

export type Ended = ProjectSettings & {
  /**
   * Whether the project's cutoff is before now. It must be raised first, also when all that has
   * ended did so before it: periods that follow may have ended as well, and are closed next.
   */
  readonly beyond_cutoff: boolean;
};

export function withEndedPeriods(db: Queryable, now: Date, filter: ProjectFilter = ALL_PROJECTS) {
  const ended = sql`
      select 1
        from subscriptions s
       where s.project_id = a.project_id and ${filter(sql`s.project_id`)}
         and ${LIVE} and ${DUE_AT} <= ${projectTime(now)}
         and (s.set_aside_until is null or s.set_aside_until <= ${DATABASE_NOW})`;
  // across projects: one index probe each.
  return db.many<Ended>(sql`
    select ${SETTINGS_COLUMNS},
           coalesce(c.closing_until < ${projectTime(now)}, true) as beyond_cutoff
      from project_anchors a
      join projects p on p.id = a.project_id
      left join usage_cutoffs c on c.project_id = a.project_id and ${filter(sql`c.project_id`)}
     where ${filter(sql`a.project_id`)} and exists (${ended})`);
}

export function withLateUsage(db: Queryable, now: Date, filter: ProjectFilter = ALL_PROJECTS) {
  return projectsWith(
    db,
    filter,
    now,
    (at) => sql`
      select 1
        from closed_periods c
       where c.project_id = a.project_id and ${filter(sql`c.project_id`)} and c.settle_at <= ${at}`,
  );
}

export function withOverdueInvoices(
  db: Queryable,
  now: Date,
  filter: ProjectFilter = ALL_PROJECTS,
) {
  return projectsWith(
    db,
    filter,
    now,
    (at) => sql`
      select 1
        from invoices i
       where i.project_id = a.project_id and ${filter(sql`i.project_id`)}
         and i.status = 'outstanding' and i.due_date < (${at} at time zone 'UTC')::date`,
  );
}

export function withExpiredGrants(db: Queryable, now: Date, filter: ProjectFilter = ALL_PROJECTS) {
  return projectsWith(
    db,
    filter,
    now,
    (at) => sql`
      select 1
        from grants g
       where g.project_id = a.project_id and ${filter(sql`g.project_id`)}
         and g.status in ('pending', 'active') and g.expires_at <= ${at}`,
  );
}

/** Whose ledger has changed since they were looked at. */
export function withChangedWallets(db: Queryable, now: Date, filter: ProjectFilter = ALL_PROJECTS) {
  return projectsWith(
    db,
    filter,
    now,
    (at) => sql`
      select 1
        from wallets w
       where w.project_id = a.project_id and ${filter(sql`w.project_id`)} and w.look_at <= ${at}`,
  );
}

/** That have a threshold. A frozen sandbox looks at its own when its clock is moved. */
export function withWatchedWallets(db: Queryable, now: Date, filter: ProjectFilter = ALL_PROJECTS) {
  return projectsWith(
    db,
    filter,
    now,
    () => sql`
      select 1
        from wallets w
       where w.project_id = a.project_id and ${filter(sql`w.project_id`)}
         and w.low_balance_cents is not null and p.frozen_at is null`,
  );
}

export function withDunningDue(db: Queryable, now: Date, filter: ProjectFilter = ALL_PROJECTS) {
  return projectsWith(
    db,
    filter,
    now,
    (at) => sql`
      select 1
        from invoices i
       where i.project_id = a.project_id and ${filter(sql`i.project_id`)}
         and i.dunning_on <= (${at} at time zone 'UTC')::date`,
  );
}
