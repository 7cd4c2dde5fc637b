-- An invoice is the sum of its fees, whoever writes it. Fees are written before their invoices, so a
-- look at each statement's invoices settles it; after that neither changes.
create function check_totals() returns trigger language plpgsql as $$
declare
  wrong record;
begin
  select i.id, i.subtotal_cents, coalesce(f.cents, 0) as cents into wrong
    from written i
    left join (
      select f.project_id, f.invoice_id, sum(f.amount_cents) as cents
        from written w
        join fees f on f.project_id = w.project_id and f.invoice_id = w.id
       group by f.project_id, f.invoice_id) f
      on f.project_id = i.project_id and f.invoice_id = i.id
   where i.subtotal_cents <> coalesce(f.cents, 0)
   limit 1;
  if found then
    raise exception 'invoice % is over % cents, its fees add up to %',
      wrong.id, wrong.subtotal_cents, wrong.cents using errcode = 'check_violation';
  end if;
  return null;
end $$;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'amounts of % do not change once written', tg_table_name
    using errcode = 'check_violation';
end $$;

create trigger invoices_add_up after insert on invoices
  referencing new table as written for each statement execute function check_totals();
create trigger invoices_stay before update on invoices for each row
  when (old.subtotal_cents <> new.subtotal_cents) execute function refuse_change();
create trigger fees_stay before update on fees for each row
  when (old.amount_cents <> new.amount_cents or old.invoice_id <> new.invoice_id)
  execute function refuse_change();
create trigger fees_remain before delete on fees for each row execute function refuse_change();
