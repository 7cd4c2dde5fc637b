// The commands that are the service itself or work on its database, and need no service to talk to.

import type { Command } from "commander";
import type { Io } from "../terminal/io.ts";
import { backupCommands } from "./backup.ts";
import { clusterCommand } from "./cluster.ts";
import { doctorCommand } from "./doctor.ts";
import { organizationCommand } from "./organizations.ts";
import { initCommand, migrateCommand, serveCommand } from "./server.ts";

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
