// The commands about service.yaml: sync, diff, validate, export, schema.

import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { command, needProject, remote, withConnection } from "./command.ts";
import { dataExports } from "./csv-export.ts";
import { AlreadyReported, CliError, EXIT, type Io, printJson } from "./io.ts";
import type { ConnectionFlags } from "./profile.ts";
import type { SyncFlags } from "./sync.ts";

const DEFAULT_FILE = "service.yaml";

/** Loaded on demand: YAML and Ajv are more than half of what the command would load. */
const syncing = () => import("./sync.ts");

type Flags = SyncFlags & ConnectionFlags;

export function fileCommands(io: Io): Command[] {
  return [
    syncCommand(io),
    diffCommand(io),
    validateCommand(io),
    exportCommand(io),
    schemaCommand(io),
  ];
}

function syncCommand(io: Io): Command {
  return remote("sync", "Bring the project to what its file declares, and show what changes.", [
    ["dues sync", "./service.yaml"],
    ["dues sync billing.yaml --dry-run", "show the plan only; exit code 2 when there is a change"],
    ["dues sync --yes --secrets-out secrets.ndjson", "in a pipeline"],
  ])
    .argument("[file]", "the file", DEFAULT_FILE)
    .option("--dry-run", "print the plan and change nothing")
    .option("--json", "print the plan as JSON")
    .option("--yes", "do not ask before prices of plans in use change")
    .option("--secrets-out <file>", "append new webhook secrets to this file (mode 0600)")
    .action(runSync(io, {}));
}

function diffCommand(io: Io): Command {
  return remote("diff", "Show how the project differs from its file; change nothing.", [
    ["dues diff", "exit code 2 when it differs"],
    ["dues diff billing.yaml --json", "for a machine"],
  ])
    .argument("[file]", "the file", DEFAULT_FILE)
    .option("--json", "print the plan as JSON")
    .action(runSync(io, { dryRun: true }));
}

/** The file is checked before anything is asked of the profile or the service. */
function runSync(io: Io, fixed: SyncFlags) {
  const connected = withConnection<Flags>(io, async ({ dues }, flags, file = DEFAULT_FILE) => {
    const { sync } = await syncing();
    const exit = await sync(io, dues, file, { ...flags, ...fixed });
    if (exit === EXIT.drift) throw new AlreadyReported("drift");
    if (exit === EXIT.bad_file) throw new AlreadyReported("bad_file");
  });
  return async (file: string, flags: Flags, self: Command) => {
    const { loadFile } = await syncing();
    loadFile(io, file, flags.json === true);
    await connected(file, flags, self);
  };
}

function validateCommand(io: Io): Command {
  return command("validate", "Check a file whole, without asking the service.", [
    ["dues validate", "./service.yaml: every fault with line, column and a hint"],
  ])
    .argument("[file]", "the file", DEFAULT_FILE)
    .option("--json", "print faults as JSON")
    .action(async (file: string, flags: { json?: boolean }) => {
      const { loadFile } = await syncing();
      loadFile(io, file, flags.json === true);
      if (flags.json) printJson(io, { faults: [] });
      else io.out(`${file} is well formed.\n`);
    });
}

function exportCommand(io: Io): Command {
  const made = remote("export", "Write what the project is as a service.yaml.", [
    ["dues export > service.yaml", "syncing it changes nothing"],
    ["dues export --out service.yaml", "the same; an existing file is not overwritten"],
    ["dues export invoices --csv", "or payments, or events: data for a spreadsheet"],
  ])
    // So that flags behind the name of a subcommand are the subcommand's.
    .enablePositionalOptions()
    .option("--out <file>", "write to this file")
    .option("--json", "print JSON")
    .action(
      withConnection<ConnectionFlags & { out?: string; json?: boolean }>(
        io,
        async (connection, flags) => {
          const { dues } = connection;
          const id = needProject(connection);
          const { organization } = await dues.getCurrentKey();
          const { projects } = await dues.listProjects({});
          const project = projects.find((each) => each.id === id);
          if (project === undefined) throw new CliError("failed", `There is no project ${id}.`);
          const org = organization.slug;
          const slugs = { org, workspace: project.workspace_slug, project: project.slug };
          const { presentState } = await import("./present-state.ts");
          const { exportFile, exportText } = await import("./export-file.ts");
          const present = await presentState(dues, id);
          const { name } = project;
          if (flags.json) printJson(io, exportFile(slugs, present, name));
          else if (flags.out === undefined) io.out(exportText(slugs, present, name));
          else writeNew(flags.out, exportText(slugs, present, name));
        },
      ),
    );
  for (const each of dataExports(io)) made.addCommand(each);
  return made;
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    throw new CliError("failed", `${file} was not written: ${(error as Error).message}`);
  }
}

function schemaCommand(io: Io): Command {
  return command("schema", "Print the JSON Schema of service.yaml, for editors.", [
    ["dues schema > service.schema.json", "then: # yaml-language-server: $schema=…"],
  ]).action(async () => {
    const { serviceSchema } = await import("./json-schema.ts");
    printJson(io, serviceSchema());
  });
}
