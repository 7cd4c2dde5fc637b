// The profile: address, ids and token of a project. Beside the embedded database it is kept in the
// file `dev.json`, so that the CLI needs no flags.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";

export type Profile = {
  readonly base_url: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly project_id: string;
  readonly token: string;
};

export function profileFile(config: Config): string {
  return join(config.data_folder, "dev.json");
}

export function readProfile(config: Config): Profile | undefined {
  try {
    return JSON.parse(readFileSync(profileFile(config), "utf8")) as Profile;
  } catch {
    return undefined;
  }
}

/** Keeps the profile that was made, or the address in the one that is there. */
export function keepProfile(
  config: Config,
  base_url: string,
  made: Profile | undefined,
): Profile | undefined {
  if (config.database_url !== undefined) return made && { ...made, base_url };
  const profile = made ?? readProfile(config);
  if (profile === undefined) return undefined;
  const kept = { ...profile, base_url };
  writeFileSync(profileFile(config), `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
  return kept;
}
