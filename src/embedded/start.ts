// The embedded PostgreSQL as the rest of dues sees it: one process starts the server of a data
// folder, others join it, wait for its end, or are refused.

import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { EmbeddedError } from "./child-process.ts";
import { openCluster } from "./data-folder.ts";
import { formerCluster } from "./former.ts";
import {
  type Cluster,
  endServer,
  findRunningServer,
  POLL_MS,
  PORT,
  type RunningServer,
  type ServerSettings,
  type StartedServer,
  startServer,
} from "./server.ts";
import { ServerSupervisor } from "./supervisor.ts";

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
  /** Overrides PGSSLMODE in the environment, which would break a local socket. */
  readonly ssl: false;
};

export type EmbeddedOptions = {
  readonly folder: string;
  /** Names this process to those it keeps out: "dues serve (process 4242, http://…)". */
  readonly application_name: string;
  readonly say?: (line: string) => void;
  readonly settings?: ServerSettings;
  /** Called when the server that this process started ended by itself and is not to be had back. */
  readonly onExit?: (message: string) => void;
};

/** Who starts a server: `dues serve`, or a command that needs it for a moment. */
type Starter = "service" | "command";

// Advisory locks of the database "dues". The process that started the server keeps the lock of its
// kind for as long as the server is meant to run; those who joined share the lock `joined`, so that
// a command that started the server can wait for them. Locks end with the session, so they cannot
// outlive a killed process.
const LOCK_SPACE = 0x64756573;
const LOCK = { service: 1, command: 2, joined: 3 } as const;

/** How long the server of another process may stay in a state before we act. */
const STATE_MAX_MS = {
  starting: 600_000,
  stopping: 20_000,
  abandoned: 5_000,
  unreachable: 5_000,
  command: 60_000,
} as const;
const SAY_AFTER_MS = 1_000;
/** How long a starter that ends waits for those who joined its server. */
const JOINED_MAX_MS = { service: 3_000, command: 60_000 } as const;
const RECONNECT_MS = 100;
/** PostgreSQL cuts off what is longer. */
const APPLICATION_NAME_MAX = 63;

/** Starts the server of the folder for `serve`, or refuses when a service uses it. */
export function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  return openServer(options, "service");
}

/** Uses the server that runs on the folder, else starts one: for commands beside a service. */
export function reachEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  return openServer(options, "command");
}

/** Does so for `upgrade-data`, with the programs of the version that has written the data. */
export function reachFormer(options: EmbeddedOptions & { binaries: string }): Promise<Embedded> {
  return openServer(options, "command", () => formerCluster(options.folder, options.binaries));
}

async function openServer(
  options: EmbeddedOptions,
  as: Starter,
  open: () => Promise<Cluster> = () => ownCluster(options),
): Promise<Embedded> {
  const cluster = await open();
  const waiting = new WaitingForServer(cluster, options.say);
  for (;;) {
    const running = await findRunningServer(cluster.data_directory);
    if (running === undefined) {
      const server = await startServer(cluster, options.settings ?? {});
      if (server !== undefined) return lockAsStarter(cluster, server, options, as);
      continue;
    }
    const seen = await stateOf(running);
    if (as === "command" && (seen.state === "service" || seen.state === "command")) {
      const joined = await joinServer(running, options.application_name);
      if (joined !== undefined) return joined;
    } else if (seen.state === "service") {
      throw inUse(cluster, seen.name);
    } else {
      await waiting.poll(running, seen);
    }
  }
}

function ownCluster({ folder, settings = {}, say = () => {} }: EmbeddedOptions): Promise<Cluster> {
  return openCluster(folder, settings, say);
}

function inUse(cluster: Cluster, name: string): EmbeddedError {
  return new EmbeddedError(
    `The data folder ${cluster.folder} is in use by ${name}. Stop it, or set DUES_DATA to ` +
      "another folder.",
  );
}

function connectionTo(host: string, database = "dues"): Connection {
  return { host, port: PORT, user: "dues", database, ssl: false };
}

/** `name` is the application_name of the process that started the server, while it lives. */
type ServerState =
  | { readonly state: Starter; readonly name: string }
  | { readonly state: "starting" | "stopping" | "abandoned" | "unreachable" };

/** Asks a running server who started it. */
async function stateOf(server: RunningServer): Promise<ServerState> {
  if (server.status === "starting") return { state: "starting" };
  if (server.status === "stopping") return { state: "stopping" };
  const client = new pg.Client(connectionTo(server.socket_folder));
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ kind: number; name: string }>(
      `select l.objid::int as kind, a.application_name as name
         from pg_locks l
         join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'advisory' and l.granted and l.classid = $1::int::oid and l.objsubid = 2
          and l.objid in (${LOCK.service}, ${LOCK.command})
          and l.database = (select oid from pg_database where datname = current_database())`,
      [LOCK_SPACE],
    );
    const [starter] = rows;
    if (starter === undefined) return { state: "abandoned" };
    return { state: starter.kind === LOCK.service ? "service" : "command", name: starter.name };
  } catch (error) {
    const { code } = error as { code?: string };
    // The socket is missing or nobody listens on it: programs that clean /tmp remove it. Other
    // errors are those of a server that starts or stops.
    const isUnreachable = code === "ENOENT" || code === "ECONNREFUSED" || code === "EACCES";
    return { state: isUnreachable ? "unreachable" : "starting" };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Waits for a server that another process started, for as long as its state allows, then acts. */
class WaitingForServer {
  readonly #cluster: Cluster;
  readonly #say: ((line: string) => void) | undefined;
  #state = "";
  #since = 0;
  #said = false;

  constructor(cluster: Cluster, say: ((line: string) => void) | undefined) {
    this.#cluster = cluster;
    this.#say = say;
  }

  /** Waits a moment, or does what is due when the state has lasted too long. */
  async poll(server: RunningServer, seen: ServerState): Promise<void> {
    const key = `${server.pid} ${seen.state}`;
    if (key !== this.#state) {
      this.#state = key;
      this.#since = performance.now();
    }
    const waited = performance.now() - this.#since;
    if (waited > SAY_AFTER_MS && !this.#said) {
      this.#said = true;
      const name = "name" in seen ? seen.name : `a PostgreSQL (process ${server.pid})`;
      this.#say?.(`Waiting for ${name} that runs on ${this.#cluster.folder} to end.`);
    }
    if (seen.state === "service" || waited < STATE_MAX_MS[seen.state]) {
      await delay(POLL_MS);
      return;
    }
    if (seen.state === "command") throw inUse(this.#cluster, seen.name);
    if (seen.state === "abandoned" || seen.state === "stopping") {
      await endServer(this.#cluster.data_directory, server);
      return;
    }
    throw new EmbeddedError(
      `A PostgreSQL (process ${server.pid}) runs on ${this.#cluster.folder} and does not ` +
        `answer on ${server.socket_folder}. End it (kill -INT ${server.pid}) and start ` +
        "again, or set DUES_DATA to another folder.",
    );
  }
}

/** Joins a server that another process started; undefined when it is just ending. */
async function joinServer(server: RunningServer, name: string): Promise<Embedded | undefined> {
  const connection = connectionTo(server.socket_folder);
  const client = new pg.Client({
    ...connection,
    application_name: name.slice(0, APPLICATION_NAME_MAX),
  });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("select pg_advisory_lock_shared($1, $2)", [LOCK_SPACE, LOCK.joined]);
  } catch {
    await client.end().catch(() => {});
    await delay(POLL_MS);
    return undefined;
  }
  return { connection, started: false, stop: () => client.end() };
}

/** Takes the starter's lock on a server that this process started, and keeps it until stop(). */
async function lockAsStarter(
  cluster: Cluster,
  server: StartedServer,
  options: EmbeddedOptions,
  as: Starter,
): Promise<Embedded> {
  const connection = connectionTo(server.socket_folder);
  const config = {
    ...connection,
    application_name: options.application_name.slice(0, APPLICATION_NAME_MAX),
  };
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
  const supervisor = new ServerSupervisor(server, {
    start: () => startServer(cluster, options.settings ?? {}, server.socket_folder),
    say: options.say ?? (() => {}),
    onGivenUp(why) {
      stopping = true;
      options.onExit?.(
        `The embedded PostgreSQL cannot go on: ${why}. Its log is postgres.log in ` +
          `${options.folder}.`,
      );
    },
    // A command is over before it would be back.
    ...(as === "command" && { pauses_ms: [] }),
  });
  try {
    await makeDatabase(server.socket_folder);
    await take();
  } catch (error) {
    stopping = true;
    await supervisor.stop();
    throw error;
  }
  return {
    connection,
    started: true,
    async stop() {
      stopping = true;
      // The session then keeps the lock until the server is gone, so that nobody joins meanwhile.
      if (client !== undefined) await waitForJoined(client, JOINED_MAX_MS[as]);
      await supervisor.stop();
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

/** Lets those who joined the server finish, unless they take too long. */
async function waitForJoined(client: pg.Client, wait_max_ms: number): Promise<void> {
  try {
    await client.query(`set lock_timeout = ${wait_max_ms}`);
    await client.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, LOCK.joined]);
  } catch {
    // They took too long, or the server is gone already: it is ended in either case.
  }
}
