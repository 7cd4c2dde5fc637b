// The secret that `dues webhooks listen` signs with: one for each service and project, kept beside
// the profile, so that a receiver need not be told another at every start.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Profile, writePrivate } from "../connection/profile.ts";
import type { Io } from "../terminal/io.ts";

type Secrets = Readonly<Record<string, string>>;

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export async function keptSecret(io: Io, { base_url, project_id = "" }: Profile): Promise<string> {
  const file = join(io.settings.config_folder, "listen-secrets.json");
  const kept = readSecrets(file);
  const name = `${base_url} ${project_id}`;
  const known = kept[name];
  if (known !== undefined) return known;
  const secret = newSecret();
  await writePrivate(file, { ...kept, [name]: secret });
  return secret;
}

/** None where the file is not there, or is none of ours: then new ones are made. */
function readSecrets(file: string): Secrets {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof kept !== "object" || kept === null) return {};
    const entries = Object.entries(kept).filter(([, secret]) => typeof secret === "string");
    return Object.fromEntries(entries) as Secrets;
  } catch {
    return {};
  }
}
