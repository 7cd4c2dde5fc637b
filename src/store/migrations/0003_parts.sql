-- In portions of invoices, by id.
-- Each invoice of a subscription is one part. An invoice that has it already is left alone, so that
-- a run which was cut short is begun again.
insert into invoice_parts (project_id, subscription_id, invoice_id, due_at, period_no,
                           period_start, period_end, cause_no, part_no, set_aside, reason,
                           plan_code)
select i.project_id, i.subscription_id, i.id,
       case i.cause
         when 'period' then coalesce(c.ends_at, i.created_at)
         when 'supplement' then i.created_at
         else coalesce(c.starts_at, case when s.period_no = i.period_no
                                         then s.current_period_start end, i.created_at)
       end,
       i.period_no, i.period_start, i.period_end, i.cause_no, 0, false, i.cause, p.code
  from invoices i
  join subscriptions s on s.project_id = $1 and s.id = i.subscription_id
  left join closed_periods c on c.project_id = $1
        and c.subscription_id = i.subscription_id and c.period_no = i.period_no
  join plans p on p.project_id = $1 and p.id = coalesce(c.plan_id, s.plan_id)
 where i.project_id = $1 and i.id > $2 and i.id <= $3
on conflict do nothing;
