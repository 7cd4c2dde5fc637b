// `dues projects`: the organization's projects, and a new one.

import type { Command } from "commander";
import type { Project } from "../../client/types.ts";
import { remote, withConnection } from "../connection/command.ts";
import { type Connection, type ConnectionFlags, pathOf } from "../connection/profile.ts";
import { type Io, printJson } from "../terminal/io.ts";
import { listCommand } from "./lists.ts";

type Flags = ConnectionFlags & {
  readonly workspace?: string;
  readonly name?: string;
  readonly currency?: string;
  readonly sandbox?: boolean;
  readonly json?: boolean;
};

export function projectCommands(io: Io): Command[] {
  const list = listCommand<Project>(io, {
    name: "projects",
    many: "projects",
    says: "List the organization's projects.",
    examples: [["dues projects list", ""]],
    filters: [{ flag: "--workspace <workspace>", says: "of this workspace" }],
    columns: [
      { title: "PROJECT", of: pathOf },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "MODE", of: (row) => row.mode },
      { title: "CURRENCY", of: (row) => row.default_currency },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues, { workspace }) =>
      (await dues.listProjects(typeof workspace === "string" ? { workspace } : {})).projects,
  });
  const create = remote("create", "writes", "Make a project. Its mode never changes.", [
    ["dues projects create demo --sandbox", "its clock can be moved"],
    ["dues projects create shop --workspace main --currency EUR", "for real bills"],
  ])
    .argument("<slug>", "lower-case letters, digits and dashes")
    .option("--workspace <slug>", "where; that of the project in use by default")
    .option("--name <name>", "name; the slug by default")
    .option("--currency <code>", "default currency; USD by default")
    .option("--sandbox", "for trying things out")
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async (connection, flags, slug = "") => {
        const { name, currency, sandbox } = flags;
        const answer = await connection.dues.createProject({
          workspace: flags.workspace ?? (await ownWorkspace(connection)),
          slug,
          mode: sandbox ? "sandbox" : "live",
          ...(name !== undefined && { name }),
          ...(currency !== undefined && { default_currency: currency }),
        });
        if (flags.json) return printJson(io, answer);
        const { project } = answer;
        const ref = pathOf(project);
        io.out(`${ref} is there (${project.mode}). Use it with --project ${ref}\n`);
      }),
    );
  return [list, create];
}

async function ownWorkspace({ dues, profile }: Connection): Promise<string> {
  const { projects } = await dues.listProjects({});
  const own = projects.find(({ id }) => id === profile.project_id) ?? projects[0];
  return own?.workspace_slug ?? "default";
}
