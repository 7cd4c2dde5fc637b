// The command line against a real server: as a process of its own, or called as a function.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { serviceCommands } from "../../src/cli/commands/service.ts";
import { runProgram } from "../../src/cli/program.ts";
import { guarded, type Io, newRun } from "../../src/cli/terminal/io.ts";
import { readClientSettings } from "../../src/config.ts";
import { type App, type Options, startApp } from "../support/app.ts";
import { type Ran, type Started, startTool } from "../support/tool.ts";

export type { Ran, Started };

export type Given = {
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** In process only: answers to questions, as if somebody sat there. */
  readonly answers?: readonly string[];
  /** In process only: as if the output were a terminal. */
  readonly terminal?: boolean;
  /** In process only: may throw, as a network does. */
  readonly onRequest?: (request: string) => void | Promise<void>;
};

/** An Io at which nobody sits, and what it was told. */
export function heard(given: Partial<Io> = {}) {
  const said = { out: "", err: "" };
  const io: Io = {
    settings: readClientSettings({}),
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    stdin: Readable.from([]),
    stdout: new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        said.out += String(chunk);
        done();
      },
    }),
    interactive: false,
    progress: false,
    terminal: false,
    color: false,
    run: newRun(),
    ask: () => Promise.reject(new Error("Nobody is there.")),
    ...given,
  };
  return { io, said };
}

/** POSTs that store nothing. */
const PREVIEWS =
  /^POST \/v1\/(invoices\/preview|credit-notes\/preview|customers\/[^/]+\/portal-links)$/;

/** A command that declares that it reads is ended by whoever closes its output. */
function refuseWrites(args: readonly string[], requests: readonly string[]): void {
  const writes = requests.filter((each) => !each.startsWith("GET ") && !PREVIEWS.test(each));
  if (writes.length === 0) return;
  throw new Error(`dues ${args.join(" ")} declares that it reads, and sent ${writes.join(", ")}`);
}

/** A server on a port, a folder for files, and the tool in front of them. */
export class Shell {
  readonly app: App;
  readonly url: string;
  readonly folder: string;
  /** Requests that the in-process tool made, as `POST /v1/plans`. */
  readonly requests: string[] = [];
  readonly env: Record<string, string>;

  constructor(app: App, url: string) {
    this.app = app;
    this.url = url;
    this.folder = mkdtempSync(join(tmpdir(), "dues-cli-"));
    this.env = {
      DUES_URL: url,
      DUES_TOKEN: app.profile.token,
      DUES_PROJECT: app.profile.project_id,
      HOME: this.folder,
      XDG_CONFIG_HOME: join(this.folder, "config"),
      DUES_DATA: join(this.folder, "none"),
    };
  }

  file(name: string, text: string | Buffer): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** As people run it: a process of its own. */
  start(args: readonly string[], given: Given = {}): Started {
    const { env, input = "" } = given;
    return startTool(args, { cwd: this.folder, env: { ...this.env, ...env }, input });
  }

  process(args: readonly string[], given: Given = {}): Promise<Ran> {
    return this.start(args, given).done;
  }

  /** The same tool called as a function: no process to start, and its requests can be counted. */
  async run(args: readonly string[], given: Given = {}): Promise<Ran> {
    const answers = [...(given.answers ?? [])];
    const { io: heardIo, said } = heard({
      settings: readClientSettings({ ...this.env, NO_COLOR: "1", ...given.env }),
      stdin: Readable.from([given.input ?? ""]),
      interactive: given.answers !== undefined,
      terminal: given.terminal === true,
      fetch: async (input, init) => {
        const request = `${init?.method} ${new URL(String(input)).pathname}`;
        await given.onRequest?.(request);
        this.requests.push(request);
        return fetch(input, init);
      },
      ask: async () => answers.shift() ?? "",
    });
    const io = guarded(heardIo);
    const server = serviceCommands(io);
    const before = this.requests.length;
    const code = await runProgram(io, server, args);
    if (io.run.effect === "reads") refuseWrites(args, this.requests.slice(before));
    return { code, ...said };
  }

  /** Writes of the in-process tool since the last time this was asked. */
  takeWrites(): string[] {
    return this.requests.splice(0).filter((request) => !request.startsWith("GET "));
  }

  /** Another project, so that tests of one file do not meet. */
  async project(slug: string): Promise<string> {
    const body = { workspace: "main", slug, mode: "sandbox" };
    const { project } = await this.app.ok("POST", "/v1/projects", body);
    return project.id as string;
  }

  /** A new project frozen at `at`, with a folder of its own. Closing it leaves the server open. */
  async inNewProject(slug: string, at: string): Promise<Shell> {
    const app = this.app.inProject(await this.project(slug));
    await app.freeze(at);
    return new Shell(app, this.url);
  }

  async close(): Promise<void> {
    await this.app.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let organizations = 0;
let shared: Promise<Shell> | undefined;

/**
 * An organization of its own on the server of the worker, which lives until the run ends: its slug
 * is not acme, and what looks over all projects takes startShell().
 */
export async function sharedShell({ at }: Pick<Options, "at"> = {}): Promise<Shell> {
  shared ??= startShell();
  const { app, url } = await shared;
  organizations += 1;
  const own = await app.inOrganization(`shell-${organizations}`);
  if (at !== undefined) await own.freeze(at);
  return new Shell(own, url);
}

export async function startShell(options: Options = {}): Promise<Shell> {
  const app = await startApp({ ...options, env: { WEBHOOK_ALLOW_PRIVATE: "1", ...options.env } });
  const url = await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  return new Shell(app, url);
}
