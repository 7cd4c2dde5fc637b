// A project with much behind it, made by SQL out of one of everything: each row of a table that
// grows is copied many times. A copy differs in its ids and in what is unique, so a new column or
// table needs a line here at most. Copies of what belongs to somebody are first of all his: one
// customer and one subscription have a part of all that there is.

import type pg from "pg";

/** Tables that grow, with what differs between copies besides. `n` counts them, `t` is the row. */
const GROWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  customers: { short_id: "t.short_id", short_id_unique: "false" },
  // Most plans have some that ended.
  subscriptions: {
    status: "case when n % 10 = 7 then 'terminated' else t.status end",
    terminated_at: "case when n % 10 = 7 then t.started_at end",
  },
  closed_periods: {},
  usage_events: {},
  usage_days: {},
  // Nothing is left to be marked, as on most days.
  invoices: { status: "case t.status when 'outstanding' then 'overdue' else t.status end" },
  invoice_parts: {},
  fees: {},
  payments: {},
  refunds: {},
  credit_notes: {},
  applied_coupons: {},
  grants: {},
  ledger_entries: {},
  wallets: { look_at: "null" },
  billing_events: {
    created_at: "t.created_at + n * interval '1 minute'",
    reached: "t.reached + n * interval '1 minute'",
  },
  webhook_messages: {},
  webhook_attempts: {},
};
/** Of a few records that all copies share. */
const SHARED =
  /^(project|plan|metric|coupon|endpoint|catalog_item|actor_token|add_on|scheduled_plan)_id$/;
const OWNERS = ["customer_id", "subscription_id"];
/** Tables whose own keys tell copies apart that have one owner. */
const OWNED =
  /^(subscriptions|closed_periods|usage_events|invoices|invoice_parts|payments|refunds|credit_notes)$/;
/** Tables whose rows come one after the other: a copy is as many days older. */
const IN_TIME =
  /^(usage_events|invoices|payments|refunds|credit_notes|billing_events|webhook_\w+)$/;
const DAYS = 1_000;

type Column = { readonly name: string; readonly type: string; readonly unique: boolean };

async function columnsOf(client: pg.Client, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select a.attname as name, format_type(a.atttypid, null) as type,
            exists (select 1 from pg_index i
                     where i.indrelid = a.attrelid and i.indisunique
                       and a.attnum = any(i.indkey)) as "unique"
       from pg_attribute a
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
        and a.attgenerated = ''
      order by a.attnum`,
    [table],
  );
  return rows;
}

function copied(table: string, { name, type, unique }: Column, owned: number): string {
  const own = GROWN[table]?.[name];
  const old = `t."${name}"`;
  if (own !== undefined) return own;
  if (SHARED.test(name)) return old;
  if (type === "uuid") {
    const other = `md5(${old}::text || n)::uuid`;
    const keeps = OWNERS.includes(name) && OWNED.test(table);
    return keeps ? `case when n <= ${owned} then ${old} else ${other} end` : other;
  }
  if (unique && type === "text" && !/currency|prefix|reason/.test(name))
    return `${old} || '-' || n`;
  if (unique && /int/.test(type) && !/year|attempt|version|part_no/.test(name))
    return `${old} + n * 1000`;
  if (!IN_TIME.test(table)) return old;
  if (type === "date") return `(${old} - (n % ${DAYS})::integer)`;
  return type.startsWith("timestamp") ? `${old} - (n % ${DAYS}) * interval '1 day'` : old;
}

export type Much = {
  /** As many of each table that grows. */
  readonly rows: number;
  /** As many of them of one owner. */
  readonly owned: number;
  /** Whether what a copy names is there too, so that joins find it: more of what others name. */
  readonly linked?: boolean;
};

/** What copies of other tables name: as many of each of their rows. */
const NAMED = ["customers", "subscriptions", "invoices", "payments", "grants", "webhook_messages"];

export async function multiply(
  client: pg.Client,
  project: string,
  much: Much,
  events: Much,
): Promise<void> {
  // No triggers and no foreign keys meanwhile: what they would keep is made here.
  await client.query("set session_replication_role = replica");
  for (const table of Object.keys(GROWN)) {
    const columns = await columnsOf(client, table);
    const { rows, owned, linked } = table === "usage_events" ? events : much;
    const copies = linked && NAMED.includes(table) ? `${rows}` : `${rows} / t.templates`;
    const values = columns.map((column) => copied(table, column, owned));
    await client.query(
      `insert into ${table} (${columns.map(({ name }) => `"${name}"`).join(", ")})
       select ${values.join(", ")}
         from (select *, count(*) over () as templates from ${table} where project_id = $1) t
        cross join lateral generate_series(1, ${copies}) n`,
      [project],
    );
  }
  await client.query(
    `insert into customer_words (project_id, word, seq)
     select distinct c.project_id, w.word, c.seq
       from customers c, unnest(string_to_array(lower(c.name || ' ' || c.external_id), ' ')) w (word)
      where c.project_id = $1 and w.word <> ''
         on conflict do nothing`,
    [project],
  );
  await client.query("set session_replication_role = origin");
  await client.query("vacuum (analyze)");
}

/** Gives the records one id that a test knows, wherever it stands. */
export async function rename(
  client: pg.Client,
  project: string,
  ids: readonly string[],
  id: string,
): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `select c.relname as table, a.attname as column
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.atttypid = 'uuid'::regtype and a.attnum > 0
       join pg_attribute p on p.attrelid = c.oid and p.attname = 'project_id'
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
        and a.attname <> 'project_id'`,
  );
  await client.query("set session_replication_role = replica");
  for (const { table, column } of rows) {
    await client.query(
      `update ${table} set "${column}" = $3 where project_id = $1 and "${column}" = any($2)`,
      [project, ids, id],
    );
  }
  await client.query("set session_replication_role = origin");
}
