// What must hold in the database about usage, its sums, levels and lines, whatever happened.

import { rateUsage, type UsageModel } from "../../src/domain/charge-models.ts";
import { decimal, isNegative, ZERO } from "../../src/domain/decimal.ts";
import { fraction, roundFraction, shifted } from "../../src/domain/fraction.ts";
import { exponentOf } from "../../src/domain/money.ts";
import type { PricedCharge } from "../../src/domain/pricing.ts";
import type { Queryable } from "../../src/store/db/db.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";

/** `broken` lists the rows that break it. */
export type Rule = { readonly name: string; readonly broken: Sql };

/** Usage as the raw events have it, by subscription, period and metric: the truth of the sums. */
const RAW: Sql = sql`
  select e.project_id, e.subscription_id, e.period_no, e.metric_id, m.aggregation_type,
         case m.aggregation_type
           when 'sum' then sum(e.quantity)
           when 'count' then count(*)::numeric
           when 'count_unique' then count(distinct e.unique_value)::numeric
           when 'max' then max(e.quantity)
           when 'latest' then (array_agg(e.quantity order by e.at desc, e.arrival desc))[1]
         end as units, count(*) as events
    from usage_events e
    join metrics m on m.project_id = e.project_id and m.id = e.metric_id
   where e.unbillable is null
   group by e.project_id, e.subscription_id, e.period_no, e.metric_id, m.aggregation_type`;

/** Events that count, with how their metric is weighted. */
const COUNTED: Sql = sql`(
          select u.*, m.weighted_by
            from usage_events u
            join metrics m on m.project_id = u.project_id and m.id = u.metric_id
           where u.unbillable is null) e`;
const MOMENT: Sql = sql`sum(quantity * 1000 * extract(epoch from (at at time zone 'UTC')::time))
                 filter (where weighted_by is not null)`;

export const USAGE_RULES: readonly Rule[] = [
  {
    name: "daily sums are what the raw events give",
    broken: sql`
      with raw as (
        select project_id, subscription_id, period_no, metric_id,
               (at at time zone 'UTC')::date as day, count(*) as events, sum(quantity) as sum,
               max(quantity) as max, max(at) as last_at,
               (array_agg(quantity order by at desc, arrival desc))[1] as latest,
               (array_agg(arrival order by at desc, arrival desc))[1] as last_arrival,
               ${MOMENT} as moment
          from ${COUNTED}
         where combination is null
         group by 1, 2, 3, 4, 5)
      select project_id, subscription_id, period_no, metric_id, day, r.events, d.events as kept
        from raw r
        full join usage_days d using (project_id, subscription_id, period_no, metric_id, day)
       where (r.events, r.sum, r.max, r.last_at, r.latest, r.last_arrival, r.moment)
             is distinct from (d.events, d.sum, d.max, d.last_at, d.latest, d.last_arrival,
                               d.moment)`,
  },
  {
    name: "daily sums by combination are what the raw events give",
    broken: sql`
      with raw as (
        select project_id, subscription_id, period_no, metric_id, combination,
               (at at time zone 'UTC')::date as day, count(*) as events, sum(quantity) as sum,
               max(quantity) as max, max(at) as last_at,
               (array_agg(quantity order by at desc, arrival desc))[1] as latest,
               (array_agg(arrival order by at desc, arrival desc))[1] as last_arrival,
               ${MOMENT} as moment
          from ${COUNTED}
         where combination is not null
         group by 1, 2, 3, 4, 5, 6)
      select project_id, subscription_id, period_no, metric_id, combination, day, r.events,
             d.events as kept
        from raw r
        full join usage_parts d
             using (project_id, subscription_id, period_no, metric_id, combination, day)
       where (r.events, r.sum, r.max, r.last_at, r.latest, r.last_arrival, r.moment)
             is distinct from (d.events, d.sum, d.max, d.last_at, d.latest, d.last_arrival,
                               d.moment)`,
  },
  {
    name: "a period starts with the level that all counted events before it give",
    broken: sql`
      with raw as (
        select s.project_id, s.id, e.metric_id::text as metric_id,
               coalesce(e.combination, '') as combination, sum(e.quantity) as level
          from subscriptions s
          join ${COUNTED} on e.project_id = s.project_id and e.subscription_id = s.id
         where e.weighted_by is not null
           and (e.period_no < s.period_no or s.status in ('terminated', 'canceled'))
         group by 1, 2, 3, 4
        having sum(e.quantity) <> 0),
      kept as (
        select s.project_id, s.id, m.key as metric_id, c.key as combination,
               c.value::numeric as level
          from subscriptions s, jsonb_each(s.levels) m, jsonb_each_text(m.value) c),
      late as (
        select project_id, subscription_id as id, count(*) as n
          from closed_periods
         where late
         group by 1, 2)
      select project_id, id, metric_id, combination, r.level, k.level as kept
        from raw r
        full join kept k using (project_id, id, metric_id, combination)
        left join late l using (project_id, id)
       where r.level is distinct from k.level and l.n is null`,
  },
  {
    name: "distinct values are counted once per period, on the first day that they were used",
    broken: sql`
      with raw as (
        select project_id, subscription_id, period_no, metric_id, unique_value,
               min((at at time zone 'UTC')::date) as day
          from usage_events
         where unbillable is null and unique_value is not null
         group by 1, 2, 3, 4, 5),
      counted as (
        select project_id, subscription_id, period_no, metric_id, day, count(*) as n
          from raw
         group by 1, 2, 3, 4, 5),
      days as (
        select project_id, subscription_id, period_no, metric_id, day, uniques as n
          from usage_days
         where uniques <> 0)
      select project_id, subscription_id, period_no, metric_id, day, null::uuid as unique_value
        from counted c
        full join days d using (project_id, subscription_id, period_no, metric_id, day)
       where c.n is distinct from d.n
       union all
      select project_id, subscription_id, period_no, metric_id, day, unique_value
        from raw r
        full join usage_uniques u
             using (project_id, subscription_id, period_no, metric_id, unique_value, day)
       where r.project_id is null or u.project_id is null`,
  },
  {
    name: "an invoice line for usage, with its corrections, says what the period's books say",
    broken: sql`
      with lines as (
        select i.project_id, i.subscription_id, f.charge_id, i.period_no, f.units, f.amount_cents
          from fees f
          join invoice_parts i on i.project_id = f.project_id and i.invoice_id = f.invoice_id
                              and i.part_no = f.part_no
         where i.reason = 'period' and f.fee_type = 'charge' and f.billable_metric_code is not null
        union all
        select i.project_id, i.subscription_id, f.charge_id, c.period_no, f.units, f.amount_cents
          from fees f
          join invoice_parts i on i.project_id = f.project_id and i.invoice_id = f.invoice_id
                              and i.part_no = f.part_no
          join closed_periods c on c.project_id = i.project_id
                               and c.subscription_id = i.subscription_id
                               and (c.starts_at at time zone 'UTC')::date
                                   = (f.properties ->> 'period_start')::date
                               and exists (
                                 select 1 from jsonb_object_keys(c.billed) k
                                  where split_part(k, ' ', 1) = f.charge_id::text)
         where f.fee_type = 'adjustment' and f.properties -> 'counted_cents' is null),
      billed as (
        select project_id, subscription_id, charge_id, period_no, sum(units) as units,
               sum(amount_cents) as amount_cents
          from lines
         group by 1, 2, 3, 4),
      books as (
        select c.project_id, c.subscription_id, split_part(b.key, ' ', 1)::uuid as charge_id,
               c.period_no, sum((b.value ->> 'units')::numeric) as units,
               sum((b.value ->> 'amount_cents')::bigint) as amount_cents
          from closed_periods c, jsonb_each(c.billed) b
         where b.key not like 'minimum%'
         group by 1, 2, 3, 4),
      invoiced as (
        select project_id, subscription_id, period_no, count(*) as n
          from invoice_parts
         where reason = 'period'
         group by 1, 2, 3)
      select project_id, subscription_id, charge_id, period_no, l.units, b.units as books,
             l.amount_cents, b.amount_cents as books_cents
        from billed l
        full join books b using (project_id, subscription_id, charge_id, period_no)
        left join invoiced i using (project_id, subscription_id, period_no)
       where coalesce(l.amount_cents, 0) <> coalesce(b.amount_cents, 0)
          -- Units too small or too few for a cent make no invoice, and then stand on no line.
          or (i.n is not null and coalesce(l.units, 0) <> coalesce(b.units, 0))`,
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
          from (select project_id, subscription_id, period_no, metric_id, sum from usage_days
                union all
                select project_id, subscription_id, period_no, metric_id, sum from usage_parts) d
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
];

export const BILLED_RULE = "a closed period is billed for the usage that the raw events give";

type Suspect = {
  readonly units: string;
  readonly billed_units: string;
  readonly billed_cents: number;
  readonly events: number;
  readonly charge: PricedCharge;
  readonly currency: string;
};

/** Late usage that changes no cent gets no line: then the amounts agree where the units do not. */
export async function misbilledUsage(db: Queryable): Promise<Suspect[]> {
  const suspects = await db.many<Suspect>(sql`
    with raw as (${RAW})
    select c.project_id, c.subscription_id, c.period_no, charge.value ->> 'id' as charge_id,
           coalesce(raw.units, 0)::text as units, coalesce(b.units, 0)::text as billed_units,
           coalesce(b.amount_cents, 0) as billed_cents, coalesce(raw.events, 0) as events,
           charge.value as charge, p.amount_currency as currency
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
     where c.billable and not c.late and not c.is_trial and c.override_no is null
       and c.ends_at > c.starts_at
       and charge.value ->> 'charge_model' <> 'flat_fee'
       and charge.value ->> 'aggregation_type' <> 'weighted_sum'
       and not coalesce(charge.value -> 'price' ? 'prices', false)
       and greatest(coalesce(raw.units, 0), 0) is distinct from coalesce(b.units, 0)`);
  return suspects.filter(({ units, events, charge, currency, billed_cents }) => {
    const raw = decimal(units);
    const used = { units: fraction(isNegative(raw) ? ZERO : raw), events };
    const price = { ...charge.price, ...(charge.rate === null ? {} : { amount: charge.rate }) };
    const exponent = exponentOf(currency);
    const model = charge.charge_model as UsageModel;
    const { amount } = rateUsage(model, price, used, exponent);
    return Number(roundFraction(shifted(amount, exponent))) !== billed_cents;
  });
}
