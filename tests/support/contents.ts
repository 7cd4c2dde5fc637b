// Everything that a database holds, table by table, to be compared with another one.

import type pg from "pg";
import type { Connection } from "../../src/store/db/db.ts";
import { onClient } from "./database.ts";

/** Written by a restore itself: when migrations were applied, the hold, where the log goes on. */
const OWN = ["schema_migrations", "installation", "log_heads"];

/** Of each table the number of its rows and a digest of them. */
export async function contentsOf(connection: Connection): Promise<Record<string, string>> {
  return onClient(connection, async (client) => {
    await client.query("set timezone = 'UTC'");
    const contents: Record<string, string> = {};
    for (const name of await tablesOf(client)) {
      const { rows } = await client.query(
        `select count(*) || ' ' || coalesce(md5(string_agg(t, ' ' order by t)), '') as says
           from (select to_jsonb(x)::text as t from ${name} x) as all_rows`,
      );
      contents[name] = rows[0].says;
    }
    return contents;
  });
}

async function tablesOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name
       from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
        and c.relname <> all($1)
        and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
      order by c.relname collate "C"`,
    [OWN],
  );
  return rows.map(({ name }) => name);
}

/** Keys, checks and triggers by their definitions. On a cluster the shards have them again. */
export async function constraintsOf(connection: Connection): Promise<string[]> {
  return onClient(connection, async (client) => {
    const { rows } = await client.query<{ says: string }>(
      `select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) as says
         from pg_constraint
        where connamespace = 'public'::regnamespace and contype <> 'n'
          and conrelid::regclass::text !~ '_[0-9]{6}$'
        union all
       select pg_get_triggerdef(t.oid)
         from pg_trigger t
         join pg_class c on c.oid = t.tgrelid
        where not t.tgisinternal and c.relnamespace = 'public'::regnamespace
          and c.relname !~ '_[0-9]{6}$'
        order by 1`,
    );
    return rows.map(({ says }) => says);
  });
}
