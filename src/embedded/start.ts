// The embedded PostgreSQL as the rest of dues sees it: who holds the server of a data folder, who
// visits it, and who has to wait or is refused.

import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { EmbeddedError } from "./child-process.ts";
import { openHome } from "./data-folder.ts";
import {
  endPostmaster,
  findPostmaster,
  type Home,
  launch,
  POLL_MS,
  PORT,
  type Postmaster,
  type Server,
  type Settings,
} from "./server.ts";

export { EmbeddedError };

export type Embedded = {
  /** For pg.Pool and pg.Client: host is the socket's folder. */
  readonly connection: Connection;
  /** True when this process started the server, and stop() ends it. */
  readonly started: boolean;
  stop(): Promise<void>;
};

type Connection = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Said because PGSSLMODE in the environment would otherwise break a local socket. */
  readonly ssl: false;
};

export type EmbeddedOptions = {
  readonly folder: string;
  /** Shown to others who are refused: "dues serve (process 4242, http://127.0.0.1:8080)". */
  readonly holder: string;
  readonly say?: (line: string) => void;
  readonly settings?: Settings;
  /** Called when the server dies by itself while it is held. */
  readonly onExit?: (message: string) => void;
};

// Advisory locks of the database "dues". Whoever started the server keeps SERVES or VISITS for as
// long as the server is meant to run; visitors share USES, so that a short-lived starter can wait
// for them. Locks end with the session, so they cannot outlive a killed process.
const LOCK_SPACE = 0x64756573;
const LOCK = { serves: 1, visits: 2, uses: 3 } as const;
type Starter = "serves" | "visits";

/** How long the server of another process may stay in a state before we act. */
const PATIENCE_MS = {
  starting: 600_000,
  stopping: 20_000,
  unheld: 5_000,
  unreachable: 5_000,
  visits: 60_000,
} as const;
const SAY_AFTER_MS = 1_000;
/** How long a starter waits at its end for those who use its server. */
const USERS_MAX_MS = { serves: 3_000, visits: 60_000 } as const;
const RECONNECT_MS = 100;
/** PostgreSQL cuts application_name there. */
const NAME_MAX = 63;

/** For `serve`: starts the server of the folder and holds it, or refuses. */
export function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  return enter(options, "serves");
}

/** For `init` and `migrate`: uses the server that runs on the folder, else starts one meanwhile. */
export function reachEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  return enter(options, "visits");
}

async function enter(options: EmbeddedOptions, as: Starter): Promise<Embedded> {
  const home = await openHome(options.folder, options.settings ?? {}, options.say ?? (() => {}));
  const waiting = new Waiting(home, options.say);
  for (;;) {
    const postmaster = await findPostmaster(home.cluster);
    if (postmaster === undefined) {
      const server = await launch(home, options.settings ?? {});
      if (server !== undefined) return holdServer(server, options, as);
      continue;
    }
    const seen = await look(postmaster);
    if (as === "visits" && (seen.state === "serves" || seen.state === "visits")) {
      const visit = await visitServer(postmaster, options.holder);
      if (visit !== undefined) return visit;
    } else if (seen.state === "serves") {
      throw inUse(home, seen.name);
    } else {
      await waiting.oneMoment(postmaster, seen);
    }
  }
}

function inUse(home: Home, name: string): EmbeddedError {
  return new EmbeddedError(
    `The data folder ${home.folder} is in use by ${name}. Stop it, or set DUES_DATA to ` +
      "another folder.",
  );
}

function connectionTo(host: string, database = "dues"): Connection {
  return { host, port: PORT, user: "dues", database, ssl: false };
}

type Seen =
  | { readonly state: Starter; readonly name: string }
  | { readonly state: "starting" | "stopping" | "unheld" | "unreachable" };

/** Asks a running server who started it. */
async function look(postmaster: Postmaster): Promise<Seen> {
  if (postmaster.status === "starting") return { state: "starting" };
  if (postmaster.status === "stopping") return { state: "stopping" };
  const client = new pg.Client(connectionTo(postmaster.socket_folder));
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ kind: number; name: string }>(
      `select l.objid::int as kind, a.application_name as name
         from pg_locks l
         join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'advisory' and l.granted and l.classid = $1::int::oid and l.objsubid = 2
          and l.objid in (${LOCK.serves}, ${LOCK.visits})
          and l.database = (select oid from pg_database where datname = current_database())`,
      [LOCK_SPACE],
    );
    const [starter] = rows;
    if (starter === undefined) return { state: "unheld" };
    return { state: starter.kind === LOCK.serves ? "serves" : "visits", name: starter.name };
  } catch (error) {
    const { code } = error as { code?: string };
    // The socket is missing or nobody listens: tmp cleaners do that. All else passes by itself.
    const deaf = code === "ENOENT" || code === "ECONNREFUSED" || code === "EACCES";
    return { state: deaf ? "unreachable" : "starting" };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Patience with a server that another process started, per state, and what follows it. */
class Waiting {
  readonly #home: Home;
  readonly #say: ((line: string) => void) | undefined;
  #state = "";
  #since = 0;
  #said = false;

  constructor(home: Home, say: ((line: string) => void) | undefined) {
    this.#home = home;
    this.#say = say;
  }

  async oneMoment(postmaster: Postmaster, seen: Seen): Promise<void> {
    const key = `${postmaster.pid} ${seen.state}`;
    if (key !== this.#state) {
      this.#state = key;
      this.#since = performance.now();
    }
    const waited = performance.now() - this.#since;
    if (waited > SAY_AFTER_MS && !this.#said) {
      this.#said = true;
      const name = "name" in seen ? seen.name : `a PostgreSQL (process ${postmaster.pid})`;
      this.#say?.(`Waiting for ${name} that runs on ${this.#home.folder} to end.`);
    }
    if (seen.state === "serves" || waited < PATIENCE_MS[seen.state]) {
      await delay(POLL_MS);
      return;
    }
    if (seen.state === "visits") throw inUse(this.#home, seen.name);
    if (seen.state === "unheld" || seen.state === "stopping") {
      await endPostmaster(this.#home.cluster, postmaster);
      return;
    }
    throw new EmbeddedError(
      `A PostgreSQL (process ${postmaster.pid}) runs on ${this.#home.folder} and does not ` +
        `answer on ${postmaster.socket_folder}. End it (kill -INT ${postmaster.pid}) and start ` +
        "again, or set DUES_DATA to another folder.",
    );
  }
}

/** Joins a server that another process started; undefined when it just ends. */
async function visitServer(postmaster: Postmaster, holder: string): Promise<Embedded | undefined> {
  const connection = connectionTo(postmaster.socket_folder);
  const client = new pg.Client({ ...connection, application_name: holder.slice(0, NAME_MAX) });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("select pg_advisory_lock_shared($1, $2)", [LOCK_SPACE, LOCK.uses]);
  } catch {
    await client.end().catch(() => {});
    await delay(POLL_MS);
    return undefined;
  }
  return { connection, started: false, stop: () => client.end() };
}

/** Takes the starter's lock on a server just launched, and keeps it until stop(). */
async function holdServer(
  server: Server,
  options: EmbeddedOptions,
  as: Starter,
): Promise<Embedded> {
  const connection = connectionTo(server.socket_folder);
  const config = { ...connection, application_name: options.holder.slice(0, NAME_MAX) };
  let client: pg.Client | undefined;
  let stopping = false;

  async function take(): Promise<void> {
    const next = new pg.Client(config);
    next.on("error", () => {});
    try {
      await next.connect();
      await next.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, LOCK[as]]);
    } catch (error) {
      await next.end().catch(() => {});
      throw error;
    }
    client = next;
    // A crash of one backend makes PostgreSQL cut every session and recover: take the lock again.
    next.once("end", () => void retake());
  }
  async function retake(): Promise<void> {
    client = undefined;
    while (!stopping && client === undefined) {
      await delay(RECONNECT_MS);
      await take().catch(() => {});
    }
  }
  void server.ended.then((reason) => {
    if (stopping) return;
    stopping = true;
    const why = reason === "" ? "it was told to stop" : reason;
    options.onExit?.(
      `The embedded PostgreSQL ended (${why}). Its log is postgres.log in ${options.folder}.`,
    );
  });
  try {
    await makeDatabase(server.socket_folder);
    await take();
  } catch (error) {
    stopping = true;
    await server.stop();
    throw error;
  }
  return {
    connection,
    started: true,
    async stop() {
      stopping = true;
      // This session keeps the lock on the users until the server is gone, or one could slip in.
      if (client !== undefined) await waitForUsers(client, USERS_MAX_MS[as]);
      await server.stop();
      await client?.end().catch(() => {});
    },
  };
}

async function makeDatabase(host: string): Promise<void> {
  const client = new pg.Client(connectionTo(host, "postgres"));
  client.on("error", () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query("select from pg_database where datname = 'dues'");
    if (rowCount === 0) await client.query("create database dues");
  } finally {
    await client.end().catch(() => {});
  }
}

/** Nobody who already uses the server is cut off, unless it takes too long. */
async function waitForUsers(client: pg.Client, wait_max_ms: number): Promise<void> {
  try {
    await client.query(`set lock_timeout = ${wait_max_ms}`);
    await client.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, LOCK.uses]);
  } catch {
    // They take too long, or the server is already gone: it ends in either case.
  }
}
