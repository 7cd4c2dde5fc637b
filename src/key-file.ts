// The key that signs cursors and encrypts secrets: from SECRET_KEY, else from a file in DUES_DATA.

import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Config } from "./config.ts";

/** The file of the key that SECRET_KEY would set. */
export function secretKeyFile({ data_folder }: Pick<Config, "data_folder">): string {
  return join(data_folder, "secret.key");
}

const KEY_BYTES = 32;
const FILE_CONTENTS = /^[0-9a-f]{64}$/;

/** The key file has no key in it, or cannot be made. The message says what to do. */
export class KeyFileError extends Error {}

/** Whether a text is what a key file holds. */
export function isKeyFileText(text: string): boolean {
  return FILE_CONTENTS.test(text);
}

/**
 * The key; makes the file if there is neither. A SECRET_KEY that looks like the contents of a key
 * file is read as those, so that an embedded database can be moved; any other is hashed.
 */
export function readSecretKey(config: Config): Buffer {
  const { secret_key } = config;
  if (secret_key === undefined) return readKeyFile(config);
  if (isKeyFileText(secret_key)) return Buffer.from(secret_key, "hex");
  return createHash("sha256").update(secret_key).digest();
}

function readKeyFile(config: Config): Buffer {
  const file = secretKeyFile(config);
  const kept = keyIn(file);
  if (kept !== undefined) return kept;
  writeSecretKey(config, randomBytes(KEY_BYTES));
  const made = keyIn(file);
  if (made === undefined) throw new KeyFileError(`${file} has vanished. Start again.`);
  return made;
}

/** The key in the file, undefined when there is none. Node would read other text as no bytes. */
function keyIn(file: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (isKeyFileText(text)) return Buffer.from(text, "hex");
  throw new KeyFileError(
    `${file} does not hold a key: that is ${KEY_BYTES * 2} digits of 0-9 and a-f. Put back the ` +
      "file that the database was set up with, or set SECRET_KEY, which also takes words of your " +
      "own. Where the database is new, remove the file: the next start makes one.",
  );
}

/**
 * Writes the key file, unless there is one. It gets its name when all of it is on the disk: a key
 * that is lost with the power, or cut by a full disk, would be missed by the database.
 */
export function writeSecretKey(config: Config, secret_key: Buffer): void {
  const file = secretKeyFile(config);
  const text = secret_key.toString("hex");
  if (!isKeyFileText(text)) throw new KeyFileError(`What is to be kept in ${file} is no key.`);
  mkdirSync(config.data_folder, { recursive: true, mode: 0o700 });
  const draft = `${file}.new-${randomBytes(4).toString("hex")}`;
  try {
    writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: "wx", flush: true });
    linkSync(draft, file);
    syncFolder(config.data_folder);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new KeyFileError(`${file} could not be written: ${message}`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Makes the names of files in the folder survive a power cut too. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
