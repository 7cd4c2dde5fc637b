// Which projects have billing work waiting. These statements look across projects and list them;
// the work is then done project by project, so that a large one does not hold up the others.

import { DATABASE_NOW, type Queryable } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { type Sql, sql } from "../db/sql.ts";
import { DUE_AT, NOT_ENDED } from "../subscriptions/subscriptions.ts";
import { type ProjectSettings, SETTINGS_COLUMNS } from "../tenants/tenants.ts";

/** The time in a project: that of its own clock in a sandbox whose clock `k` is frozen. */
export function projectTime(now: Date): Sql {
  return sql`coalesce(k.frozen_at, ${now})`;
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
         and ${NOT_ENDED} and ${DUE_AT} <= ${projectTime(now)}
         and (s.set_aside_until is null or s.set_aside_until <= ${DATABASE_NOW})
       order by ${DUE_AT}
       limit 1`;
  // across projects: one index probe each.
  return db.many<Ended>(sql`
    select ${SETTINGS_COLUMNS},
           coalesce(c.closing_until < ${projectTime(now)}, true) as beyond_cutoff
      from project_anchors a
      join projects p on p.id = a.project_id
      left join project_clocks k on k.project_id = a.project_id and ${filter(sql`k.project_id`)}
      left join usage_cutoffs c on c.project_id = a.project_id and ${filter(sql`c.project_id`)}
     cross join lateral (${ended}) w
     where ${filter(sql`a.project_id`)}`);
}

/**
 * What may wait in a project: rows of the project of the anchor `a` that are due `at`, in the order
 * of their index, and since when they are.
 */
export const WORK = {
  late_usage: (at, filter) => sql`
      select c.settle_at as since
        from closed_periods c
       where c.project_id = a.project_id and ${filter(sql`c.project_id`)} and c.settle_at <= ${at}
       order by c.settle_at`,
  overdue_invoices: (at, filter) => sql`
      select (i.due_date + 1)::timestamp at time zone 'UTC' as since
        from invoices i
       where i.project_id = a.project_id and ${filter(sql`i.project_id`)}
         and i.status = 'outstanding' and i.due_date < (${at} at time zone 'UTC')::date
       order by i.due_date, i.id`,
  /** A dunning policy, where overdue invoices are still planned by a former one. */
  replan: (_, filter) => sql`
      select d.replan_queued_at as since
        from dunning_policies d
       where d.project_id = a.project_id and ${filter(sql`d.project_id`)}
         and d.replan_after is not null`,
  dunning_steps: (at, filter) => sql`
      select i.dunning_on::timestamp at time zone 'UTC' as since
        from invoices i
       where i.project_id = a.project_id and ${filter(sql`i.project_id`)}
         and i.dunning_on <= (${at} at time zone 'UTC')::date
       order by i.dunning_on, i.id`,
  expired_grants: (at, filter) => sql`
      select g.expires_at as since
        from grants g
       where g.project_id = a.project_id and ${filter(sql`g.project_id`)}
         and g.status in ('pending', 'active') and g.expires_at <= ${at}
       order by g.expires_at, g.id`,
  /** Wallets whose ledger has changed since they were looked at. */
  changed_wallets: (at, filter) => sql`
      select w.look_at as since
        from wallets w
       where w.project_id = a.project_id and ${filter(sql`w.project_id`)} and w.look_at <= ${at}
       order by w.look_at, w.customer_id, w.currency`,
  /** Wallets with a threshold, but in a frozen sandbox: its clock looks at them. */
  watched_wallets: (_, filter) => sql`
      select null::timestamptz as since
        from wallets w
       where w.project_id = a.project_id and ${filter(sql`w.project_id`)}
         and w.low_balance_cents is not null and k.frozen_at is null
       order by w.customer_id, w.currency`,
} satisfies Record<string, (at: Sql, filter: ProjectFilter) => Sql>;

export type Work = keyof typeof WORK;

/**
 * Lists the projects with such work. The row that is due first is looked for in the order of its
 * index, with a limit: with `exists` the planner took another index, or all rows, for as good, when
 * its statistics were older than what there is to do.
 */
export function withWork(
  db: Queryable,
  work: Work,
  now: Date,
  filter: ProjectFilter = ALL_PROJECTS,
) {
  // across projects: one index probe each.
  return db.many<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from project_anchors a
      join projects p on p.id = a.project_id
      left join project_clocks k on k.project_id = a.project_id and ${filter(sql`k.project_id`)}
     cross join lateral (${WORK[work](projectTime(now), filter)}
         limit 1) w
     where ${filter(sql`a.project_id`)}`);
}
