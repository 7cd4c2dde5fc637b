// The commands about an organization itself. They work on the database, as `init` does: who may run
// them has the server.

import type { Command } from "commander";
import { systemClock } from "../clock.ts";
import { command, group } from "./command.ts";
import { type Io, printJson } from "./io.ts";
import { withStore } from "./server-commands.ts";

/** Loaded on demand, so that the other commands start without loading the server. */
const service = () => import("../main.ts");

export function organizationCommand(io: Io): Command {
  return group("org", "The organization itself.", [renewIdCommand(io)]);
}

function renewIdCommand(io: Io): Command {
  return command("renew-id", "Give the organization another id: the old one makes no tokens.", [
    ["dues org renew-id --org acme", ""],
  ])
    .requiredOption("--org <slug>", "organization")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
With KEY_CREATION=open whoever knows the organization's id can make tokens, so renew it when it
became known; then revoke the tokens that were made with it (dues keys list, dues keys revoke).
Tokens, projects and everything else stay as they are. Processes that run know the new id at once.

Works on DATABASE_URL or the embedded store, whether or not the service runs.`,
    )
    .action(async (flags: { org: string; json?: boolean }) => {
      const { renewOrganization, requestPool } = await service();
      const renewed = await withStore(io, "org renew-id", async (config, store) => {
        const pool = requestPool(store.connection, config);
        try {
          return await renewOrganization(pool, flags.org, config, systemClock.now());
        } finally {
          await pool.end();
        }
      });
      if (flags.json) return printJson(io, renewed);
      io.out(`organization_id   ${renewed.organization_id}\n`);
    });
}
