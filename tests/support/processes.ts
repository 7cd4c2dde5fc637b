// The built service as real processes on a test database: several at once, killed, drained, and
// with a clock that the test moves.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, request } from "undici";
import type { Role } from "../../src/config.ts";
import type { Profile } from "../../src/service/profile.ts";
import type { Connection } from "../../src/store/db/db.ts";
import type { Json } from "./app.ts";
import { MAIN } from "./built.ts";
import { databaseUrl } from "./database.ts";

const READY_MS = 30_000;
const POLL_MS = 20;
const SECRET_KEY = "one key for all processes of a test";

/** Loaded before the service: its wall clock is the real one plus what the test last sent. */
const MOVABLE_CLOCK = (ahead_ms: number) => `
  const Real = Date;
  let ahead = ${ahead_ms};
  globalThis.Date = class extends Real {
    constructor(...parts) {
      if (parts.length === 0) super(new Real().getTime() + ahead);
      else super(...parts);
    }
    static now() { return new Real().getTime() + ahead; }
  };
  process.on("message", (message) => { ahead = message.ahead_ms; });
  process.channel?.unref();`;

export type ProcessOptions = {
  readonly connection: Connection;
  readonly role: Role;
  /** How far the process's clock runs ahead of the real one. */
  readonly ahead_ms?: number;
  readonly env?: Record<string, string>;
  /** The entry of another build than dist/. */
  readonly main?: string;
};

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<Exit>;
  #output = "";
  #log = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.on("data", (chunk) => {
      this.#output += chunk;
    });
    child.stderr?.on("data", (chunk) => {
      this.#log += chunk;
    });
    this.#exit = new Promise((resolve) => {
      child.on("exit", (code, signal) => resolve({ code, signal }));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Everything logged at level error or above. */
  get errors(): string[] {
    return this.#log.split("\n").filter((line) => line.startsWith("{"));
  }

  /** What it printed. */
  get output(): string {
    return this.#output;
  }

  get base_url(): string {
    return /Base URL\s+(\S+)/.exec(this.#output)?.[1] ?? "";
  }

  /** Resolves when the banner is out; a process that ends before that is a failure. */
  async ready(): Promise<this> {
    const early = this.#exit.then(({ code, signal }) => {
      throw new Error(`The process ended (${code ?? signal}): ${this.#log}`);
    });
    await Promise.race([early, until(() => this.#output.includes("API reference"), READY_MS)]);
    return this;
  }

  moveClock(ahead_ms: number): void {
    this.#child.send({ ahead_ms });
  }

  signal(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.kill(signal);
    return this.#exit;
  }
}

/** Starts and does not wait, so that several can start at once. */
export async function spawnService(options: ProcessOptions): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(tmpdir(), "dues-process-"));
  const clock = `data:text/javascript,${encodeURIComponent(MOVABLE_CLOCK(options.ahead_ms ?? 0))}`;
  const child = spawn(
    process.execPath,
    ["--import", clock, options.main ?? MAIN, "serve", "--role", options.role],
    {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: databaseUrl(options.connection),
        PORT: "0",
        DUES_DATA: folder,
        SECRET_KEY,
        LOG_LEVEL: "error",
        // Theirs may be moved, the database's is the machine's.
        CLOCK_SKEW_LIMIT_S: "0",
        ...options.env,
      },
    },
  );
  child.on("exit", () => rm(folder, { recursive: true, force: true }));
  return new ServiceProcess(child);
}

export async function startService(options: ProcessOptions): Promise<ServiceProcess> {
  return (await spawnService(options)).ready();
}

const SLOWNESS_MAX = 10;
const atFirst = processorTimes();

/** How much longer than on an idle machine things take on this one just now: from 1 to 10 times. */
export function slowness(): number {
  const load = (loadavg()[0] ?? 0) / availableParallelism();
  const now = processorTimes();
  const stolen = (now.stolen - atFirst.stolen) / Math.max(1, now.all - atFirst.all);
  return Math.min(SLOWNESS_MAX, Math.max(1, load) / (1 - Math.min(stolen, 0.9)));
}

/** Since the machine started; `stolen` is what a virtual machine's host gave to others. */
function processorTimes(): { readonly all: number; readonly stolen: number } {
  if (process.platform !== "linux") return { all: 0, stolen: 0 };
  const [total = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const times = total.split(/\s+/).slice(1, 9).map(Number);
  return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 };
}

/** Waits for a condition, looking again and again; how long is too long is a failure. */
export async function until(
  check: () => boolean | Promise<boolean>,
  within_ms = READY_MS,
): Promise<void> {
  const start = performance.now();
  while (!(await check())) {
    if (performance.now() - start > within_ms * slowness()) {
      throw new Error("It did not happen in time.");
    }
    await pause(POLL_MS);
  }
}

export type HttpAnswer = { readonly status: number; readonly body: Json };

/** Calls one of the processes as a tenant would. */
export class Caller {
  readonly #agent: Agent;
  readonly #profile: Profile;

  constructor(profile: Profile, connections = 50) {
    this.#profile = profile;
    this.#agent = new Agent({ connections, pipelining: 1 });
  }

  async call(
    service: ServiceProcess,
    method: string,
    path: string,
    body?: Json,
    headers: Record<string, string> = {},
  ): Promise<HttpAnswer> {
    const answer = await request(`${service.base_url}${path}`, {
      dispatcher: this.#agent,
      method: method as "POST",
      headers: {
        authorization: `Bearer ${this.#profile.token}`,
        "x-project-id": this.#profile.project_id,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, body: text === "" ? undefined : JSON.parse(text) };
  }

  /** As a caller does who takes "try again" at its word. */
  async insist(service: ServiceProcess, method: string, path: string, body?: Json) {
    for (;;) {
      const answer = await this.call(service, method, path, body);
      if (answer.status !== 503) return answer;
    }
  }

  async ok(service: ServiceProcess, method: string, path: string, body?: Json): Promise<Json> {
    const answer = await this.call(service, method, path, body);
    if (answer.status >= 300)
      throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer)}`);
    return answer.body;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}
