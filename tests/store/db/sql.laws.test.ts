// The laws that the store's SQL keeps so that it also runs on a Citus cluster, held without one:
// every statement that the store can send is collected and read with PostgreSQL's own parser.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../../src/store/migration/migrate.ts";
import { emptyDatabase } from "../../support/database.ts";
import { sourceOf } from "../../tidy/files.ts";
import { collect, PROJECT, type Sent } from "../laws/collect.ts";
import {
  CLUSTER_CATALOG,
  EXCEPTIONS,
  type Exception,
  OWN_CONNECTIONS,
  unexcused,
} from "../laws/exceptions.ts";
import { innerStatements } from "../laws/functions.ts";
import type { Breach, Catalog, Law } from "../laws/laws.ts";
import { fixedStatements, piecesOf, storeSources, unsentPieces } from "../laws/pieces.ts";
import {
  countedFaults,
  delegationFaults,
  foreignKeyFaults,
  keyFaults,
  listFaults,
  readCatalog,
  readSchema,
  type Schema,
} from "../laws/schema.ts";
import { breaches } from "../laws/statements.ts";

const sources = storeSources().filter(({ path }) => !(path in CLUSTER_CATALOG));
let sent: readonly Sent[];
let schema: Schema;
let catalog: Catalog;
let client: pg.Client;
let drop: () => Promise<void>;

beforeAll(async () => {
  // One server even when the run is on a cluster, whose catalog also has views and shards in it.
  const database = await emptyDatabase();
  drop = database.drop;
  await migrate(database.connection);
  client = new pg.Client({ ...database.connection });
  await client.connect();
  schema = await readSchema(client);
  catalog = await readCatalog(client, schema);
  sent = await collect(sources);
});
afterAll(async () => {
  await client.end();
  await drop();
});

type Looked = { readonly place: string; readonly text: string; readonly found: readonly Breach[] };

/** Each statement once, with the functions that send it. */
function sentStatements(): Looked[] {
  const fixed = sources.flatMap(fixedStatements).filter(({ file }) => !(file in OWN_CONNECTIONS));
  const all = [...sent, ...fixed];
  return [...new Set(all.map(({ text }) => text))].map((text) => {
    const same = all.filter((one) => one.text === text);
    const places = same.map(({ file, sender }) => `${file.replace("src/store/", "")} ${sender}`);
    const values = same[0]?.values ?? [];
    const found = breaches(text, { ...catalog, sent: { values, project: PROJECT } });
    return { place: [...new Set(places)].join(", "), text, found };
  });
}

/** Those inside the functions of the schema. */
function storedStatements(): Looked[] {
  return schema.functions.flatMap((stored) =>
    innerStatements(stored, catalog).map(({ text, breaches: found }) => {
      return { place: `function ${stored.name}`, text, found };
    }),
  );
}

function heldToTheLaws(): { faults: string[]; used: ReadonlySet<Exception> } {
  const used = new Set<Exception>();
  const faults = [...sentStatements(), ...storedStatements()].flatMap(({ place, text, found }) =>
    unexcused(text, found, used).map(({ law, says }) => `${place}: ${law}: ${says}`),
  );
  return { faults: [...new Set(faults)], used };
}

describe("statements", () => {
  test("every piece of SQL in src/store was sent by a call", () => {
    expect(sent.length).toBeGreaterThan(100);
    expect(unsentPieces(sources.flatMap(piecesOf), sent)).toEqual([]);
  });

  test("each is one that PostgreSQL accepts", async () => {
    const refused: string[] = [];
    const texts = [...new Set(sent.map(({ text }) => text))];
    for (const [i, text] of texts.entries()) {
      await client.query(`prepare s${i} as ${text}`).catch((error: Error) => {
        refused.push(`${error.message}: ${text.replace(/\s+/g, " ")}`);
      });
    }
    expect(refused).toEqual([]);
  });

  test("each keeps the laws, or has a reason not to", () => {
    expect(heldToTheLaws().faults).toEqual([]);
  });

  test("every exception is needed", () => {
    const { used } = heldToTheLaws();
    expect(EXCEPTIONS.filter((exception) => !used.has(exception))).toEqual([]);
  });

  test("connections of their own are those of the list", () => {
    const files = sources.flatMap(fixedStatements).map(({ file }) => file);
    expect(Object.keys(OWN_CONNECTIONS).filter((file) => !files.includes(file))).toEqual([]);
  });
});

describe("the schema", () => {
  test("every table is in the list of reference or of distributed tables", () => {
    expect(listFaults(schema)).toEqual([]);
  });

  test("every table has a primary key, and every key of a distributed one its project", () => {
    expect(keyFaults(schema)).toEqual([]);
  });

  test("foreign keys name the project on both sides, or lead to a reference table", () => {
    expect(foreignKeyFaults(schema)).toEqual([]);
  });

  test("no column counts what each node would count by itself", () => {
    expect(countedFaults(schema)).toEqual([]);
  });

  test("functions that are called run on the node of their project", () => {
    expect(delegationFaults(schema)).toEqual([]);
  });
});

describe("each check can fail", () => {
  const anchor =
    "insert into plans (id, project_id) select $2, a.project_id from project_anchors a";

  test.each<[Law, string]>([
    ["project", "select 1 from plans where id = $1"],
    [
      "project",
      "select 1 from plans p join charges c on c.project_id = p.project_id where p.project_id = $1",
    ],
    [
      "project",
      "select 1 from plans p left join charges c on p.project_id = $1 where c.project_id = $1",
    ],
    ["project", "select 1 from plans p where p.project_id = $1 or p.id = $1"],
    ["project", "select 1 from plans where project_id = any($1)"],
    ["project", "select 1 from plans where project_id = $2"],
    [
      "project",
      "select 1 from projects where exists (select 1 from plans where id = $1) and id = $1",
    ],
    ["project", "with p as (select 1 from plans) select 1 from p"],
    ["project", "delete from idempotency_keys where key = $1"],
    ["joined", "select 1 from plans p, charges c where c.plan_id = p.id"],
    [
      "part",
      "select 1 from plans p join charges c on c.project_id = p.project_id where p.project_id = any($1)",
    ],
    ["row lock", "select 1 from plans for update"],
    ["insert", "insert into plans (project_id, id) select $1, $2"],
    [
      "insert",
      "insert into plans (project_id, id) select $1, id from metrics where project_id = $1",
    ],
    ["insert", "insert into plans (project_id, id) values ($2, $1)"],
    ["insert", "insert into plans (project_id, id) values ($1, (select 1))"],
    [
      "insert",
      "insert into plans select a.project_id from project_anchors a where a.project_id = $1",
    ],
    ["cte", "with p as (insert into plans (project_id) values ($1) returning id) select id from p"],
    ["volatile", "update plans set created_at = clock_timestamp() where project_id = $1"],
    [
      "volatile",
      "insert into plans (project_id, id) values ($1, $2) on conflict (id) do update set updated_at = now()",
    ],
    [
      "volatile",
      "update invoices set id = $2 where project_id = $1 returning 'INV-' || number_year",
    ],
    [
      "volatile",
      "update plans set created_at = coalesce(updated_at, statement_timestamp()) where project_id = $1",
    ],
    [
      "volatile",
      "update plans set name = case when created_at < statement_timestamp() then $2 end where project_id = $1",
    ],
    ["system column", "select xmin from plans where project_id = $1"],
    ["system column", "delete from plans where project_id = $1 and ctid = any(array(select 1))"],
    ["system column", "select $1::xid8"],
    ["system column", "select pg_current_snapshot()"],
    [
      "reference",
      "select 1 from projects p where exists (select 1 from plans x where x.project_id = p.id)",
    ],
    ["copies", "update projects set name = $2 where id = $1"],
    ["lock", "select pg_advisory_xact_lock(1)"],
    ["notify", "select pg_notify('a', 'b') from plans where project_id = $1"],
    ["function", "select delegated($1) from plans where project_id = $1"],
    ["function", "select delegated($2)"],
    ["function", "with d as (select delegated($1)) select 1 from d"],
    ["table", "select 1 from pg_stat_activity"],
    ["dynamic", "truncate plans"],
    ["move", "update plans set project_id = $1 where project_id = $1"],
  ])("%s: %s", (law, text) => {
    expect(lawsBroken(text)).toContain(law);
  });

  test.each([
    "select 1 from plans p join charges c on c.project_id = $1 where p.project_id = $1::uuid",
    "select 1 from plans p left join charges c on c.project_id = $1 and c.plan_id = p.id where p.project_id = $1",
    "select 1 from plans where project_id = $1 and (id = $2 or code = $2) for update skip locked",
    "with p as (select id from plans where project_id = $1) select 1 from p",
    "select 1 from plans where project_id = $1 union select 2 from charges where project_id = $1",
    "select name from projects where id = $1",
    "insert into plans (project_id, id) values ($1, $2), ($1, $2) returning id",
    `${anchor} cross join json_to_recordset($2) as e (id uuid) where a.project_id = $1`,
    "update plans set created_at = statement_timestamp() where project_id = $1 returning id",
    "update plans set id = $2 where project_id = $1 returning lower(code)",
    "update plans set created_at = greatest(updated_at, statement_timestamp()) where project_id = $1",
    "select delegated($1, $2) as done",
    "select pg_notify('a', 'b')",
    "delete from idempotency_keys where scope_id = $1",
  ])("and lets pass: %s", (text) => {
    expect(lawsBroken(text)).toEqual([]);
  });

  function lawsBroken(text: string): Law[] {
    const known = { sent: { values: [PROJECT, "another"], project: PROJECT } };
    const found = breaches(text, { ...catalog, ...known, own: new Set(["delegated"]) });
    return found.map(({ law }) => law);
  }

  test.each<[Law, string]>([
    ["transition", "insert into analytics_deltas (project_id) select project_id from after;"],
    [
      "insert",
      `insert into plans (project_id, id) select a.project_id, new.id from project_anchors a
        where a.project_id = new.project_id;`,
    ],
    ["project", "perform 1 from plans where project_id = id;"],
    ["lock", "perform pg_advisory_xact_lock(1);"],
    ["dynamic", "execute 'select 1';"],
  ])("in a function: %s: %s", (law, body) => {
    expect(lawsBrokenIn(body)).toContain(law);
  });

  test.each([
    "insert into plans (project_id) values (new.project_id);",
    "for r in select * from after loop insert into plans (project_id) values (r.project_id); end loop;",
  ])("and lets pass in a function: %s", (body) => {
    expect(lawsBrokenIn(body)).toEqual([]);
  });

  test("on a part of statements that names a table", () => {
    const body = "perform 1 from metrics where project_id = new.project_id;";
    expect(lawsBrokenIn(body)).toEqual([]);
    expect(lawsBrokenIn(body, "sent_events")).toEqual(["table"]);
  });

  function lawsBrokenIn(body: string, name = "f"): Law[] {
    const definition = `create function f() returns trigger language plpgsql as $$
      declare r record; begin ${body} end $$`;
    const stored = { name, definition, language: "plpgsql", of_trigger: true };
    const found = innerStatements({ ...stored, transitions: ["after"] }, catalog);
    return found.flatMap((one) => one.breaches.map(({ law }) => law));
  }

  test("on a piece of SQL that no call sends", () => {
    const source = sourceOf("src/store/a.ts", "export function f() { sql`select 1 from never`; }");
    expect(unsentPieces(piecesOf(source), sent)).toHaveLength(1);
  });

  test("on a schema that is not for a cluster", () => {
    const key = { table: "plans", name: "k", columns: ["id"] };
    const foreign = { ...key, target: "charges", target_columns: ["id"] };
    const column = { table: "plans", name: "seq", type: "xid8", is_identity: true };
    const wrong = { ...schema, tables: ["novel"], columns: [column], sequences: ["s"] };
    expect(listFaults(wrong)).toContain("novel is in no list: reference or distributed?");
    expect(keyFaults({ ...wrong, primary_keys: [key], unique_keys: [key] })).toHaveLength(3);
    expect(foreignKeyFaults({ foreign_keys: [foreign] })).toHaveLength(1);
    expect(countedFaults(wrong)).toHaveLength(3);
  });
});
