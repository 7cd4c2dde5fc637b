// The commands that work on the database itself: serve, init, migrate.

import { Command, Option } from "commander";
import { systemClock } from "../../clock.ts";
import { type Config, type Role, readConfig } from "../../config.ts";
import type { Running } from "../../service/serve.ts";
import { plainFetch } from "../connection/plain-fetch.ts";
import { banner } from "../terminal/banner.ts";
import { declare } from "../terminal/effects.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { fields } from "../terminal/output.ts";

/** What opening a database says, and what happens when the embedded one ends. */
export function voices(io: Io) {
  const say = (line: string) => io.err(`${line}\n`);
  const onLost = (why: string) => {
    say(`dues: the embedded database is gone: ${why}`);
    process.exit(1);
  };
  return { say, onLost };
}

export function serveCommand(io: Io): Command {
  return declare(new Command("serve"), "writes")
    .description("Start the service: API and workers, on an embedded PostgreSQL or DATABASE_URL.")
    .option("--port <port>", "port to listen on (PORT)")
    .option("--host <address>", "address to listen on (HOST)")
    .addOption(
      new Option("--role <role>", "what this process does")
        .choices(["all", "api", "worker"])
        .default("all"),
    )
    .addHelpText(
      "after",
      `
Examples:
  $ dues serve                                   everything, data in ./.dues
  $ DATABASE_URL=postgres://… dues serve         the same on your own PostgreSQL (15 or newer)
  $ dues serve --role worker                     only the scheduler, beside other processes`,
    )
    .action(async (options: { port?: string; host?: string; role: Role }) => {
      const config = readConfig({
        ...(options.port && { PORT: options.port }),
        // A worker does not serve the API: any free port will do.
        ...(options.role === "worker" && !options.port && { PORT: "0" }),
        ...(options.host && { HOST: options.host }),
      });
      // Loaded on demand: the other commands start without the service.
      const { serve } = await import("../../service/serve.ts");
      const { profileFile } = await import("../../service/profile.ts");
      const running = await serve({ config, role: options.role, ...voices(io) });
      stopOnSignal(io, running);
      const profile_file = profileFile(config);
      io.out(banner({ running, config, profile_file, is_terminal: io.terminal }));
    });
}

/** Ctrl-C reaches the service from the terminal and, a moment later, from npm. */
const SAME_SIGNAL_MS = 500;

/** The first signal stops in order, a later one leaves at once. */
function stopOnSignal(io: Io, running: Running): void {
  let first_ms: number | undefined;
  const stop = async () => {
    const now_ms = performance.now();
    if (first_ms !== undefined) {
      if (now_ms - first_ms > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    first_ms = now_ms;
    io.err("Stopping…\n");
    await running.stop();
    process.exit(0);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
}

export function initCommand(io: Io): Command {
  return declare(new Command("init"), "writes")
    .description("Make an organization, a workspace and a project, as far as missing, and a token.")
    .requiredOption("--org <slug>", "organization")
    .requiredOption("--workspace <slug>", "workspace")
    .requiredOption("--project <slug>", "project")
    .option("--sandbox", "make the project a sandbox: its clock can be moved")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Works on DATABASE_URL or the embedded store, whether or not the service runs.
Running it again finds what is there and prints a new token.

Example:
  $ dues init --org acme --workspace main --project test --sandbox`,
    )
    .action(async (options: InitOptions) => {
      const { SLUG_PATTERN } = await import("../../schema/tenants.ts");
      for (const name of ["org", "workspace", "project"] as const) {
        if (!new RegExp(SLUG_PATTERN).test(options[name])) {
          const message = `--${name} takes lower-case letters, digits and dashes, at most 63.`;
          throw new CliError("failed", message);
        }
      }
      const { withRequestPool } = await import("../../service/request-pool.ts");
      const { openKey } = await import("../../service/open-store.ts");
      const { initTenant } = await import("../../service/first-tenant.ts");
      const config = readConfig();
      const opening = { verb: "init", ...voices(io) };
      const profile = await withRequestPool(config, opening, async (pool) => {
        await openKey(pool, config, systemClock.now());
        const mode = options.sandbox ? "sandbox" : "live";
        const base_url = await servedAt(config);
        return initTenant(pool, options, mode, base_url, systemClock.now());
      });
      io.run.if_lost = "The token was in it: run this again for another.\n";
      if (options.json) printJson(io, profile, 0);
      else io.out(fields(profile));
    });
}

const ASK_MS = 1_000;

/** Where the service says that it is while it runs here, else where its settings put it. */
async function servedAt(config: Config): Promise<string> {
  if (config.database_url !== undefined) return config.base_url;
  const { readProfile } = await import("../../service/profile.ts");
  const kept = readProfile(config)?.base_url;
  if (kept === undefined) return config.base_url;
  const signal = AbortSignal.timeout(ASK_MS);
  const isThere = await plainFetch(`${kept}/healthz`, { signal }).then(
    ({ ok }) => ok,
    () => false,
  );
  return isThere ? kept : config.base_url;
}

type InitOptions = {
  org: string;
  workspace: string;
  project: string;
  sandbox?: boolean;
  json?: boolean;
};

export function migrateCommand(io: Io): Command {
  return declare(new Command("migrate"), "writes")
    .description("Bring the database to the schema of this version, and say what was applied.")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  $ DATABASE_URL=postgres://… dues migrate")
    .action(async (options: { json?: boolean }) => {
      const { withMigrated } = await import("../../service/open-store.ts");
      const opening = { verb: "migrate", ...voices(io) };
      const applied = await withMigrated(readConfig(), opening, async (_store, names) => names);
      if (options.json) printJson(io, { applied }, 0);
      else if (applied.length === 0) io.out("The schema is current.\n");
      else io.out(applied.map((name) => `applied ${name}\n`).join(""));
    });
}
