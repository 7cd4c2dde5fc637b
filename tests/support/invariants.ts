// What must hold in the database whatever happened: each rule lists the rows that break it. Read
// from one snapshot, over all projects.

import type { Db, Queryable } from "../../src/store/db/db.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";
import { MONEY_RULES } from "./money-rules.ts";
import { BILLED_RULE, misbilledUsage, type Rule, USAGE_RULES } from "./usage-invariants.ts";

export { BILLED_RULE };

function hourOf(at: Sql): Sql {
  return sql`to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24') || ' ' || currency`;
}

/** What was invoiced and credited in each hour, without voided invoices and top-ups. */
const NET_AND_TAX: Sql = sql`
        select project_id, kind, key, sum(count), sum(cents)
          from (
            select i.project_id, k.kind, ${hourOf(sql`i.created_at`)} as key,
                   case k.kind when 'net' then 1 else 0 end as count,
                   case k.kind when 'net' then i.subtotal_cents - i.discount_cents
                               else i.tax_cents end as cents
              from invoices i
             cross join (values ('net'), ('tax')) k (kind)
             where i.status <> 'voided' and i.invoice_type <> 'top_up'
             union all
            select n.project_id, k.kind, ${hourOf(sql`n.created_at`)}, 0,
                   -case k.kind when 'net' then n.subtotal_cents else n.tax_cents end
              from (select n.*
                      from credit_notes n
                      join invoices i on i.project_id = n.project_id and i.id = n.invoice_id
                     where i.invoice_type <> 'top_up') n
             cross join (values ('net'), ('tax')) k (kind)) t
         group by project_id, kind, key
        having sum(count) <> 0 or sum(cents) <> 0`;

const RULES: readonly Rule[] = [
  {
    name: "numbers are dense per project and year, and the counter stands at the last",
    broken: sql`
      select project_id, i.year, i.n, i.least, i.most, c.last
        from (select project_id, number_year as year, count(*) as n, min(number_seq) as least,
                     max(number_seq) as most
                from invoices
               group by project_id, number_year) i
        full join invoice_counters c using (project_id, year)
       where i.n is distinct from i.most or i.least is distinct from 1
          or c.last is distinct from i.most`,
  },
  {
    name: "an act is on one invoice",
    broken: sql`
      select project_id, subscription_id, period_no, reason, cause_no, count(*)
        from invoice_parts
       group by project_id, subscription_id, period_no, reason, cause_no
      having count(*) > 1`,
  },
  {
    name: "an invoice has the parts that it says, of its customer, each with a fee",
    broken: sql`
      select i.project_id, i.id, i.part_count, p.parts, f.parts
        from invoices i
        left join (select p.project_id, p.invoice_id, count(*) as parts, max(p.part_no) + 1 as most,
                          array_agg(s.customer_id) as customers, array_agg(s.id) as owners
                     from invoice_parts p
                     join subscriptions s
                       on s.project_id = p.project_id and s.id = p.subscription_id
                    group by p.project_id, p.invoice_id) p
          on p.project_id = i.project_id and p.invoice_id = i.id
        left join (select project_id, invoice_id, count(distinct part_no) as parts,
                          min(part_no) as least, max(part_no) + 1 as most
                     from fees
                    group by project_id, invoice_id) f
          on f.project_id = i.project_id and f.invoice_id = i.id
       where f.parts is distinct from i.part_count or f.most <> i.part_count or f.least <> 0
          or (i.invoice_type = 'subscription')
             <> (p.parts is not null and p.parts = i.part_count and p.most = i.part_count
                 and i.customer_id = all (p.customers)
                 and coalesce(i.subscription_id = all (p.owners), p.owners[1] <> any (p.owners)))
          or (i.invoice_type <> 'subscription' and p.parts is not null)`,
  },
  {
    name: "an add-on invoice has one application, of its amount and customer",
    broken: sql`
      select i.project_id, i.id, a.id as applied_id
        from (select * from invoices where invoice_type = 'addon') i
        full join applied_add_ons a on a.project_id = i.project_id and a.invoice_id = i.id
       where i.id is null or a.id is null or a.amount_cents <> i.subtotal_cents
          or a.customer_id <> i.customer_id`,
  },
  {
    name: "a project's analytics are the sums of the rows they count",
    broken: sql`
      with kept as (
        select project_id, kind, key, sum(count) as count, sum(cents) as cents from (
          table analytics_totals union all
          select project_id, kind, key, count, cents from analytics_deltas) t
         group by project_id, kind, key having sum(count) <> 0 or sum(cents) <> 0),
      counted as (
        select project_id, 'active' as kind, plan_id::text as key, count(*), sum(recurring_cents) as cents
          from subscriptions where status = 'active' group by project_id, plan_id
        union all
        select project_id, 'due', currency, count(*),
               sum(total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                   + overpaid_cents - written_off_cents)
          from invoices where status in ('outstanding', 'overdue') group by project_id, currency
        union all
        select project_id, 'paid', (paid_at at time zone 'UTC')::date || ' ' || currency,
               count(*), sum(amount_cents)
          from payments group by project_id, (paid_at at time zone 'UTC')::date, currency
        union all
        ${NET_AND_TAX}
        union all
        select project_id, 'refunded', ${hourOf(sql`refunded_at`)}, count(*), sum(amount_cents)
          from refunds group by 1, 3
        union all
        select project_id, 'wallet', currency, 0, sum(balance_cents)
          from wallets group by 1, 3 having sum(balance_cents) <> 0)
      select k.*, c.* from kept k full join counted c using (project_id, kind, key)
       where k.count is distinct from c.count or k.cents is distinct from c.cents`,
  },
  {
    name: "the periods of a subscription tile its time, but for what lies after an end",
    broken: sql`
      with periods as (
        select project_id, subscription_id, period_no, starts_at, ends_at
          from closed_periods
        union all
        select project_id, id, period_no, current_period_start, current_period_next
          from subscriptions
         where status in ('active', 'suspended')),
      line as (
        select p.*, s.started_at,
               lag(p.period_no) over w as earlier_no, lag(p.ends_at) over w as earlier_end
          from periods p
          join subscriptions s on s.project_id = p.project_id and s.id = p.subscription_id
        window w as (partition by p.project_id, p.subscription_id order by p.period_no,
                     p.starts_at))
      select project_id, subscription_id, period_no, starts_at, earlier_end
        from line l
       where period_no <> coalesce(earlier_no, 0) + 1
          or (earlier_no is null and starts_at <> started_at)
          or starts_at < earlier_end
          or (starts_at > earlier_end and not exists (
                select 1
                  from billing_events b
                 where b.project_id = l.project_id and b.resource_id = l.subscription_id
                   and b.event_type in ('subscription.terminated', 'subscription.canceled')
                   -- The workers do an end that was set a moment after its time.
                   and coalesce((b.payload ->> 'terminated_at')::timestamptz, b.created_at)
                       = l.earlier_end))`,
  },
  {
    name: "an ended subscription has its last period closed, a live one has it open",
    broken: sql`
      select s.project_id, s.id, s.status, s.period_no, c.period_no as closed_no
        from subscriptions s
        left join closed_periods c on c.project_id = s.project_id and c.subscription_id = s.id
                                  and c.period_no = s.period_no
       where (s.status in ('pending', 'active', 'suspended')) = (c.period_no is not null)
         -- Withdrawn before it began.
         and (s.terminated_at is null or s.terminated_at >= s.started_at)`,
  },
  ...USAGE_RULES,
  ...MONEY_RULES,
  {
    name: "no row refers to another project",
    broken: sql`
      select 'usage_events' as row, e.project_id, e.key as id
        from usage_events e
        left join subscriptions s on s.project_id = e.project_id and s.id = e.subscription_id
        left join metrics m on m.project_id = e.project_id and m.id = e.metric_id
       where s.id is null or m.id is null
      union all
      select 'usage_days', d.project_id, d.subscription_id
        from usage_days d
        left join subscriptions s on s.project_id = d.project_id and s.id = d.subscription_id
       where s.id is null
      union all
      select 'fees', f.project_id, f.id
        from fees f
        left join charges c on c.project_id = f.project_id and c.id = f.charge_id
       where f.charge_id is not null and c.id is null
         and not exists (
           select 1 from price_overrides o
            where o.project_id = f.project_id
              and o.charges @> jsonb_build_array(jsonb_build_object('id', f.charge_id)))
      union all
      select 'invoices', i.project_id, i.id
        from invoices i
        join subscriptions s on s.project_id = i.project_id and s.id = i.subscription_id
       where s.customer_id <> i.customer_id
      union all
      select 'billing_events', b.project_id, b.id
        from billing_events b
        join projects p on p.id = b.project_id
        left join tokens t on t.organization_id = p.organization_id and t.id = b.actor_token_id
       where b.actor_token_id is not null and t.id is null`,
  },
  {
    name: "whatever made or moved money is in the log, once",
    broken: sql`
      with made as (
        select project_id, id, 'invoice.created' as event_type from invoices
        union all
        select project_id, id, 'payment.recorded' from payments
        union all
        select project_id, id, 'credit_note.created' from credit_notes
        union all
        select project_id, id, 'refund.recorded' from refunds
        union all
        select project_id, id, 'grant.created' from grants where kind in ('free', 'paid')
        union all
        select project_id, id, 'grant.' || status from grants where status in ('expired', 'revoked')
        union all
        select project_id, id, 'coupon.applied' from applied_coupons),
      logged as (
        select project_id, resource_id as id, event_type, count(*) as n
          from billing_events
         where event_type in ('invoice.created', 'payment.recorded', 'credit_note.created',
                              'refund.recorded', 'grant.created', 'grant.expired',
                              'grant.revoked', 'coupon.applied')
         group by 1, 2, 3)
      select project_id, id, event_type, l.n
        from made
        full join logged l using (project_id, id, event_type)
       where l.n is distinct from 1 or made.id is null`,
  },
  {
    name: "a plan is not archived while it has an active subscription",
    broken: sql`
      select s.project_id, s.id
        from subscriptions s
        join plans p on p.project_id = s.project_id and p.id = s.plan_id
       where s.status = 'active' and p.archived_at > s.current_period_start`,
  },
];

/** Rules that are broken, each with its first rows; empty when all is well. */
export async function checkInvariants(db: Db): Promise<string[]> {
  return db.snapshot((tx) => brokenRules(tx));
}

export async function brokenRules(db: Queryable): Promise<string[]> {
  const broken: string[] = [];
  for (const { name, broken: query } of RULES) {
    const rows = await db.many(query);
    if (rows.length > 0) broken.push(`${name}: ${JSON.stringify(rows.slice(0, 3))}`);
  }
  const misbilled = await misbilledUsage(db);
  if (misbilled.length > 0) broken.push(`${BILLED_RULE}: ${JSON.stringify(misbilled.slice(0, 3))}`);
  return broken;
}

export const RULE_NAMES: readonly string[] = [...RULES.map(({ name }) => name), BILLED_RULE];
