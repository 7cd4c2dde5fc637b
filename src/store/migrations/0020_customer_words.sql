-- The words of the customers that are there. By itself, because it takes a while where there are many:
-- meanwhile nothing waits but what creates or renames customers, whose trigger writes the same table.
insert into customer_words (project_id, word, seq)
select distinct c.project_id, w.word, c.seq
  from customers c
  cross join lateral unnest(string_to_array(
    translate(lower(c.name || ' ' || c.email || ' ' || c.external_id),
              E'\t\n\r!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 35)),
    ' ')) as w (word)
 where w.word <> ''
    on conflict do nothing;
