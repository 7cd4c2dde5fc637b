// The commands that are the service itself or work on its database, and need no service to talk to.

import type { Command } from "commander";
import { backupCommands } from "./backup-commands.ts";
import { clusterCommand } from "./cluster-commands.ts";
import { doctorCommand } from "./doctor-command.ts";
import type { Io } from "./io.ts";
import { organizationCommand } from "./organization-commands.ts";
import { initCommand, migrateCommand, serveCommand } from "./server-commands.ts";

export function serviceCommands(io: Io): Command[] {
  return [
    serveCommand(io),
    initCommand(io),
    migrateCommand(io),
    ...backupCommands(io),
    doctorCommand(io),
    clusterCommand(io),
    organizationCommand(io),
  ];
}
