// A worker of the cluster that one test has for itself: a PostgreSQL with Citus whose processes it
// stops and kills, while the tests beside it go on using the workers that the run was given.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chown, mkdtemp, open, rm, stat } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Connection } from "../../src/store/db/db.ts";
import { admin, onClient } from "./database.ts";
import { signalFamily } from "./family.ts";
import { quickFolder } from "./folders.ts";
import { until } from "./processes.ts";

const run = promisify(execFile);

type Owner = { readonly uid: number; readonly gid: number };

/** What is asked of the coordinator: a worker must be of its version, and of its users. */
type Kind = { bin: string; data: string; user: string; conninfo: string };

export class WorkerServer {
  readonly connection: Connection;
  readonly port: number;
  readonly #folder: string;
  readonly #bin: string;
  readonly #owner: Owner | undefined;
  readonly #settings: Readonly<Record<string, string>>;
  #postmaster: ChildProcess | undefined;

  private constructor(kind: Kind, place: { folder: string; port: number; owner?: Owner }) {
    this.port = place.port;
    this.connection = {
      connectionString: `postgres://${kind.user}@127.0.0.1:${place.port}/postgres`,
    };
    this.#folder = place.folder;
    this.#bin = kind.bin;
    this.#owner = place.owner;
    this.#settings = {
      listen_addresses: "127.0.0.1",
      port: String(place.port),
      unix_socket_directories: "",
      shared_preload_libraries: "citus",
      wal_level: "logical",
      max_connections: "200",
      "citus.node_conninfo": kind.conninfo,
    };
  }

  /** Undefined where the coordinator's programs are not on this machine. */
  static async start(coordinator: Connection): Promise<WorkerServer | undefined> {
    const kind = await kindOf(coordinator);
    const data = await stat(kind.data).catch(() => undefined);
    if (data === undefined) return undefined;
    const folder = await mkdtemp(join(quickFolder(), "dues-worker-"));
    // PostgreSQL does not run as root: there it runs as the coordinator's user.
    const owner = process.getuid?.() === 0 ? { uid: data.uid, gid: data.gid } : undefined;
    if (owner !== undefined) await chown(folder, owner.uid, owner.gid);
    const server = new WorkerServer(kind, {
      folder,
      port: await freePort(),
      ...(owner && { owner }),
    });
    const wanted = ["-D", server.#data, "-U", kind.user, "-A", "trust", "-E", "UTF8"];
    await run(join(kind.bin, "initdb"), [...wanted, "--locale=C.UTF-8"], { ...owner, cwd: "/" });
    await server.comeBack();
    return server;
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  /** No process of the server does anything; the kernel goes on taking connections for it. */
  async hang(): Promise<void> {
    await this.#signal("SIGSTOP");
  }

  async goOn(): Promise<void> {
    await this.#signal("SIGCONT");
  }

  /** All of its processes at once, so that none has time to tell anybody. */
  async die(): Promise<void> {
    const postmaster = this.#postmaster;
    if (postmaster === undefined) return;
    const gone = new Promise((resolve) => postmaster.once("exit", resolve));
    await this.#signal("SIGKILL");
    await gone;
    this.#postmaster = undefined;
  }

  /** On the same folder, with what the server had written when it died. */
  async comeBack(): Promise<void> {
    const log = await open(join(this.#folder, "log"), "a");
    const settings = Object.entries(this.#settings).map((pair) => `--${pair.join("=")}`);
    this.#postmaster = spawn(join(this.#bin, "postgres"), ["-D", this.#data, ...settings], {
      ...this.#owner,
      cwd: "/",
      stdio: ["ignore", log.fd, log.fd],
    });
    await log.close();
    const answers = () => admin(this.connection, "select 1");
    await until(() => answers().then(isSo, isNot));
  }

  async close(): Promise<void> {
    await this.die();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    const pid = this.#postmaster?.pid;
    if (pid === undefined) throw new Error("The server does not run.");
    await signalFamily(pid, signal);
  }
}

const isSo = () => true;
const isNot = () => false;

async function kindOf(coordinator: Connection): Promise<Kind> {
  return onClient(coordinator, async (client) => {
    const { rows } = await client.query<Kind>(`
      select setting as bin, current_setting('data_directory') as data, current_user as user,
             current_setting('citus.node_conninfo') as conninfo
        from pg_config
       where name = 'BINDIR'`);
    const [kind] = rows;
    if (kind === undefined) throw new Error("The server does not say where its programs are.");
    return kind;
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
