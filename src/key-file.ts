// The key that signs cursors and encrypts secrets: from SECRET_KEY, else from a file in DUES_DATA.

import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config.ts";

/** Where the key is kept that SECRET_KEY would set. */
export function secretKeyFile({ data_folder }: Pick<Config, "data_folder">): string {
  return join(data_folder, "secret.key");
}

/** Makes the file if there is neither. */
export function readSecretKey(config: Config): Buffer {
  if (config.secret_key !== undefined) {
    return createHash("sha256").update(config.secret_key).digest();
  }
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
