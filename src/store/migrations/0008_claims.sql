-- Of several advisory locks of a transaction, those that nobody else holds. Nobody ever waits for
-- one of them: who finds a customer's lock taken leaves the customer to who has it.
create function try_locks(project uuid, keys text[]) returns text[] language plpgsql as $$
declare
  one text;
  got text[] := '{}';
begin
  foreach one in array keys loop
    if pg_try_advisory_xact_lock(hashtextextended(project::text || ' ' || one, 9)) then
      got := got || one;
    end if;
  end loop;
  return got;
end $$;
