// Everything a project has in the database: read as text to be compared, and copied to a project
// of its own. Ids are unique within a project, so a copy keeps them all.

import { randomUUID } from "node:crypto";
import type { Db } from "../../src/store/db.ts";
import { sql } from "../../src/store/sql.ts";

type Table = {
  readonly name: string;
  readonly columns: readonly string[];
  /** Numbers of transactions, which no two runs share. */
  readonly xids: readonly string[] | null;
  /** The column that names the project. */
  readonly owner: string;
};

/** What differs between two runs of the same thing: counters, random text, the server's clock. */
const UNSTABLE = [
  ...["seq", "short_id", "arrival", "last_arrival", "parked_until", "due_at"],
  ...["secret", "secret_hint", "previous_secret", "previous_secret_until", "next_retry_at"],
];
/** Written by the database itself as other rows are. */
const NOTED = new Set(["figures", "figure_changes"]);
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Tables with rows of a project, what is referred to before what refers to it. */
export async function projectTables(db: Db): Promise<Table[]> {
  const tables = await db.many<Table>(sql`
    select c.table_name as name, array_agg(c.column_name::text order by c.ordinal_position)
             filter (where c.is_generated = 'NEVER') as columns,
           array_agg(c.column_name::text) filter (where c.data_type = 'xid8') as xids,
           max(case when c.column_name in ('project_id', 'scope_id') then c.column_name end) as owner
      from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
     group by c.table_name
    having bool_or(c.column_name in ('project_id', 'scope_id'))
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

/** Every row of the project, one line each. */
export async function snapshot(db: Db, tables: readonly Table[], project: string) {
  const parts = [
    `select 'projects' as name, to_jsonb(t)::text as line from projects t where id = $1::uuid`,
    ...tables.map(({ name, owner, xids }) => {
      const left = [...UNSTABLE, ...(xids ?? [])].join(",");
      return `(select '${name}', (to_jsonb(t) - '{${left}}'::text[])::text
                 from ${name} t where ${owner} = $1::uuid order by to_jsonb(t)::text)`;
    }),
  ];
  const query = { text: parts.join(" union all "), values: [project] };
  const rows = await db.many<{ name: string; line: string }>(query);
  return rows.map(({ name, line }) => `${name} ${line.replaceAll(project, "<project>")}`);
}

/**
 * The snapshot with ids that were not in `before` replaced by their order of appearance, so that
 * two runs that did the same read the same.
 */
export function normalised(lines: readonly string[], before: readonly string[]): string[] {
  const known = new Set(before.join("\n").match(UUID));
  const skeleton = (line: string) =>
    line
      .replace(UUID, (id) => (known.has(id) ? id : "?"))
      .replace(/cust_[0-9a-z]{4}/g, "cust_????")
      .replace(/"slug": "copy-[^"]*"/, '"slug": "copy"');
  const numbers = new Map<string, number>();
  const number = (id: string) => {
    if (known.has(id)) return id;
    if (!numbers.has(id)) numbers.set(id, numbers.size + 1);
    return `#${numbers.get(id)}`;
  };
  return lines
    .map((line, i) => ({ line, i, key: skeleton(line) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.i - b.i))
    .map(({ line }) =>
      line
        .replace(/cust_[0-9a-z]{4}/g, "cust_????")
        .replace(/"slug": "copy-[^"]*"/, '"slug": "copy"')
        .replace(UUID, number),
    );
}

/** A new project with copies of all rows of another one, in one statement. */
export async function copyProject(db: Db, tables: readonly Table[], from: string) {
  const to = randomUUID();
  const copied = tables.filter(({ name }) => !NOTED.has(name));
  const copies = copied.map(({ name, columns, owner }) => {
    const names = columns.map((column) => `"${column}"`).join(", ");
    const values = columns.map((column) => (column === owner ? "$1::uuid" : `"${column}"`));
    return `copy_of_${name} as (
      insert into ${name} (${names}) overriding system value
      select ${values.join(", ")} from ${name} where ${owner} = $2::uuid)`;
  });
  const text = `
    with ${copies.join(",\n")}
    insert into projects
    select (jsonb_populate_record(p, jsonb_build_object('id', $1, 'slug', 'copy-' || $1))).*
      from projects p
     where id = $2::uuid`;
  await db.run({ text, values: [to, from] });
  return to;
}
