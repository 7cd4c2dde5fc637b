// What `dues doctor` asks the database: how it is set, who is connected, what is in the way, what
// waits. Reads only, on a connection of its own, each part apart: one that cannot be read is told
// with its reason and leaves the others alone. What the answers mean is decided in src/doctor.

import pg from "pg";
import type { StartedJobs } from "../../schema/jobs.ts";
import { type ClusterStatus, readStatus } from "../cluster/status.ts";
import { askAllNodes, type Place, placeOf } from "../db/cluster-nodes.ts";
import {
  API_CONNECTION_NAME,
  LISTEN_CONNECTION_NAME,
  WORKER_CONNECTION_NAME,
} from "../db/connection-names.ts";
import { type Connection, DATABASE_NOW, Pool } from "../db/db.ts";
import { type CloseBacklog, closeBacklog, type WebhookBacklog, webhookBacklog } from "./backlog.ts";
import { startedJobs } from "./waiting.ts";

const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;
const NAME = "dues doctor";
/** How many of a kind are named. */
const NAMED_MAX = 3;
const NOW = DATABASE_NOW.text;

/** A part of the answers, or why there is none. */
export type Reading<T> = { readonly value: T } | { readonly why: string };

export type Version = {
  readonly text: string;
  readonly number: number;
  /** Versions of Citus on the nodes of a cluster, mostly one. */
  readonly citus: readonly string[];
};

export type Durability = {
  readonly address: string;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
};

export type Sessions = {
  /** All of the server's, also of other databases and programs. */
  readonly used: number;
  /** What may be used by other roles than superusers, on this database by this role. */
  readonly max: number;
  readonly api: number;
  readonly worker: number;
  readonly listening: number;
};

export type LongTransaction = {
  /** The number of the session's process, or the name of a prepared transaction. */
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly age_s: number;
};

export type Archive = {
  readonly mode: string;
  readonly is_failing: boolean;
  readonly failed_for_s: number | null;
  readonly last_failed_wal: string | null;
};

export type Standby = {
  readonly name: string;
  readonly state: string;
  readonly lag_s: number | null;
  readonly lag_bytes: number | null;
};

export type Slot = {
  readonly name: string;
  readonly is_active: boolean;
  readonly wal_status: string | null;
  readonly held_bytes: number | null;
};

export type SetAsideExample = {
  readonly project: string;
  readonly external_id: string;
  readonly reason: string;
};

export type WaitingEndpoint = {
  readonly id: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly waiting: number;
  readonly tries: number;
};

/** Portals of live projects: those of sandboxes show nobody's real data. */
export type Portals = {
  readonly live: number;
  /** How many open for whoever has a customer's id. */
  readonly open: number;
};

export type DatabaseReadings = {
  readonly version: Reading<Version>;
  readonly encoding: Reading<string>;
  readonly is_standby: Reading<boolean>;
  readonly schema_version: Reading<number>;
  readonly secret_check: Reading<Buffer | null>;
  /** Since when a restored database waits for `dues resume`. */
  readonly held_since: Reading<Date | null>;
  readonly portals: Reading<Portals>;
  /** Tokens for every project, of organizations with several projects and several such tokens. */
  readonly unbound_tokens: Reading<number>;
  readonly durability: Reading<readonly Durability[]>;
  readonly clock: Reading<{ readonly ahead_ms: number; readonly unsure_ms: number }>;
  readonly sessions: Reading<Sessions>;
  readonly transactions: Reading<readonly LongTransaction[]>;
  readonly oldest_id_age: Reading<number>;
  readonly archive: Reading<Archive>;
  readonly standbys: Reading<readonly Standby[]>;
  readonly slots: Reading<readonly Slot[]>;
  readonly closes: Reading<CloseBacklog & { readonly examples: readonly SetAsideExample[] }>;
  readonly webhooks: Reading<WebhookBacklog & { readonly waiting: readonly WaitingEndpoint[] }>;
  readonly started_jobs: Reading<readonly StartedJobs[]>;
  readonly cluster: Reading<ClusterStatus>;
};

export type Asked = {
  /** The time of the machine that asks. */
  readonly now: () => Date;
  /** Only transactions older than this are reported. */
  readonly long_transaction_s: number;
};

/** Throws when the database cannot be reached. */
export async function readDatabase(
  connection: Connection,
  asked: Asked,
): Promise<DatabaseReadings> {
  const { now, long_transaction_s } = asked;
  const client = new pg.Client({
    ...connection,
    application_name: NAME,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS,
  });
  // When it breaks, the statement that waits for it fails by itself.
  client.on("error", () => {});
  await client.connect();
  const timeouts = { statement_timeout_ms: STATEMENT_MS, lock_timeout_ms: CONNECT_MS };
  const pool = new Pool(connection, { ...timeouts, max: 1, application_name: NAME });
  try {
    const place = await placeOf(client);
    return {
      version: await reading(() => readVersion(client, place)),
      encoding: await reading(() => one(client, "select current_setting('server_encoding')")),
      is_standby: await reading(() => one(client, "select pg_is_in_recovery()")),
      schema_version: await reading(() => readSchemaVersion(client)),
      secret_check: await reading(() => one(client, "select secret_check from installation")),
      held_since: await reading(() => one(client, "select held_since from installation")),
      portals: await reading(async () => (await client.query<Portals>(PORTALS)).rows[0] as Portals),
      unbound_tokens: await reading(() => one(client, UNBOUND_TOKENS)),
      durability: await reading(() => readDurability(client, place)),
      clock: await reading(() => readClock(client, now)),
      sessions: await reading(() => readSessions(client, place)),
      transactions: await reading(() => readTransactions(client, long_transaction_s)),
      oldest_id_age: await reading(() => one(client, OLDEST_ID_AGE)),
      archive: await reading(async () => (await client.query<Archive>(ARCHIVE)).rows[0] as Archive),
      standbys: await reading(async () => (await client.query<Standby>(STANDBYS)).rows),
      slots: await reading(async () => (await client.query<Slot>(SLOTS)).rows),
      closes: await reading(async () => {
        const { rows } = await client.query<SetAsideExample>(SET_ASIDE);
        return { ...(await closeBacklog(pool, now())), examples: rows };
      }),
      webhooks: await reading(async () => {
        const { rows } = await client.query<WaitingEndpoint>(WAITING_ENDPOINTS);
        return { ...(await webhookBacklog(pool)), waiting: rows };
      }),
      started_jobs: await reading(() => startedJobs(pool)),
      cluster: await reading(() => readStatus(connection)),
    };
  } finally {
    await Promise.all([client.end(), pool.end()]);
  }
}

async function reading<T>(read: () => Promise<T>): Promise<Reading<T>> {
  try {
    return { value: await read() };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** The only value of the only row. */
async function one<T>(client: pg.Client, text: string): Promise<T> {
  const { rows } = await client.query({ text, rowMode: "array" });
  return rows[0]?.[0] as T;
}

async function readVersion(client: pg.Client, place: Place): Promise<Version> {
  const text = await one<string>(client, "select current_setting('server_version')");
  const number = await one<string>(client, "select current_setting('server_version_num')");
  return { text, number: Number(number), citus: await readCitusVersions(client, place) };
}

async function readCitusVersions(client: pg.Client, place: Place): Promise<string[]> {
  if (place.kind === "plain") return [];
  const answers = await askAllNodes(client, "select split_part(citus_version(), ' ', 2)");
  return [...new Set(answers.map(({ answer }) => answer))];
}

/** 0 before the first migration. */
async function readSchemaVersion(client: pg.Client): Promise<number> {
  const found = await one(client, "select to_regclass('schema_migrations')::text");
  if (found === null) return 0;
  return (await one<number | null>(client, "select max(version) from schema_migrations")) ?? 0;
}

/** What each node answers: one on plain PostgreSQL. Throws when a node of a cluster is away. */
async function onNodes(client: pg.Client, place: Place, statement: string) {
  if (place.kind !== "plain") return askAllNodes(client, statement);
  return [{ address: "the server", answer: await one<string>(client, statement) }];
}

/** As they are for this user in this database, which may differ from the server's files. */
async function readDurability(client: pg.Client, place: Place): Promise<Durability[]> {
  const answers = await onNodes(
    client,
    place,
    `select json_object_agg(name, setting)::text
       from pg_settings
      where name in ('fsync', 'full_page_writes', 'synchronous_commit')`,
  );
  return answers.map(({ address, answer }) => {
    return { address, ...(JSON.parse(answer) as Omit<Durability, "address">) };
  });
}

/** The database answers somewhere between the question and the answer. */
async function readClock(client: pg.Client, now: () => Date) {
  // The first answer may take longer than the others.
  await one(client, "select 1");
  const before_ms = now().getTime();
  const there = await one<number>(client, `select (extract(epoch from ${NOW}) * 1000)::float8`);
  const after_ms = now().getTime();
  const ahead_ms = Math.round(there - (before_ms + after_ms) / 2);
  return { ahead_ms, unsure_ms: Math.ceil((after_ms - before_ms) / 2) };
}

async function readSessions(client: pg.Client, place: Place): Promise<Sessions> {
  const { rows } = await client.query<{ used: number; max: number }>(`
    select (select count(*)::integer
              from pg_stat_activity
             where backend_type = 'client backend' and pid <> pg_backend_pid()) as used,
           least(current_setting('max_connections')::integer
                   - current_setting('superuser_reserved_connections')::integer
                   - coalesce(current_setting('reserved_connections', true), '0')::integer,
                 (select nullif(datconnlimit, -1) from pg_database
                   where datname = current_database()),
                 (select nullif(rolconnlimit, -1) from pg_roles
                   where rolname = current_user)) as max`);
  const ours = await onNodes(
    client,
    place,
    `select coalesce(json_object_agg(name, count), '{}')::text
       from (select application_name as name, count(*) as count
               from pg_stat_activity
              where datname = current_database() and application_name like 'dues %'
              group by application_name) n`,
  );
  const counts = ours.map(({ answer }) => JSON.parse(answer) as Record<string, number>);
  const sum = (name: string) => counts.reduce((all, each) => all + (each[name] ?? 0), 0);
  return {
    used: rows[0]?.used ?? 0,
    max: rows[0]?.max ?? 0,
    api: sum(API_CONNECTION_NAME),
    worker: sum(WORKER_CONNECTION_NAME),
    listening: sum(LISTEN_CONNECTION_NAME),
  };
}

/** Prepared ones too: they hold their locks though nobody is connected. */
async function readTransactions(client: pg.Client, long_s: number): Promise<LongTransaction[]> {
  const { rows } = await client.query<LongTransaction>(
    `select pid::text as id, application_name as name, coalesce(state, 'unknown') as state,
            extract(epoch from ${NOW} - xact_start)::integer as age_s
       from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'
        and pid <> pg_backend_pid()
        and xact_start < ${NOW} - make_interval(secs => $1)
      union all
     select gid, owner::text, 'prepared', extract(epoch from ${NOW} - prepared)::integer
       from pg_prepared_xacts
      where database = current_database() and prepared < ${NOW} - make_interval(secs => $1)
      order by age_s desc
      limit $2`,
    [long_s, NAMED_MAX],
  );
  return rows;
}

const PORTALS = `
  select count(*)::integer as live,
         count(*) filter (where portal_access = 'open')::integer as open
    from projects
   where mode = 'live'`;

/** One for the whole organization is needed: those that are bound make no projects. */
const UNBOUND_TOKENS = `
  select coalesce(sum(unbound), 0)::integer
    from (select count(*) as unbound
            from tokens t
           where project_ids is null and revoked_at is null
             and (expires_at is null or expires_at > ${NOW})
             and (select count(*) from projects p where p.organization_id = t.organization_id) > 1
           group by organization_id
          having count(*) > 1) per_organization`;

const OLDEST_ID_AGE = `
  select greatest(age(datfrozenxid), mxid_age(datminmxid))
    from pg_database
   where datname = current_database()`;

const ARCHIVE = `
  select current_setting('archive_mode') as mode,
         coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
           as is_failing,
         extract(epoch from ${NOW} - last_failed_time)::integer as failed_for_s, last_failed_wal
    from pg_stat_archiver`;

/** Where the server's log of changes ends; on a standby, what it has received. */
const END_OF_WAL =
  "case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end";

const STANDBYS = `
  select application_name as name, coalesce(state, 'unknown') as state,
         extract(epoch from replay_lag)::float8 as lag_s,
         pg_wal_lsn_diff(${END_OF_WAL}, replay_lsn)::float8 as lag_bytes
    from pg_stat_replication
   order by application_name`;

const SLOTS = `
  select slot_name as name, active as is_active, wal_status,
         pg_wal_lsn_diff(${END_OF_WAL}, restart_lsn)::float8 as held_bytes
    from pg_replication_slots
   order by slot_name`;

/** across projects: an index of those that are set aside, which are few. */
const SET_ASIDE = `
  select p.slug as project, s.external_id, s.set_aside_reason as reason
    from subscriptions s
    join projects p on p.id = s.project_id
   where s.set_aside_reason is not null
   order by s.current_period_next
   limit ${NAMED_MAX}`;

/** across projects: what an operator looks at, once. */
const WAITING_ENDPOINTS = `
  select e.id, e.url, e.enabled, count(*)::integer as waiting, max(q.tries) as tries
    from webhook_queue q
    join webhook_endpoints e on e.project_id = q.project_id and e.id = q.endpoint_id
   where e.deleted_at is null and (q.tries > 0 or not e.enabled)
   group by e.project_id, e.id, e.url, e.enabled
   order by count(*) desc
   limit ${NAMED_MAX}`;
