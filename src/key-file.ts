// The key that signs cursors and encrypts secrets: from SECRET_KEY, else from a file in DUES_DATA.

import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config.ts";

/** Where the key is kept that SECRET_KEY would set. */
export function secretKeyFile({ data_folder }: Pick<Config, "data_folder">): string {
  return join(data_folder, "secret.key");
}

/** The ways to read the key, mostly one. */
export type KeyReadings = readonly [Buffer, ...Buffer[]];

const FILE_CONTENTS = /^[0-9a-f]{64}$/;

/** Whether a text is what a key file holds. */
export function isKeyFileText(text: string): boolean {
  return FILE_CONTENTS.test(text);
}

/**
 * The key. A SECRET_KEY that looks like the contents of a key file can be read in two ways: as
 * those contents, so that an embedded database can be moved, and hashed as any other, which is how
 * versions before took it. The database knows which of them is its own; a new one gets the first.
 * Makes the file if there is neither.
 */
export function readSecretKeys(config: Config): KeyReadings {
  const { secret_key } = config;
  if (secret_key === undefined) return [readKeyFile(config)];
  const hashed = createHash("sha256").update(secret_key).digest();
  return isKeyFileText(secret_key) ? [Buffer.from(secret_key, "hex"), hashed] : [hashed];
}

function readKeyFile(config: Config): Buffer {
  const file = secretKeyFile(config);
  try {
    return Buffer.from(readFileSync(file, "utf8").trim(), "hex");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  writeSecretKey(config, randomBytes(32));
  return Buffer.from(readFileSync(file, "utf8").trim(), "hex");
}

/** Into the key file, unless there is one. */
export function writeSecretKey(config: Config, secret_key: Buffer): void {
  mkdirSync(config.data_folder, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(secretKeyFile(config), `${secret_key.toString("hex")}\n`, {
      mode: 0o600,
      flag: "wx",
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
