// Everything an organization has in the database, its projects with it: read as text to be
// compared, and copied to an organization of its own.

import { randomUUID } from "node:crypto";
import { newToken, tokenHash } from "../../src/ids.ts";
import type { Db } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";

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
  ...["secret", "secret_hint", "former_secrets", "former_until", "next_retry_at"],
  // Hashes of a random token, and of a request that may name a customer of the copy.
  ...["hash", "request_hash"],
  ...["customer_prefix", "as_of"],
];
/** Read from the database's clock. */
const UNSTABLE_IN: Readonly<Record<string, readonly string[]>> = {
  idempotency_keys: ["created_at"],
  dunning_policies: ["replan_since", "replan_queued_at"],
  webhook_jobs: ["queued_at", "worked_at"],
};
/** Written by triggers, or derived from what they wrote. */
const BY_TRIGGERS = new Set(["analytics_totals", "analytics_deltas", "customer_words"]);
/** What must differ between any two organizations, and is no id. */
const UNIQUE: Readonly<Record<string, string>> = {
  "organizations.slug": "'copy-' || gen_random_uuid()",
  "tokens.hash": "sha256(uuid_send(gen_random_uuid()))",
  "projects.customer_prefix": "left(gen_random_uuid()::text, 8)",
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
  if (tables.length === 0) return [];
  const parts = tables.map(
    (table) => `(select '${table.name}' as name, ${lineOf(table)} as line
                   from ${table.name} t where ${table.owner} = any($1::uuid[]) order by line)`,
  );
  const values = [await ownersIn(db, organization)];
  const rows = await db.many<{ name: string; line: string }>({
    text: parts.join(" union all "),
    values,
  });
  return rows.map(({ name, line }) => `${name} ${line.replace(UUID, (id) => shown.get(id) ?? id)}`);
}

/** A row without what differs between two runs of the same thing. */
function lineOf({ name }: Table): string {
  const unstable = [...UNSTABLE, ...(UNSTABLE_IN[name] ?? [])].join(",");
  return `(to_jsonb(t) - '{${unstable}}'::text[])::text`;
}

async function ownersIn(db: Db, organization: string): Promise<string[]> {
  const owners = await db.many<{ id: string }>(sql`
    select ${organization}::uuid as id
    union all
    select id from projects where organization_id = ${organization}`);
  return owners.map(({ id }) => id);
}

/** How many rows of a table an organization has, and how many somebody wrote after the copy. */
export type Rows = { readonly all: number; readonly later: number };

/** By table. The xmin of a row says which transaction wrote it. */
export async function countRows(
  db: Db,
  tables: readonly Table[],
  { organization, written_by }: Pick<Copy, "organization" | "written_by">,
): Promise<ReadonlyMap<string, Rows>> {
  const parts = tables.map(
    ({ name, owner }) => `select '${name}' as name, count(*) as all,
                                 count(*) filter (where xmin <> $2::xid) as later
                            from ${name} where ${owner} = any($1::uuid[])`,
  );
  const values = [await ownersIn(db, organization), written_by];
  const rows = await db.many<Rows & { name: string }>({ text: parts.join(" union all "), values });
  return new Map(rows.map(({ name, all, later }) => [name, { all, later }]));
}

/** Tables of which the copy has other rows than it was made with: the rest need not be read. */
export async function changedTables(
  db: Db,
  tables: readonly Table[],
  copy: Pick<Copy, "organization" | "written_by">,
  made_with: ReadonlyMap<string, Rows>,
): Promise<Table[]> {
  const rows = await countRows(db, tables, copy);
  return tables.filter(({ name }) => {
    const { all, later } = rows.get(name) ?? { all: 0, later: 0 };
    return later > 0 || all !== made_with.get(name)?.all;
  });
}

/**
 * Gives a snapshot with ids that were not in `before` replaced by their order of appearance, so
 * that two runs that did the same read the same.
 */
export function normaliser(before: readonly string[]): (lines: readonly string[]) => string[] {
  const unchanged = new Set(before);
  const known = new Set(before.join("\n").match(MADE_UP));
  // Most lines are as they were. Looking for ids in them took two thirds of the time.
  const replaced = (line: string, show: (id: string) => string) =>
    unchanged.has(line) ? line : line.replace(MADE_UP, show);
  const skeleton = (line: string) => replaced(line, (id) => (known.has(id) ? id : "?"));
  return (lines) => {
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
  };
}

export type Copy = {
  /** Of the token that may act for the copy as the original's token of that id may. */
  readonly token: string;
  readonly organization: string;
  /** From the original's ids to those of the copy, where they differ. */
  readonly moved: ReadonlyMap<string, string>;
  /** The transaction that wrote it, but for the token's hash. */
  readonly written_by: string;
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
  // Fees and parts before their invoices, as the service writes them: both are checked.
  const isLine = ({ name }: { readonly name: string }) => /^(fees|invoice_parts)$/.test(name);
  const lines = copies.filter(isLine);
  const ordered = copies.filter((copy) => !isLine(copy));
  ordered.splice(
    ordered.findIndex(({ name }) => name === "invoices"),
    0,
    ...lines,
  );
  const organization = moved.get(from.organization) ?? "";
  const written_by = await db.tx(async (tx) => {
    // Sent at once and done in this order: each would wait for the answer to the one before.
    await Promise.all(ordered.map(({ query }) => tx.run(query)));
    await tx.run(sql`
      update projects p
         set customer_prefix = left(c.id::text, ${PREFIX_DIGITS})
        from customers c
       where c.project_id = p.id and p.organization_id = ${organization}`);
    const { xid } = await tx.one<{ xid: string }>(sql`
      select pg_current_xact_id()::xid::text as xid`);
    return xid;
  });
  const token = newToken();
  await db.run(sql`
    update tokens
       set hash = ${tokenHash(token)}
     where organization_id = ${organization} and id = ${from.token_id}`);
  return { token, organization, moved, written_by };
}

/** By which a customer is found of whom only the id is known: the id begins with its project's. */
const PREFIX_DIGITS = 8;

/** Only ids that are looked up without a project are new, and they sort as the old ones do. */
async function newIds(db: Db, organization: string): Promise<Map<string, string>> {
  const old = await db.many<{ id: string; prefix: string | null }>(sql`
    select id, null as prefix from organizations where id = ${organization}
    union all
    select id, null from projects where organization_id = ${organization}
    union all
    select c.id, p.customer_prefix
      from customers c
      join projects p on p.id = c.project_id
     where p.organization_id = ${organization}
     order by id`);
  const made = old.map(() => randomUUID()).sort();
  const tails = old.map(() => randomUUID().slice(PREFIX_DIGITS)).sort();
  const prefixes = new Map<string, string>();
  return new Map(
    old.map(({ id, prefix }, i) => {
      const own = made[i] ?? id;
      if (prefix === null) return [id, own];
      const its = prefixes.get(prefix) ?? own.slice(0, PREFIX_DIGITS);
      prefixes.set(prefix, its);
      return [id, its + tails[i]];
    }),
  );
}
