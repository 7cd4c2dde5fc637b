// The commands about the token in use: login, logout, whoami and keys; and `open`, for a browser.

import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { CreateKeyBody, Project } from "../../client/types.ts";
import { openInBrowser } from "../connection/browser.ts";
import { command, connectionFlags, remote, withConnection } from "../connection/command.ts";
import {
  baseOf,
  type Connection,
  type ConnectionFlags,
  clientOf,
  connect,
  dropProfile,
  isUuid,
  loginFile,
  pathOf,
  writePrivate,
} from "../connection/profile.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { fields } from "../terminal/output.ts";
import { type Column, tableText } from "../terminal/table.ts";

type Flags = ConnectionFlags & { readonly json?: boolean };

const TOKEN_MAX = 1_000;

export function loginCommands(io: Io): Command[] {
  return [loginCommand(io), logoutCommand(io), whoamiCommand(io), openCommand(io)];
}

function loginCommand(io: Io): Command {
  return command(
    "login",
    "writes",
    "Keep address, token and project for the commands that follow.",
    [
      ["dues login --url https://billing.example.com --project main/prod", "asks for the token"],
      ["dues login --url http://127.0.0.1:8080 < token.txt", "takes it from a file"],
    ],
  )
    .requiredOption("--url <url>", "address of the service")
    .option("--project <project>", "id or slug of the project")
    .action(async (flags: { url: string; project?: string }) => {
      const token = io.interactive ? await io.ask("Token: ", true) : await firstLine(io);
      if (token.trim() === "") throw new CliError("usage", "There is no token on the input.");
      const base_url = baseOf(flags.url);
      const given = { base_url, token: token.trim(), project_id: undefined };
      const dues = clientOf(io, given);
      const { organization } = await dues.getCurrentKey();
      const { projects } = await dues.listProjects({});
      const wanted = flags.project ?? (projects.length === 1 ? projects[0]?.id : undefined);
      const project = projects.find((each) => wanted !== undefined && isNamed(each, wanted));
      if (flags.project !== undefined && project === undefined) {
        const names = projects.map(pathOf).join(", ");
        throw new CliError("failed", `There is no project ${flags.project}.`, names);
      }
      await writePrivate(loginFile(io), { ...given, project_id: project?.id });
      const where = project === undefined ? "no project chosen" : `project ${project.slug}`;
      io.out(`Logged in to ${organization.name}, ${where}. Kept in ${loginFile(io)}.\n`);
    });
}

async function firstLine(io: Io): Promise<string> {
  let text = "";
  for await (const chunk of io.stdin) {
    text += String(chunk);
    if (text.includes("\n") || text.length > TOKEN_MAX) break;
  }
  return text.split("\n")[0] ?? "";
}

function logoutCommand(io: Io): Command {
  return command("logout", "writes", "Forget what login kept. The token itself stays valid.", [
    ["dues logout", ""],
  ]).action(async () => {
    await dropProfile(loginFile(io));
    io.out("Forgotten.\n");
  });
}

function whoamiCommand(io: Io): Command {
  return remote("whoami", "reads", "The token in use, its organization and project.", [
    ["dues whoami", ""],
  ])
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues, profile, from }, flags) => {
        const { token, organization } = await dues.getCurrentKey();
        const { base_url, project_id } = profile;
        const { projects } = await dues.listProjects({});
        const project = projects.find(({ id }) => id === project_id);
        if (flags.json) {
          return printJson(io, { token, organization, base_url, project_id, project, from });
        }
        io.out(
          fields({
            service: base_url,
            organization: `${organization.name} (${organization.slug})`,
            project: project === undefined ? (project_id ?? "none chosen") : projectName(project),
            token: `${token.name} (${token.key_prefix}…)`,
            scopes: token.scopes.join(", "),
            from,
          }),
        );
      }),
    );
}

/** Whether this is the project's id, its slug, or the slugs of its workspace and itself. */
function isNamed(project: Project, ref: string): boolean {
  return [project.id, project.slug, pathOf(project)].includes(ref);
}

/** The project as --project takes it, with its mode: "main/test (sandbox)". */
function projectName(project: Project): string {
  return `${pathOf(project)} (${project.mode})`;
}

export function keyCommands(io: Io): Command[] {
  type Scopes = NonNullable<CreateKeyBody["scopes"]>;
  type Create = Flags & { name: string; scopes?: string; for?: string; expiresAt?: string };
  const create = remote("create", "writes", "Create a token. It is shown once.", [
    ["dues keys create --name reports --scopes read", ""],
    ["dues keys create --name shop --for main/live", "good for this project only"],
  ])
    .requiredOption("--name <name>", "what it is for")
    .option("--scopes <list>", "of read, write, events, admin; with commas")
    .option("--for <projects>", "the only projects it is for: ids or slugs, with commas")
    .option("--expires-at <timestamp>", "when it stops working")
    .option("--json", "print JSON")
    .action(
      withConnection<Create>(io, async ({ dues }, { name, scopes, for: only, expiresAt, json }) => {
        const { organization } = await dues.getCurrentKey();
        if (organization.id === undefined) {
          throw new CliError("not_allowed", "Tokens are made with a token of the scope admin.");
        }
        const made = await dues.createKey({
          name,
          organization_id: organization.id,
          ...(scopes !== undefined && { scopes: scopes.split(",") as Scopes }),
          ...(only !== undefined && { project_ids: await projectIds(dues, only.split(",")) }),
          ...(expiresAt !== undefined && { expires_at: expiresAt }),
        });
        io.run.if_lost = `The token was in it: dues keys revoke ${made.key_prefix} ends it.\n`;
        if (json) printJson(io, made);
        else io.out(`${fields(made)}\nKeep the token: it is not shown again.\n`);
      }),
    );
  const list = remote("list", "reads", "List the organization's tokens.", [["dues keys list", ""]])
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags) => {
        const { tokens } = await dues.listKeys();
        if (flags.json) return printJson(io, { tokens });
        const columns: readonly Column<(typeof tokens)[number]>[] = [
          { title: "PREFIX", of: (row) => row.key_prefix },
          { title: "NAME", cut: true, of: (row) => row.name },
          { title: "SCOPES", of: (row) => row.scopes.join(",") },
          { title: "FOR", of: (row) => bindingText(row.project_ids) },
          { title: "LAST USED", drop: 2, of: (row) => row.last_used_at },
          { title: "ID", drop: 1, of: (row) => row.id },
        ];
        io.out(await tableText(io, columns, tokens));
      }),
    );
  const revoke = remote("revoke", "writes", "Revoke a token, by id or prefix.", [
    ["dues keys revoke dues_a1B2c3D4", ""],
  ])
    .argument("<token>", "id or prefix")
    .action(
      withConnection<Flags>(io, async (connection, _flags, ref = "") => {
        await connection.dues.revokeKey(await tokenId(connection, ref));
        io.out("Revoked.\n");
      }),
    );
  return [create, list, revoke];
}

function bindingText(project_ids: readonly string[] | null): string {
  if (project_ids === null) return "all projects";
  return project_ids.length === 1 ? "1 project" : `${project_ids.length} projects`;
}

/** The ids of projects, each named as --project names one. */
async function projectIds(dues: Dues, refs: readonly string[]): Promise<string[]> {
  const { projects } = await dues.listProjects({});
  return refs.map((ref) => {
    const found = projects.filter((each) => isNamed(each, ref));
    if (found.length === 1 && found[0] !== undefined) return found[0].id;
    const fault = found.length === 0 ? "There is no project" : "Several projects are called";
    throw new CliError("failed", `${fault} ${ref}.`, projects.map(pathOf).join(", "));
  });
}

async function tokenId({ dues }: Connection, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  const { tokens } = await dues.listKeys();
  const [only, another] = tokens.filter(({ key_prefix }) => key_prefix === ref);
  if (only === undefined) throw new CliError("failed", `No live token begins with ${ref}.`);
  if (another !== undefined) throw new CliError("failed", `Several tokens begin with ${ref}.`);
  return only.id;
}

function openCommand(io: Io): Command {
  return remote("open", "reads", "Open the service's pages in a browser.", [
    ["dues open", "the API reference"],
    ["dues open --print", "only say where it is"],
  ])
    .option("--print", "print the address and open nothing")
    .action(async (flags: ConnectionFlags & { print?: boolean }, self: Command) => {
      const { profile } = await connect(io, connectionFlags(flags, self));
      const url = `${profile.base_url}/docs`;
      io.out(`${url}\n`);
      if (!flags.print) openInBrowser(url);
    });
}
