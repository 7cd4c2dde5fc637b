// What must hold in the database whatever happened: each rule lists the rows that break it. Read
// from one snapshot, over all projects.

import { decimal, isNegative, ZERO } from "../../src/domain/decimal.ts";
import { usageAmount } from "../../src/domain/money.ts";
import type { Db, Queryable } from "../../src/store/db.ts";
import { type Sql, sql } from "../../src/store/sql.ts";

type Rule = { readonly name: string; readonly broken: Sql };

/** Usage as the raw events have it, by subscription, period and metric: the truth of the sums. */
const RAW: Sql = sql`
  select e.project_id, e.subscription_id, e.period_no, e.metric_id, m.aggregation_type,
         case m.aggregation_type
           when 'sum' then sum(e.quantity)
           when 'count' then count(*)::numeric
           when 'count_unique' then count(distinct e.unique_value)::numeric
           when 'max' then max(e.quantity)
           when 'latest' then (array_agg(e.quantity order by e.at desc, e.arrival desc))[1]
         end as units
    from usage_events e
    join metrics m on m.project_id = e.project_id and m.id = e.metric_id
   where e.unbillable is null
   group by e.project_id, e.subscription_id, e.period_no, e.metric_id, m.aggregation_type`;

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
    name: "a cause has one invoice",
    broken: sql`
      select project_id, subscription_id, period_no, cause, cause_no, count(*)
        from invoices
       where subscription_id is not null
       group by project_id, subscription_id, period_no, cause, cause_no
      having count(*) > 1`,
  },
  {
    name: "an add-on invoice has one application, of its amount and customer",
    broken: sql`
      select i.project_id, i.id, a.id as applied_id
        from (select * from invoices where cause = 'add_on') i
        full join applied_add_ons a on a.project_id = i.project_id and a.invoice_id = i.id
       where i.id is null or a.id is null or a.amount_cents <> i.total_cents
          or a.customer_id <> i.customer_id`,
  },
  {
    name: "an invoice adds up to its fees",
    broken: sql`
      select i.project_id, i.id, i.subtotal_cents, f.sum
        from invoices i
        left join lateral (
          select sum(f.amount_cents) as sum, bool_and(f.amount_currency = i.currency) as same
            from fees f
           where f.project_id = i.project_id and f.invoice_id = i.id) f on true
       where i.subtotal_cents is distinct from f.sum or i.total_cents <> greatest(f.sum, 0)
          or not f.same`,
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
               sum(total_cents - amount_paid_cents - credit_applied_cents)
          from invoices where status in ('outstanding', 'overdue') group by project_id, currency
        union all
        select project_id, 'paid', (paid_at at time zone 'UTC')::date || ' ' || currency,
               count(*), sum(amount_cents)
          from payments group by project_id, (paid_at at time zone 'UTC')::date, currency)
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
                   and b.created_at = l.earlier_end))`,
  },
  {
    name: "an ended subscription has its last period closed, a live one has it open",
    broken: sql`
      select s.project_id, s.id, s.status, s.period_no, c.period_no as closed_no
        from subscriptions s
        left join closed_periods c on c.project_id = s.project_id and c.subscription_id = s.id
                                  and c.period_no = s.period_no
       where (s.status in ('active', 'suspended')) = (c.period_no is not null)`,
  },
  {
    name: "daily sums are what the raw events give",
    broken: sql`
      with raw as (
        select project_id, subscription_id, period_no, metric_id,
               (at at time zone 'UTC')::date as day, count(*) as events, sum(quantity) as sum,
               max(quantity) as max, max(at) as last_at,
               (array_agg(quantity order by at desc, arrival desc))[1] as latest,
               (array_agg(arrival order by at desc, arrival desc))[1] as last_arrival
          from usage_events
         where unbillable is null
         group by 1, 2, 3, 4, 5)
      select project_id, subscription_id, period_no, metric_id, day, r.events, d.events as kept
        from raw r
        full join usage_days d using (project_id, subscription_id, period_no, metric_id, day)
       where (r.events, r.sum, r.max, r.last_at, r.latest, r.last_arrival)
             is distinct from (d.events, d.sum, d.max, d.last_at, d.latest, d.last_arrival)`,
  },
  {
    name: "distinct values are counted once per period",
    broken: sql`
      with raw as (
        select project_id, subscription_id, period_no, metric_id,
               count(distinct unique_value) as n
          from usage_events
         where unbillable is null and unique_value is not null
         group by 1, 2, 3, 4),
      days as (
        select project_id, subscription_id, period_no, metric_id, sum(uniques) as n
          from usage_days
         group by 1, 2, 3, 4
        having sum(uniques) <> 0),
      kept as (
        select project_id, subscription_id, period_no, metric_id, count(*) as n
          from usage_uniques
         group by 1, 2, 3, 4)
      select project_id, subscription_id, period_no, metric_id, raw.n, days.n as days, kept.n as kept
        from raw
        full join days using (project_id, subscription_id, period_no, metric_id)
        full join kept using (project_id, subscription_id, period_no, metric_id)
       where raw.n is distinct from days.n or raw.n is distinct from kept.n`,
  },
  {
    name: "an invoice line for usage, with its corrections, says what the period's books say",
    broken: sql`
      with lines as (
        select i.project_id, i.subscription_id, f.charge_id, i.period_no, f.units, f.amount_cents
          from fees f
          join invoices i on i.project_id = f.project_id and i.id = f.invoice_id
         where i.cause = 'period' and f.fee_type = 'charge' and f.billable_metric_code is not null
        union all
        select i.project_id, i.subscription_id, f.charge_id, c.period_no, f.units, f.amount_cents
          from fees f
          join invoices i on i.project_id = f.project_id and i.id = f.invoice_id
          join closed_periods c on c.project_id = i.project_id
                               and c.subscription_id = i.subscription_id
                               and (c.starts_at at time zone 'UTC')::date
                                   = (f.properties ->> 'period_start')::date
                               and c.billed ? f.charge_id::text
         where f.fee_type = 'adjustment'),
      billed as (
        select project_id, subscription_id, charge_id, period_no, sum(units) as units,
               sum(amount_cents) as amount_cents
          from lines
         group by 1, 2, 3, 4),
      books as (
        select c.project_id, c.subscription_id, b.key::uuid as charge_id, c.period_no,
               (b.value ->> 'units')::numeric as units,
               (b.value ->> 'amount_cents')::bigint as amount_cents
          from closed_periods c, jsonb_each(c.billed) b)
      select project_id, subscription_id, charge_id, period_no, l.units, b.units as books,
             l.amount_cents, b.amount_cents as books_cents
        from billed l
        full join books b using (project_id, subscription_id, charge_id, period_no)
       where (coalesce(l.units, 0), coalesce(l.amount_cents, 0))
             is distinct from (coalesce(b.units, 0), coalesce(b.amount_cents, 0))`,
  },
  {
    name: "no accepted unit is lost: invoiced, open, waiting to be corrected or unbillable",
    broken: sql`
      with raw as (
        select e.project_id, e.subscription_id, e.metric_id, sum(e.quantity) as units
          from usage_events e
          join metrics m on m.project_id = e.project_id and m.id = e.metric_id
         where m.aggregation_type = 'sum'
         group by 1, 2, 3),
      placed as (
        select d.project_id, d.subscription_id, d.metric_id, d.sum as units
          from usage_days d
          left join closed_periods c on c.project_id = d.project_id
                                    and c.subscription_id = d.subscription_id
                                    and c.period_no = d.period_no
          join subscriptions s on s.project_id = d.project_id and s.id = d.subscription_id
         where (c.period_no is not null and c.billable)
            or (c.period_no is null and d.period_no >= s.period_no)
        union all
        select e.project_id, e.subscription_id, e.metric_id, e.quantity
          from usage_events e
          left join closed_periods c on c.project_id = e.project_id
                                    and c.subscription_id = e.subscription_id
                                    and c.period_no = e.period_no
         where e.unbillable is not null or not c.billable)
      select project_id, subscription_id, metric_id, r.units, p.units as placed
        from raw r
        left join (select project_id, subscription_id, metric_id, sum(units) as units
                     from placed
                    group by 1, 2, 3) p using (project_id, subscription_id, metric_id)
       where r.units is distinct from p.units`,
  },
  {
    name: "payments add up to what the invoice says is paid",
    broken: sql`
      select i.project_id, i.id, i.amount_paid_cents, p.sum
        from invoices i
        left join lateral (
          select coalesce(sum(p.amount_cents), 0) as sum,
                 coalesce(bool_and(p.currency = i.currency and p.customer_id = i.customer_id), true)
                   as same
            from payments p
           where p.project_id = i.project_id and p.invoice_id = i.id) p on true
       where i.amount_paid_cents <> p.sum or not p.same`,
  },
  {
    name: "an invoice's status follows from what is due",
    broken: sql`
      select project_id, id, status, payment_status
        from invoices
       where (status = 'voided') <> (voided_at is not null)
          or (status <> 'voided' and (status = 'succeeded')
              <> (total_cents - amount_paid_cents - credit_applied_cents <= 0))
          or (status <> 'succeeded'
              and (payment_status = 'partially_paid') <> (amount_paid_cents > 0))`,
  },
  {
    name: "a customer's credit is the sum of its entries",
    broken: sql`
      select project_id, customer_id, currency, c.balance_cents, e.sum
        from credits c
        full join (select project_id, customer_id, currency, sum(amount_cents) as sum
                     from credit_entries
                    group by 1, 2, 3) e using (project_id, customer_id, currency)
       where coalesce(c.balance_cents, 0) <> coalesce(e.sum, 0)`,
  },
  {
    name: "the credit on an invoice is what was taken from the customer for it",
    broken: sql`
      select i.project_id, i.id, i.credit_applied_cents, e.sum
        from invoices i
        left join lateral (
          select coalesce(-sum(e.amount_cents), 0) as sum
            from credit_entries e
           where e.project_id = i.project_id and e.invoice_id = i.id and e.reason = 'applied') e
             on true
       where i.credit_applied_cents <> e.sum`,
  },
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
    name: "an archived plan has no active subscription",
    broken: sql`
      select s.project_id, s.id
        from subscriptions s
        join plans p on p.project_id = s.project_id and p.id = s.plan_id
       where s.status = 'active' and p.archived_at is not null`,
  },
  {
    name: "every invoice and payment is in the log, once",
    broken: sql`
      with made as (
        select project_id, id, 'invoice.created' as event_type from invoices
        union all
        select project_id, id, 'payment.recorded' from payments),
      logged as (
        select project_id, resource_id as id, event_type, count(*) as n
          from billing_events
         where event_type in ('invoice.created', 'payment.recorded')
         group by 1, 2, 3)
      select project_id, id, event_type, l.n
        from made
        full join logged l using (project_id, id, event_type)
       where l.n is distinct from 1 or made.id is null`,
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

export const BILLED_RULE = "a closed period is billed for the usage that the raw events give";

type Suspect = {
  readonly units: string;
  readonly billed_units: string;
  readonly billed_cents: number;
  readonly rate: string;
  readonly currency: string;
};

/** Late usage that changes no cent gets no line: then the amounts agree where the units do not. */
async function misbilledUsage(db: Queryable): Promise<Suspect[]> {
  const suspects = await db.many<Suspect>(sql`
    with raw as (${RAW})
    select c.project_id, c.subscription_id, c.period_no, charge.value ->> 'id' as charge_id,
           coalesce(raw.units, 0)::text as units, coalesce(b.units, 0)::text as billed_units,
           coalesce(b.amount_cents, 0) as billed_cents, charge.value ->> 'rate' as rate,
           p.amount_currency as currency
      from closed_periods c
      join plans p on p.project_id = c.project_id and p.id = c.plan_id
      join plan_versions v on v.project_id = c.project_id and v.plan_id = c.plan_id
                          and v.version = c.plan_version
     cross join jsonb_array_elements(v.charges) charge
      left join raw on raw.project_id = c.project_id and raw.subscription_id = c.subscription_id
                   and raw.period_no = c.period_no
                   and raw.metric_id = (charge.value ->> 'metric_id')::uuid
      left join lateral (
        select (c.billed -> (charge.value ->> 'id') ->> 'units')::numeric as units,
               (c.billed -> (charge.value ->> 'id') ->> 'amount_cents')::bigint as amount_cents) b
             on true
     where c.billable and not c.late and charge.value ->> 'charge_model' = 'standard'
       and greatest(coalesce(raw.units, 0), 0) is distinct from coalesce(b.units, 0)`);
  return suspects.filter(({ units, rate, currency, billed_cents }) => {
    const raw = decimal(units);
    const used = isNegative(raw) ? ZERO : raw;
    return usageAmount(used, decimal(rate), currency).amount_cents !== billed_cents;
  });
}

export const RULE_NAMES: readonly string[] = [...RULES.map(({ name }) => name), BILLED_RULE];
