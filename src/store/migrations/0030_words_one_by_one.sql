-- A cluster plans an INSERT from a SELECT for every shard of the table, and locks all of them until
-- the commit. The trigger did so on the node of the project: whoever changed a customer there stood
-- in the way of every shard that was to move, and waited for that move at its next statement. Citus
-- took this for a deadlock after 2 s and gave up the move, each time it was tried. Rows that are
-- inserted one by one lock the shard of their own project, which the change has locked before.
create or replace function keep_customer_words() returns trigger language plpgsql as $$
declare
  found_word text;
begin
  if tg_op = 'UPDATE' then
    delete from customer_words
     where project_id = old.project_id and seq = old.seq
       and word = any(string_to_array(
         translate(lower(old.name || ' ' || old.email || ' ' || old.external_id),
                   E'\t\n\r!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 35)),
         ' '));
  end if;
  for found_word in
    select distinct w.word
      from unnest(string_to_array(
        translate(lower(new.name || ' ' || new.email || ' ' || new.external_id),
                  E'\t\n\r!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 35)),
        ' ')) as w (word)
     where w.word <> ''
  loop
    insert into customer_words (project_id, word, seq)
    values (new.project_id, found_word, new.seq);
  end loop;
  return null;
end $$;
