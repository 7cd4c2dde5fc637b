-- The credit of customers moves into the ledger: one grant for each entry in, used oldest first, and
-- entries out that name the grants they were taken from.
create temporary table entries_in on commit drop as
select e.*, sum(amount_cents) over w - amount_cents as from_cents, sum(amount_cents) over w as to_cents
  from credit_entries e
 where amount_cents > 0
window w as (partition by project_id, customer_id, currency order by id);
create temporary table entries_out on commit drop as
select e.*, sum(-amount_cents) over w + amount_cents as from_cents,
       sum(-amount_cents) over w as to_cents
  from credit_entries e
 where amount_cents < 0
window w as (partition by project_id, customer_id, currency order by id);
create temporary table parts on commit drop as
select o.project_id, o.customer_id, o.currency, o.id, o.invoice_id, o.created_at,
       i.id as grant_id,
       least(o.to_cents, i.to_cents) - greatest(o.from_cents, i.from_cents) as cents
  from entries_out o
  join entries_in i using (project_id, customer_id, currency)
 where o.from_cents < i.to_cents and i.from_cents < o.to_cents;

-- Only the last payment of an invoice can have been above what was due.
create temporary table last_payments on commit drop as
select distinct on (project_id, invoice_id) project_id, invoice_id, id
  from payments
 order by project_id, invoice_id, created_at desc, id desc;
insert into grants (project_id, id, customer_id, currency, kind, amount_cents, remaining_cents,
                    priority, status, invoice_id, payment_id, created_at)
select i.project_id, i.id, i.customer_id, i.currency, i.reason, i.amount_cents,
       i.amount_cents - coalesce(p.cents, 0), 50,
       case when i.amount_cents > coalesce(p.cents, 0) then 'active' else 'used_up' end,
       i.invoice_id, case when i.reason = 'overpayment' then l.id end, i.created_at
  from entries_in i
  left join (select project_id, grant_id, sum(cents) as cents from parts group by 1, 2) p
    on p.project_id = i.project_id and p.grant_id = i.id
  left join last_payments l on l.project_id = i.project_id and l.invoice_id = i.invoice_id;

insert into ledger_entries (project_id, customer_id, currency, no, id, grant_id, reason,
                            amount_cents, balance_cents, invoice_id, created_at)
select project_id, customer_id, currency, row_number() over w, entry_id, grant_id, reason,
       amount_cents, sum(amount_cents) over w, invoice_id, created_at
  from (select project_id, customer_id, id as entry_id, id as place, id as grant_id, currency,
               reason, amount_cents, invoice_id, created_at
          from entries_in
         union all
        select project_id, customer_id, gen_random_uuid(), id, grant_id, currency, 'applied',
               -cents, invoice_id, created_at
          from parts) e
window w as (partition by project_id, customer_id, currency order by place, grant_id);

update invoices i
   set credits = e.credits
  from (select e.project_id, e.invoice_id,
               jsonb_agg(jsonb_build_object('grant_id', e.grant_id, 'kind', g.kind,
                                            'amount_cents', -e.amount_cents) order by e.no)
                 as credits
          from ledger_entries e
          join grants g on g.project_id = e.project_id and g.id = e.grant_id
         where e.reason = 'applied'
         group by e.project_id, e.invoice_id) e
 where e.project_id = i.project_id and e.invoice_id = i.id;

insert into wallets (project_id, customer_id, currency, balance_cents, last_no)
select c.project_id, c.customer_id, c.currency, c.balance_cents, coalesce(e.last_no, 0)
  from credits c
  left join (select project_id, customer_id, currency, max(no) as last_no
               from ledger_entries
              group by 1, 2, 3) e using (project_id, customer_id, currency);
update customers c
   set has_account = true
  from (select distinct project_id, customer_id from grants) g
 where g.project_id = c.project_id and g.customer_id = c.id;

-- The version before keeps running until it is replaced. It finds no credit here and may not write
-- any; invoices of customers that have an account are left to this version.
delete from credit_entries;
delete from credits;
create function refuse_former_credit() returns trigger language plpgsql as $$
begin
  raise exception 'credit is kept in the ledger: this version of the service is being replaced'
    using errcode = 'object_not_in_prerequisite_state';
end $$;
create trigger credit_entries_moved before insert on credit_entries
  for each row execute function refuse_former_credit();
create trigger credits_moved before insert on credits
  for each row execute function refuse_former_credit();
create function refuse_former_invoice() returns trigger language plpgsql as $$
begin
  if exists (select 1
               from customers c
              where c.project_id = new.project_id and c.id = new.customer_id and c.has_account) then
    raise exception 'invoice of a customer with an account: this version is being replaced'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  return new;
end $$;
create trigger invoices_by_former before insert on invoices for each row
  when (new.buyer_version is null) execute function refuse_former_invoice();
