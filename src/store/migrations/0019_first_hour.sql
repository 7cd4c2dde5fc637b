-- What the seller says beside an amount due, and the words by which customers are found.

alter table projects
  add column support_email text not null default '',
  add column payment_instructions text not null default '';

-- The lower-cased words of a customer's name, email and external_id; `seq` is the customer's. Compared
-- byte by byte, so that the key serves beginnings of words. Only signs of ASCII part words, so that they
-- are the same in every locale. A trigger of customers writes it, so it needs no foreign key, which would
-- be checked for each of many words.
create table customer_words (
  project_id uuid not null,
  word text collate "C" not null,
  seq bigint not null,
  primary key (project_id, word, seq)
);

create function keep_customer_words() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    delete from customer_words
     where project_id = old.project_id and seq = old.seq
       and word = any(string_to_array(
         translate(lower(old.name || ' ' || old.email || ' ' || old.external_id),
                   E'\t\n\r!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 35)),
         ' '));
  end if;
  insert into customer_words (project_id, word, seq)
  select distinct a.project_id, w.word, new.seq
    from project_anchors a
    cross join unnest(string_to_array(
      translate(lower(new.name || ' ' || new.email || ' ' || new.external_id),
                E'\t\n\r!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 35)),
      ' ')) as w (word)
   where a.project_id = new.project_id and w.word <> '';
  return null;
end $$;
create trigger customers_named after insert on customers for each row
  execute function keep_customer_words();
create trigger customers_renamed after update on customers for each row
  when (old.name is distinct from new.name
        or old.email is distinct from new.email
        or old.external_id is distinct from new.external_id)
  execute function keep_customer_words();
