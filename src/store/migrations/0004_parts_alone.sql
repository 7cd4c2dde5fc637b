-- From here on parts say what an invoice is for. Processes of the version before can no longer write
-- invoices: they are stopped before this one starts, and what they write meanwhile is taken here.
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
  join subscriptions s on s.project_id = i.project_id and s.id = i.subscription_id
  left join closed_periods c on c.project_id = i.project_id
        and c.subscription_id = i.subscription_id and c.period_no = i.period_no
  join plans p on p.project_id = i.project_id and p.id = coalesce(c.plan_id, s.plan_id)
 where not exists (
   select 1
     from invoice_parts t
    where t.project_id = i.project_id and t.invoice_id = i.id);

drop index invoices_by_subscription;
drop index invoices_cause_key;
alter table invoices
  drop constraint invoices_subscription_check,
  drop column cause,
  drop column period_no,
  drop column cause_no,
  add constraint invoices_subscription_check check (
    part_count > 0
    and (invoice_type = 'subscription' or (subscription_id is null and part_count = 1))
    and (subscription_id is not null or invoice_type <> 'subscription' or part_count > 1));

-- An invoice is the sum of its fees, and has the parts that it says, each with a fee and all of its
-- customer, whoever writes it. Fees and parts are written before their invoices, so a look at each
-- statement's invoices settles it; after that none of them changes. A cluster cannot join the rows
-- of a trigger to a distributed table, so they come as lists.
create or replace function check_totals() returns trigger language plpgsql as $$
declare
  batch record;
  wrong record;
begin
  for batch in
    select project_id, array_agg(id) as ids, array_agg(customer_id) as customers,
           array_agg(subscription_id) as subscriptions, array_agg(invoice_type) as types,
           array_agg(part_count) as counts, array_agg(subtotal_cents) as subtotals,
           array_agg(discount_cents) as discounts
      from written group by project_id
  loop
    select w.id, w.subtotal, coalesce(f.cents, 0) as cents,
           w.subtotal = coalesce(f.cents, 0) and w.discount = coalesce(f.discount, 0) as adds_up
      into wrong
      from unnest(batch.ids, batch.customers, batch.subscriptions, batch.types, batch.counts,
                  batch.subtotals, batch.discounts)
           as w (id, customer, subscription, type, parts, subtotal, discount)
      left join (
        select invoice_id, sum(cents) as cents, sum(discount) as discount, count(*) as parts,
               min(part_no) as first, max(part_no) as last
          from (select invoice_id, part_no, sum(amount_cents) as cents,
                       sum(discount_cents) as discount
                  from fees
                 where project_id = batch.project_id and invoice_id = any(batch.ids)
                 group by invoice_id, part_no) g
         group by invoice_id) f on f.invoice_id = w.id
      left join (
        select p.invoice_id, count(*) as parts, max(p.part_no) as last,
               array_agg(s.customer_id) as customers, array_agg(s.id) as subscriptions
          from invoice_parts p
          join subscriptions s on s.project_id = batch.project_id and s.id = p.subscription_id
         where p.project_id = batch.project_id and p.invoice_id = any(batch.ids)
         group by p.invoice_id) p on p.invoice_id = w.id
     where w.subtotal <> coalesce(f.cents, 0)
        or w.discount <> coalesce(f.discount, 0)
        or coalesce(f.parts, w.parts) <> w.parts
        or coalesce(f.first, 0) <> 0
        or coalesce(f.last + 1, w.parts) <> w.parts
        or case when w.type = 'subscription'
                then p.parts is distinct from w.parts
                     or p.last + 1 <> w.parts
                     or f.parts is null
                     or not w.customer = all (p.customers)
                     or not coalesce(w.subscription = all (p.subscriptions),
                                     p.subscriptions[1] <> any (p.subscriptions))
                else p.parts is not null
           end
     limit 1;
    if found and not wrong.adds_up then
      raise exception 'invoice % is over % cents, its fees add up to %',
        wrong.id, wrong.subtotal, wrong.cents using errcode = 'check_violation';
    elsif found then
      raise exception 'the parts of invoice % are not those of its fees, its customer and its count',
        wrong.id using errcode = 'check_violation';
    end if;
  end loop;
  return null;
end $$;
drop trigger invoices_stay on invoices;
create trigger invoices_stay before update on invoices for each row
  when (old.subtotal_cents <> new.subtotal_cents or old.discount_cents <> new.discount_cents
        or old.tax_cents <> new.tax_cents or old.total_cents <> new.total_cents
        or old.credit_applied_cents <> new.credit_applied_cents
        or old.part_count <> new.part_count)
  execute function refuse_change();
drop trigger fees_stay on fees;
create trigger fees_stay before update on fees for each row
  when (old.amount_cents <> new.amount_cents or old.invoice_id <> new.invoice_id
        or old.discount_cents <> new.discount_cents or old.part_no <> new.part_no)
  execute function refuse_change();
create trigger invoice_parts_stay before update or delete on invoice_parts
  for each row execute function refuse_change();

-- A top-up is no revenue: the type of its invoice says so.
create or replace function record_net_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  if tg_op = 'INSERT' then
    for delta in
      select project_id,
             to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency as key,
             count(*) as count, sum(subtotal_cents - discount_cents) as net, sum(tax_cents) as tax
        from after where status <> 'voided' and invoice_type <> 'top_up' group by 1, 2
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'net', delta.key, delta.count, delta.net);
      if delta.tax <> 0 then
        insert into analytics_deltas (project_id, kind, key, count, cents)
        values (delta.project_id, 'tax', delta.key, 0, delta.tax);
      end if;
    end loop;
  else
    -- Only a void changes what was invoiced.
    for delta in
      select project_id,
             to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency as key,
             sum(n) as count, sum(n * net) as net, sum(n * tax_cents) as tax
        from (select 1 as n, project_id, created_at, currency,
                     subtotal_cents - discount_cents as net, tax_cents
                from after where status <> 'voided' and invoice_type <> 'top_up'
               union all
              select -1, project_id, created_at, currency,
                     subtotal_cents - discount_cents, tax_cents
                from before where status <> 'voided' and invoice_type <> 'top_up') c
       group by 1, 2
      having sum(n) <> 0
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'net', delta.key, delta.count, delta.net);
      if delta.tax <> 0 then
        insert into analytics_deltas (project_id, kind, key, count, cents)
        values (delta.project_id, 'tax', delta.key, 0, delta.tax);
      end if;
    end loop;
  end if;
  return null;
end $$;
create or replace function record_credit_deltas() returns trigger language plpgsql as $$
declare
  note record;
  is_top_up boolean;
begin
  for note in
    select *, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency as key
      from written
  loop
    select invoice_type = 'top_up' into is_top_up
      from invoices
     where project_id = note.project_id and id = note.invoice_id;
    if is_top_up then
      continue;
    end if;
    insert into analytics_deltas (project_id, kind, key, count, cents)
    values (note.project_id, 'net', note.key, 0, -note.subtotal_cents);
    if note.tax_cents <> 0 then
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (note.project_id, 'tax', note.key, 0, -note.tax_cents);
    end if;
  end loop;
  return null;
end $$;
