// Everything an organization has in the database, its projects with it: read as text to be
// compared, and copied to an organization of its own.

import { randomUUID } from "node:crypto";
import { newToken, tokenHash } from "../../src/ids.ts";
import type { Db } from "../../src/store/db.ts";
import { sql } from "../../src/store/sql.ts";

type Table = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly ids: readonly string[];
  /** The column that names the project, or the organization where a row has no project. */
  readonly owner: string;
};

/** What differs between two runs of the same thing: counters, random text, the server's clock. */
const UNSTABLE = [
  ...["seq", "short_id", "arrival", "last_arrival", "set_aside_until", "due_at"],
  ...["secret", "secret_hint", "previous_secret", "previous_secret_until", "next_retry_at"],
  // Hashes of a random token, and of a request that may name a customer of the copy.
  ...["hash", "request_hash"],
  ...["customer_prefix", "has_older_customers", "as_of"],
];
/** Written by triggers, or derived from what they wrote. */
const BY_TRIGGERS = new Set(["analytics_totals", "analytics_deltas", "customer_words"]);
/** What must differ between any two organizations, and is no id. */
const UNIQUE: Readonly<Record<string, string>> = {
  "organizations.slug": "'copy-' || gen_random_uuid()",
  "tokens.hash": "sha256(uuid_send(gen_random_uuid()))",
  "projects.customer_prefix": "left(gen_random_uuid()::text, 8)",
  // The ids of the copied customers do not begin with it.
  "projects.has_older_customers": "true",
};
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Ids, short ids of customers, and the beginnings of tokens by which they are listed. */
const MADE_UP = new RegExp(`${UUID.source}|cust_[0-9a-z]{4}|dues_[0-9A-Za-z]{8}`, "g");

/** Tables with rows of a tenant, what is referred to before what refers to it. */
export async function tenantTables(db: Db): Promise<Table[]> {
  const tables = await db.many<Table>(sql`
    select c.table_name as name, array_agg(c.column_name::text order by c.ordinal_position)
             filter (where c.is_generated = 'NEVER') as columns,
           array_agg(c.column_name::text) filter (where c.data_type = 'uuid') as ids,
           coalesce(max(c.column_name::text) filter (where c.column_name in
             ('organization_id', 'project_id', 'scope_id')), 'id') as owner
      from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
       and c.table_name not in ('installation', 'schema_migrations')
     group by c.table_name
     order by c.table_name`);
  const references = await db.many<{ child: string; parent: string }>(sql`
    select conrelid::regclass::text as child, confrelid::regclass::text as parent
      from pg_constraint
     where contype = 'f' and conrelid <> confrelid`);
  const sorted: Table[] = [];
  const place = (table: Table) => {
    if (sorted.includes(table)) return;
    for (const { child, parent } of references) {
      const found = child === table.name && tables.find(({ name }) => name === parent);
      if (found) place(found);
    }
    sorted.push(table);
  };
  for (const table of tables) place(table);
  return sorted;
}

/** Every row of the organization and its projects, one line each, ids as `shown` has them. */
export async function snapshot(
  db: Db,
  tables: readonly Table[],
  organization: string,
  shown: ReadonlyMap<string, string> = new Map(),
): Promise<string[]> {
  const owners = await db.many<{ id: string }>(sql`
    select ${organization}::uuid as id
    union all
    select id from projects where organization_id = ${organization}`);
  const parts = tables.map(({ name, owner }) => {
    return `(select '${name}' as name, (to_jsonb(t) - '{${UNSTABLE.join(",")}}'::text[])::text as line
               from ${name} t where ${owner} = any($1::uuid[]) order by line)`;
  });
  const query = { text: parts.join(" union all "), values: [owners.map(({ id }) => id)] };
  const rows = await db.many<{ name: string; line: string }>(query);
  return rows.map(({ name, line }) => `${name} ${line.replace(UUID, (id) => shown.get(id) ?? id)}`);
}

/**
 * The snapshot with ids that were not in `before` replaced by their order of appearance, so that
 * two runs that did the same read the same.
 */
export function normalised(lines: readonly string[], before: readonly string[]): string[] {
  const unchanged = new Set(before);
  const known = new Set(before.join("\n").match(MADE_UP));
  // Most lines are as they were. Looking for ids in them took two thirds of the time.
  const replaced = (line: string, show: (id: string) => string) =>
    unchanged.has(line) ? line : line.replace(MADE_UP, show);
  const skeleton = (line: string) => replaced(line, (id) => (known.has(id) ? id : "?"));
  const numbers = new Map<string, number>();
  const number = (id: string) => {
    if (known.has(id)) return id;
    if (!numbers.has(id)) numbers.set(id, numbers.size + 1);
    return `#${numbers.get(id)}`;
  };
  return lines
    .map((line, i) => ({ line, i, key: skeleton(line) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.i - b.i))
    .map(({ line }) => replaced(line, number));
}

export type Copy = {
  /** Of the token that may act for the copy as the original's token of that id may. */
  readonly token: string;
  /** From the original's ids to those of the copy, where they differ. */
  readonly moved: ReadonlyMap<string, string>;
};

/** A new organization with copies of all rows of another one. */
export async function copyTenant(
  db: Db,
  tables: readonly Table[],
  from: { readonly organization: string; readonly token_id: string },
): Promise<Copy> {
  const moved = await newIds(db, from.organization);
  const copies = tables
    .filter(({ name }) => !BY_TRIGGERS.has(name))
    .map(({ name, columns, ids, owner }) => {
      const values = columns.map((column) => {
        const plain = `"${column}"`;
        const id = `coalesce(($1::uuid[])[array_position($2::uuid[], ${plain})], ${plain})`;
        return UNIQUE[`${name}.${column}`] ?? (ids.includes(column) ? id : plain);
      });
      const text = `
        insert into ${name} ("${columns.join('", "')}")
        select ${values.join(", ")} from ${name}
         where ${owner} = any($2::uuid[]) and $1::uuid[] is not null`;
      return { name, query: { text, values: [[...moved.values()], [...moved.keys()]] } };
    });
  // Fees before their invoices, as the service writes them: the totals are checked.
  const fees = copies.filter(({ name }) => name === "fees");
  const ordered = copies.filter(({ name }) => name !== "fees");
  ordered.splice(
    ordered.findIndex(({ name }) => name === "invoices"),
    0,
    ...fees,
  );
  await db.tx(async (tx) => {
    for (const { query } of ordered) await tx.run(query);
  });
  const token = newToken();
  await db.run(sql`
    update tokens
       set hash = ${tokenHash(token)}
     where organization_id = ${moved.get(from.organization)} and id = ${from.token_id}`);
  return { token, moved };
}

/** Only ids that are looked up without a project are new, and they sort as the old ones do. */
async function newIds(db: Db, organization: string): Promise<Map<string, string>> {
  const old = await db.many<{ id: string }>(sql`
    select id from organizations where id = ${organization}
    union all
    select id from projects where organization_id = ${organization}
    union all
    select c.id
      from customers c
      join projects p on p.id = c.project_id
     where p.organization_id = ${organization}
     order by id`);
  const made = old.map(() => randomUUID()).sort();
  return new Map(old.map(({ id }, i) => [id, made[i] ?? id]));
}
