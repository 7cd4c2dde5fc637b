// The commands about an organization itself. They work on the database, as `init` does: who may run
// them has the server.

import type { Command } from "commander";
import { systemClock } from "../../clock.ts";
import { readConfig } from "../../config.ts";
import { command, group } from "../connection/command.ts";
import { type Io, printJson } from "../terminal/io.ts";
import { voices } from "./server.ts";

export function organizationCommand(io: Io): Command {
  return group("org", "The organization itself.", [renewIdCommand(io)]);
}

function renewIdCommand(io: Io): Command {
  return command(
    "renew-id",
    "writes",
    "Give the organization another id: the old one makes no tokens.",
    [["dues org renew-id --org acme", ""]],
  )
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
      const { renewOrganization } = await import("../../service/first-tenant.ts");
      const { withRequestPool } = await import("../../service/request-pool.ts");
      const config = readConfig();
      const opening = { verb: "org renew-id", ...voices(io) };
      const renewed = await withRequestPool(config, opening, (pool) =>
        renewOrganization(pool, flags.org, config, systemClock.now()),
      );
      if (flags.json) return printJson(io, renewed);
      io.out(`organization_id   ${renewed.organization_id}\n`);
    });
}
