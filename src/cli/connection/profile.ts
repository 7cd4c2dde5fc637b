// Which service, token and project a command talks to: flags, then environment, then the profile
// of `dues login`, then the one that `npm start` keeps beside the embedded database.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Dues } from "../../client/dues.ts";
import { withoutPassword } from "../../client/error.ts";
import type { Project } from "../../client/types.ts";
import { makePrivateFolder, removeFile, writeWhole } from "../terminal/files.ts";
import { CliError, type Io } from "../terminal/io.ts";
import { plainFetch } from "./plain-fetch.ts";

export type Profile = {
  readonly base_url: string;
  readonly token: string;
  readonly project_id?: string | undefined;
};

export type ConnectionFlags = {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly project?: string;
};

export type Connection = {
  readonly dues: Dues;
  readonly profile: Profile;
  /** Where the profile came from, as it is shown. */
  readonly from: string;
};

const DEFAULT_URL = "http://127.0.0.1:8080";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** An address as profiles keep it: paths are put behind it. */
export function baseOf(url: string): string {
  return url.replace(/\/+$/, "");
}

/**
 * The profile to work with. Address and token come from the same place, so that a token is not sent
 * to another service.
 */
export function findProfile(io: Io, flags: ConnectionFlags): { profile: Profile; from: string } {
  const { settings } = io;
  const project = flags.project ?? settings.project;
  const { tokenFile } = flags;
  const token = tokenFile === undefined ? settings.token : tokenIn(tokenFile);
  const url = flags.url ?? settings.url;
  if (token !== undefined) {
    const profile = { base_url: url ?? DEFAULT_URL, token, project_id: project };
    return { profile, from: tokenFile ?? "the environment" };
  }
  for (const file of [loginFile(io), join(settings.data_folder, "dev.json")]) {
    const kept = readProfile(file);
    if (kept === undefined) continue;
    if (url !== undefined && baseOf(url) !== kept.base_url) continue;
    return { profile: { ...kept, project_id: project ?? kept.project_id }, from: file };
  }
  throw new CliError(
    "not_allowed",
    url === undefined
      ? "There is no token to work with."
      : `There is no token for ${withoutPassword(url)}.`,
    "Start the service here (npm start), or run dues login, or set DUES_URL and DUES_TOKEN.",
  );
}

function tokenIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new CliError("failed", `The token file cannot be read: ${(error as Error).message}`);
  }
}

/** A client for the profile. A project given as a slug is looked up. */
export async function connect(io: Io, flags: ConnectionFlags): Promise<Connection> {
  const { profile, from } = findProfile(io, flags);
  const dues = clientOf(io, profile);
  const { project_id } = profile;
  if (project_id === undefined || isUuid(project_id)) return { dues, profile, from };
  const id = await projectId(dues, project_id);
  const resolved = { ...profile, project_id: id };
  return { dues: clientOf(io, resolved), profile: resolved, from };
}

export function clientOf(io: Io, profile: Profile): Dues {
  const { base_url, token, project_id } = profile;
  try {
    return new Dues({ base_url, token, project_id, fetch: io.fetch ?? plainFetch });
  } catch (error) {
    throw new CliError("usage", (error as Error).message);
  }
}

/** The project that a slug names, or `workspace/project`. */
async function projectId(dues: Dues, slug: string): Promise<string> {
  const [first = "", second] = slug.split("/");
  const query = second === undefined ? { slug: first } : { workspace: first, slug: second };
  const { projects } = await dues.listProjects(query);
  const [only, another] = projects;
  if (only === undefined) throw new CliError("failed", `There is no project ${slug}.`);
  if (another !== undefined) {
    const names = projects.map(pathOf).join(", ");
    throw new CliError("usage", `Several projects are called ${slug}: ${names}.`);
  }
  return only.id;
}

/** A project as --project takes it: "main/live". */
export function pathOf({ workspace_slug, slug }: Pick<Project, "workspace_slug" | "slug">): string {
  return `${workspace_slug}/${slug}`;
}

export function loginFile(io: Io): string {
  return join(io.settings.config_folder, "profile.json");
}

/** The profile in a file; undefined where there is no file. */
export function readProfile(file: string): Profile | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError("failed", `The profile cannot be read: ${(error as Error).message}`);
  }
  try {
    const profile = JSON.parse(text) as Profile;
    if (typeof profile.base_url === "string" && typeof profile.token === "string") return profile;
  } catch {
    // Refused below, as any other content that is no profile.
  }
  throw new CliError("failed", `${file} holds no profile.`, "Remove it and run dues login.");
}

/** Writes a file that its owner alone can read. */
export async function writePrivate(file: string, value: object): Promise<void> {
  await makePrivateFolder(dirname(file));
  await writeWhole(file, { replace: true, mode: 0o600 }, (put) =>
    put(`${JSON.stringify(value, null, 2)}\n`),
  );
}

export async function dropProfile(file: string): Promise<void> {
  await removeFile(file);
}
