// The commands about service.yaml: sync, diff, validate, export, schema.

import type { Command } from "commander";
import { command, needProject, remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import type { SyncFlags } from "../service-file/sync.ts";
import { type Declared, writesFile } from "../terminal/effects.ts";
import { writeWhole } from "../terminal/files.ts";
import { AlreadyReported, CliError, EXIT, type Io, jsonText, printJson } from "../terminal/io.ts";
import { dataExports } from "./csv-export.ts";

const DEFAULT_FILE = "service.yaml";

// What these commands do is loaded on demand: YAML and Ajv are more than half of it.

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

const syncEffect: Declared = ({ dryRun }) => (dryRun === true ? "reads" : "writes");

function syncCommand(io: Io): Command {
  return remote(
    "sync",
    syncEffect,
    "Bring the project to what its file declares, and show what changes.",
    [
      ["dues sync", "./service.yaml"],
      [
        "dues sync billing.yaml --dry-run",
        "show the plan only; exit code 2 when there is a change",
      ],
      ["dues sync --yes --secrets-out secrets.ndjson", "in a pipeline"],
    ],
  )
    .argument("[file]", "the file", DEFAULT_FILE)
    .option("--dry-run", "print the plan and change nothing")
    .option("--json", "print the plan as JSON")
    .option("--yes", "do not ask before prices of plans in use change")
    .option("--secrets-out <file>", "append new webhook secrets to this file (mode 0600)")
    .action(runSync(io, {}));
}

function diffCommand(io: Io): Command {
  return remote("diff", "reads", "Show how the project differs from its file; change nothing.", [
    ["dues diff", "exit code 2 when it differs"],
    ["dues diff billing.yaml --json", "for a machine"],
  ])
    .argument("[file]", "the file", DEFAULT_FILE)
    .option("--json", "print the plan as JSON")
    .action(runSync(io, { dryRun: true }));
}

/** The file is checked before anything is asked of the profile or the service. */
function runSync(io: Io, fixed: SyncFlags) {
  return async (path: string, flags: Flags, self: Command) => {
    const { loadFile } = await import("../service-file/load.ts");
    // Once: a pipe gives what it holds a single time.
    const checked = loadFile(io, path, flags.json === true);
    const { sync } = await import("../service-file/sync.ts");
    const connected = withConnection<Flags>(io, async ({ dues, profile }, flags) => {
      const only = flags.project === undefined ? undefined : profile.project_id;
      const exit = await sync(io, dues, path, checked, { ...flags, ...fixed, only });
      if (exit === EXIT.drift) throw new AlreadyReported("drift");
      if (exit === EXIT.bad_file) throw new AlreadyReported("bad_file");
    });
    await connected(path, flags, self);
  };
}

function validateCommand(io: Io): Command {
  return command("validate", "reads", "Check a file whole, without asking the service.", [
    ["dues validate", "./service.yaml: every fault with line, column and a hint"],
  ])
    .argument("[file]", "the file", DEFAULT_FILE)
    .option("--json", "print faults as JSON")
    .action(async (path: string, flags: { json?: boolean }) => {
      const { loadFile } = await import("../service-file/load.ts");
      loadFile(io, path, flags.json === true);
      if (flags.json) printJson(io, { faults: [] });
      else io.out(`${path} is well formed.\n`);
    });
}

function exportCommand(io: Io): Command {
  const made = remote("export", writesFile("out"), "Write what the project is as a service.yaml.", [
    ["dues export > service.yaml", "syncing it changes nothing"],
    ["dues export --out service.yaml", "the same; an existing file is not overwritten"],
    ["dues export invoices --csv", "data for a spreadsheet; or of the others below"],
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
          const { presentState } = await import("../service-file/present-state.ts");
          const { exportFile, exportText } = await import("../service-file/export.ts");
          const present = await presentState(dues, id);
          const { name } = project;
          const text = flags.json
            ? jsonText(exportFile(slugs, present, name))
            : exportText(slugs, present, name);
          if (flags.out === undefined) io.out(text);
          else await writeWhole(flags.out, { replace: false }, (put) => put(text));
          await tellUnsyncable(io, text);
        },
      ),
    );
  for (const each of dataExports(io)) made.addCommand(each);
  return made;
}

/** A project may hold more than a file: that is told, and not found by the next sync. */
async function tellUnsyncable(io: Io, text: string): Promise<void> {
  const { checkFile } = await import("../service-file/checking/file.ts");
  const checked = checkFile(Buffer.from(text));
  if (!Array.isArray(checked)) return;
  const [first] = checked;
  io.err(`dues sync does not take this file: line ${first?.line}: ${first?.message}\n`);
}

function schemaCommand(io: Io): Command {
  return command("schema", "reads", "Print the JSON Schema of service.yaml, for editors.", [
    ["dues schema > service.schema.json", "then: # yaml-language-server: $schema=…"],
  ]).action(async () => {
    const { ServiceFile } = await import("../../schema/service-file.ts");
    const { schemaDocument } = await import("../../schema/standard-schema.ts");
    printJson(io, schemaDocument(ServiceFile));
  });
}
