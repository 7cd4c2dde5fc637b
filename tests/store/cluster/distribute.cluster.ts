// Distribution on a real cluster: rows and schema stay what they were, whatever cuts it short.

import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { distribute } from "../../../src/store/cluster/distribute.ts";
import type { Connection } from "../../../src/store/db/db.ts";
import { listMigrations, migrate, SchemaError } from "../../../src/store/migration/migrate.ts";
import { addressOf, emptyCluster, hostOf } from "../../support/cluster.ts";
import { admin, emptyDatabase } from "../../support/database.ts";

const SHARDS = 4;
const NOBODY = { starting() {}, done() {} };
const COORDINATOR = hostOf({ connectionString: process.env.CLUSTER_URL ?? "" });

let cluster: Awaited<ReturnType<typeof emptyCluster>>;
beforeEach(async () => {
  cluster = await emptyCluster();
});
afterEach(() => cluster.drop());

const run = (progress = NOBODY) => distribute(cluster.connection, { shards: SHARDS, progress });

/** Forty projects with rows that triggers saw, and that foreign keys lead to. */
const ROWS = `
  insert into organizations
  values (md5('o')::uuid, 'acme', 'Acme', '2026-01-01');
  insert into workspaces
  values (md5('o')::uuid, md5('w')::uuid, 'main', 'Main', '2026-01-01');
  insert into projects (id, organization_id, workspace_id, slug, name, mode, created_at,
                        customer_prefix)
  select md5('p' || n)::uuid, md5('o')::uuid, md5('w')::uuid, 'p' || n, 'P', 'live', '2026-01-01',
         lpad(to_hex(n), 8, '0')
    from generate_series(1, 40) as n;
  insert into project_anchors select id from projects;
  insert into log_heads select id, 0 from projects;
  insert into customers (project_id, id, seq, short_id, external_id, name, email, currency,
                         created_at, updated_at)
  select p.id, md5(p.id::text || n)::uuid, n, 'cust_000' || n, 'c' || n, 'C', 'c@example.com', 'USD',
         '2026-01-01', '2026-01-01'
    from projects p cross join generate_series(1, 5) as n;
  insert into plans (project_id, id, code, name, interval, amount_cents, amount_currency, version,
                     created_at, updated_at)
  select id, id, 'pro', 'Pro', 'monthly', 3000, 'USD', 1, '2026-01-01', '2026-01-01' from projects;
  insert into plan_versions (project_id, plan_id, version, amount_cents, charges, effective_at)
  select project_id, id, 1, 3000, '[]', '2026-01-01' from plans;
  insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status, started_at,
                             period_no, current_period_start, current_period_next, plan_version,
                             recurring_cents, created_at, updated_at)
  select project_id, id, 's' || seq, id, project_id, 'active', '2026-01-01', 1, '2026-01-01',
         '2026-06-01', 1, 3000, '2026-01-01', '2026-01-01'
    from customers;
  insert into idempotency_keys (scope_id, key, request_hash, status, body, created_at)
  select id, 'k', '\\x00', 200, '{}', '2026-01-01' from projects;`;

async function ask<T>(connection: Connection, text: string): Promise<T[]> {
  const client = new pg.Client({ ...connection });
  await client.connect();
  try {
    return (await client.query(text)).rows as T[];
  } finally {
    await client.end();
  }
}

/** All that has a name or a definition, other than what Citus puts beside it. */
async function schemaOf(connection: Connection): Promise<string[]> {
  const rows = await ask<{ text: string }>(
    connection,
    `select c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
            || ' ' || a.attnotnull || coalesce(' ' || pg_get_expr(d.adbin, d.adrelid), '') as text
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
      union all
     select c.relname || ' ' || conname || ' '
            -- Citus makes the tables of other nodes with constraints that count as checked.
            || replace(pg_get_constraintdef(k.oid), ' NOT VALID', '')
       from pg_constraint k join pg_class c on c.oid = k.conrelid
      where c.relnamespace = 'public'::regnamespace
      union all
     select pg_get_indexdef(i.indexrelid)
       from pg_index i join pg_class c on c.oid = i.indrelid
      where c.relnamespace = 'public'::regnamespace
      union all
     select pg_get_triggerdef(t.oid)
       from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = 'public'::regnamespace and not t.tgisinternal
      union all
     select pg_get_functiondef(oid) from pg_proc
      where pronamespace = 'public'::regnamespace and prokind = 'f'
      order by 1`,
  );
  return rows.map(({ text }) => text);
}

async function countsOf(connection: Connection): Promise<Record<string, number>> {
  const tables = await ask<{ name: string }>(
    connection,
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await ask<{ count: string }>(connection, `select count(*) from ${name}`);
    counts[name] = Number(row?.count);
  }
  return counts;
}

const placesOf = (connection: Connection) =>
  ask<{ name: string; kind: string; by: string }>(
    connection,
    `select table_name::text as name, citus_table_type as kind, distribution_column as by
       from citus_tables order by 1`,
  );

describe("a database with rows", () => {
  beforeEach(async () => {
    await migrate(cluster.connection);
    await admin(cluster.connection, ROWS);
  });

  test("is spread as it is: same schema, same rows, seen from every node", async () => {
    const [schema, counts] = [
      await schemaOf(cluster.connection),
      await countsOf(cluster.connection),
    ];
    expect(counts).toMatchObject({ customers: 200, analytics_deltas: 40, idempotency_keys: 40 });
    const { applied, tables, functions } = await run();
    expect(applied).toEqual([]);
    const names = functions.map((signature) => signature.replace(/\(.*/, "")).join(" ");
    expect(names).toBe("add_analytics_deltas lock_usage record_usage try_lock try_locks");
    expect(Object.fromEntries(tables.map(({ name, rows }) => [name, rows]))).toEqual(counts);
    for (const node of [cluster.connection, ...cluster.workers]) {
      expect(await schemaOf(node)).toEqual(schema);
      expect(await countsOf(node)).toEqual(counts);
    }
    const perNode = await ask<{ count: string }>(
      cluster.connection,
      "select count(*) from citus_shards where table_name = 'customers'::regclass group by nodeport",
    );
    expect(perNode.map(({ count }) => Number(count))).toEqual([SHARDS / 2, SHARDS / 2]);
  });

  test("has reference tables, and all else beside customers", async () => {
    await run();
    const places = await placesOf(cluster.connection);
    const everywhere = ["installation", "organizations", "projects", "schema_migrations"];
    expect(places.filter(({ kind }) => kind === "reference").map(({ name }) => name)).toEqual([
      ...everywhere,
      "tokens",
      "workspaces",
    ]);
    const spread = places.filter(({ kind }) => kind === "distributed");
    expect(spread).toHaveLength(places.length - 6);
    expect(spread.filter(({ by }) => by !== "project_id")).toEqual([
      { name: "idempotency_keys", kind: "distributed", by: "scope_id" },
    ]);
    const groups = await ask(
      cluster.connection,
      "select distinct colocation_id from citus_tables where citus_table_type = 'distributed'",
    );
    expect(groups).toHaveLength(1);
  });

  test("leaves no rows behind that nobody sees, and no identity or sequence", async () => {
    await run();
    const left = await ask(
      cluster.connection,
      `select logicalrelid from pg_dist_partition where pg_relation_size(logicalrelid) > 0`,
    );
    expect(left).toEqual([]);
    expect(
      await ask(
        cluster.connection,
        "select 1 from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace",
      ),
    ).toEqual([]);
  });

  test("counts what changes from then on, once", async () => {
    await run();
    await admin(
      cluster.connection,
      "update subscriptions set status = 'suspended' where project_id = md5('p1')::uuid",
    );
    const deltas = await ask(
      cluster.connection,
      `select count, cents
         from analytics_deltas
        where project_id = md5('p1')::uuid
        order by count`,
    );
    expect(deltas).toEqual([
      { count: "-5", cents: "-15000" },
      { count: "5", cents: "15000" },
    ]);
  });

  test("is spread once: a second run finds nothing to do", async () => {
    await run();
    const places = await placesOf(cluster.connection);
    expect(await run()).toMatchObject({ applied: [], tables: [], functions: [] });
    expect(await placesOf(cluster.connection)).toEqual(places);
  });

  test("is as it was when the run is killed, and whole after the next run", async () => {
    const [schema, counts] = [
      await schemaOf(cluster.connection),
      await countsOf(cluster.connection),
    ];
    for (const after of [1, 20, 41]) {
      let done = 0;
      let killed: Promise<void> | undefined;
      const progress = {
        starting() {},
        done() {
          done += 1;
          if (done === after) killed = killRun();
        },
      };
      await expect(run(progress)).rejects.toThrow();
      await killed;
      expect(done).toBeGreaterThanOrEqual(after);
      expect(await placesOf(cluster.connection)).toEqual([]);
      expect(await schemaOf(cluster.connection)).toEqual(schema);
      expect(await countsOf(cluster.connection)).toEqual(counts);
    }
    await run();
    expect(await schemaOf(cluster.connection)).toEqual(schema);
    expect(await countsOf(cluster.connection)).toEqual(counts);
  });

  const killRun = () =>
    admin(
      cluster.connection,
      `select pg_terminate_backend(pid)
         from pg_stat_activity
        where datname = current_database() and application_name = 'dues cluster'`,
    );
});

describe("refuses", () => {
  test.each(["dues api", "dues worker", "dues listen"])(
    "while %s is connected, to whichever node",
    async (application_name) => {
      for (const node of [cluster.connection, ...cluster.workers]) {
        const other = new pg.Client({ ...node, application_name });
        await other.connect();
        await expect(run()).rejects.toThrow(
          `Another process serves from this database (${application_name} at ${hostOf(node)})`,
        );
        await other.end();
      }
      expect(await placesOf(cluster.connection)).toEqual([]);
    },
  );

  test("at a worker, which names the coordinator", async () => {
    const [worker = {}] = cluster.workers;
    const refused = distribute(worker, { shards: SHARDS, progress: NOBODY });
    await expect(refused).rejects.toThrow(
      `DATABASE_URL names a worker of the cluster. Point it at the coordinator, ${COORDINATOR}.`,
    );
  });

  test("more shards than the nodes have locks for", async () => {
    const refused = distribute(cluster.connection, { shards: 1_000_000, progress: NOBODY });
    await expect(refused).rejects.toThrow(/^Distributing takes about \d+ locks on each node/);
  });

  test("while somebody holds a table, and does not wait for long", async () => {
    await migrate(cluster.connection);
    const other = new pg.Client({ ...cluster.connection });
    await other.connect();
    await other.query("begin; lock table plans in row exclusive mode");
    await expect(run()).rejects.toThrow("Another session is using a table");
    expect(await placesOf(cluster.connection)).toEqual([]);
    await other.end();
  });

  test("before nodes were added", async () => {
    const { connection, drop } = await emptyDatabase();
    await admin(connection, "create extension citus");
    const attempt = () => distribute(connection, { shards: SHARDS, progress: NOBODY });
    await expect(attempt()).rejects.toThrow("citus_set_coordinator_host");
    const node = addressOf(connection);
    await admin(connection, `select citus_set_coordinator_host(${node})`);
    await admin(connection, `select citus_set_node_property(${node}, 'shouldhaveshards', false)`);
    await expect(attempt()).rejects.toThrow("citus_add_node");
    await drop();
  });
});

test("triggers are allowed in sessions that come later, on every node", async () => {
  await run();
  for (const node of [cluster.connection, ...cluster.workers]) {
    const setting = "citus.enable_unsafe_triggers";
    expect(await ask(node, `show ${setting}`)).toEqual([{ [setting]: "on" }]);
  }
});

describe("a process at a worker", () => {
  test("compares the schema and goes on where all is applied", async () => {
    await run();
    for (const worker of cluster.workers) expect(await migrate(worker)).toEqual([]);
  });

  test("is told to distribute at the coordinator first", async () => {
    await migrate(cluster.connection);
    const [worker = {}] = cluster.workers;
    const refused = migrate(worker);
    await expect(refused).rejects.toThrow(SchemaError);
    await expect(refused).rejects.toThrow(
      `Run "dues cluster distribute" with DATABASE_URL at the coordinator, ${COORDINATOR}`,
    );
    expect(await ask(worker, "select to_regclass('schema_migrations') as found")).toEqual([
      { found: null },
    ]);
  });

  test("is told to migrate at the coordinator when something is missing", async () => {
    await run();
    const [worker = {}] = cluster.workers;
    await expect(migrate(worker, [...(await listMigrations()), LATER])).rejects.toThrow(
      `migration ${LATER.name} is missing. Run "dues migrate" with DATABASE_URL at the ` +
        `coordinator, ${COORDINATOR}`,
    );
  });
});

const LATER = {
  version: 9_001,
  name: "9001_later.sql",
  text: `
    create table badges (
      project_id uuid not null references projects,
      id uuid not null,
      customer_id uuid not null,
      primary key (project_id, id),
      foreign key (project_id, customer_id) references customers (project_id, id)
    );
    create table regions (code text primary key);
    insert into regions values ('eu'), ('us');
    alter table customers add column branch text;
    alter table customers add constraint customers_branch_check check (branch <> '');
    alter table projects add constraint projects_name_check check (name <> '-');
    drop function try_lock(uuid, text);
    create function try_lock(scope uuid, key text, wide boolean) returns boolean
    language plpgsql as $$ begin return true; end $$;`,
};

describe("a later migration", () => {
  test("distributes the tables and functions that it makes", async () => {
    await run();
    await admin(cluster.connection, ROWS);
    const all = [...(await listMigrations()), LATER];
    expect(await migrate(cluster.connection, all)).toEqual([LATER.name]);
    const places = await placesOf(cluster.connection);
    expect(places).toContainEqual({ name: "badges", kind: "distributed", by: "project_id" });
    expect(places.find(({ name }) => name === "regions")?.kind).toBe("reference");
    const schema = await schemaOf(cluster.connection);
    for (const worker of cluster.workers) {
      expect(await schemaOf(worker)).toEqual(schema);
      expect(await migrate(worker, all)).toEqual([]);
      expect((await countsOf(worker)).regions).toBe(2);
    }
    const wanted =
      "badges badges_project_id_customer_id_fkey FOREIGN KEY (project_id, customer_id)";
    expect(schema.filter((text) => text.startsWith(wanted))).toHaveLength(1);
    const delegated = await ask(
      cluster.connection,
      `select force_delegation
         from pg_catalog.pg_dist_object
        where classid = 'pg_proc'::regclass and objid = 'try_lock(uuid,text,boolean)'::regprocedure
          and distribution_argument_index = 0`,
    );
    expect(delegated).toEqual([{ force_delegation: true }]);
    expect(await migrate(cluster.connection, all)).toEqual([]);
  });

  test("that fails leaves everything as it was", async () => {
    await run();
    const [schema, places] = [
      await schemaOf(cluster.connection),
      await placesOf(cluster.connection),
    ];
    const broken = { ...LATER, text: `${LATER.text}; select 1 / 0` };
    const all = [...(await listMigrations()), broken];
    await expect(migrate(cluster.connection, all)).rejects.toThrow("division by zero");
    expect(await schemaOf(cluster.connection)).toEqual(schema);
    expect(await placesOf(cluster.connection)).toEqual(places);
  });
});
