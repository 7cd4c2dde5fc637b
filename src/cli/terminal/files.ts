// Every file that a command writes: whole or not at all, or line by line where it is a record of
// what was done so far.

import { randomBytes } from "node:crypto";
import {
  access,
  appendFile,
  constants,
  type FileHandle,
  mkdir,
  open,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { dropOnSignal, syncFolder } from "../../drafts.ts";
import { CliError } from "./io.ts";

/** Adds a part and waits until it is taken. */
export type Put = (part: string | Uint8Array) => Promise<unknown>;

export type WholeTerms = {
  readonly replace: boolean;
  /** What to do where the file is there and is not to be replaced. */
  readonly hint?: string;
  /** The mode of the file; by default that of the file it replaces, or the usual one. */
  readonly mode?: number;
};

/** Fills a draft beside the file, which takes its name once all of it is on the disk. */
export async function writeWhole<T>(
  file: string,
  terms: WholeTerms,
  fill: (put: Put) => Promise<T>,
): Promise<T> {
  const before = await told(file, () => found(file));
  // A pipe or a device is no file that could be replaced.
  if (before !== undefined && !before.isFile()) return fillDirectly(file, fill);
  refuseIfThere(file, before !== undefined, terms);
  const target = before === undefined ? file : await realpath(file);
  const draft = `${target}.${randomBytes(4).toString("hex")}.part`;
  const stopWatching = dropOnSignal(draft);
  try {
    const mode = terms.mode ?? (before && before.mode & 0o777);
    const result = await fillDraft(file, draft, mode, fill);
    refuseIfThere(file, before === undefined && (await found(file)) !== undefined, terms);
    await told(file, () => rename(draft, target));
    await syncFolder(dirname(target));
    return result;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    stopWatching();
  }
}

function refuseIfThere(file: string, isThere: boolean, { replace, hint }: WholeTerms): void {
  if (isThere && !replace) throw new CliError("failed", `${file} is there already.`, hint);
}

/** Fills a draft, and closes it before an error is reported: no late write finds it removed. */
async function fillDraft<T>(
  file: string,
  draft: string,
  mode: number | undefined,
  fill: (put: Put) => Promise<T>,
): Promise<T> {
  const handle = await told(file, () => open(draft, "wx", mode));
  try {
    if (mode !== undefined) await told(file, () => handle.chmod(mode));
    const result = await fill((part) => told(file, () => handle.appendFile(part)));
    await told(file, () => handle.sync());
    return result;
  } finally {
    await handle.close();
  }
}

async function fillDirectly<T>(file: string, fill: (put: Put) => Promise<T>): Promise<T> {
  const handle = await told(file, () => open(file, "w"));
  try {
    return await fill((part) => told(file, () => handle.appendFile(part)));
  } finally {
    await handle.close();
  }
}

/** A folder for what its owner alone may read. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await told(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }));
}

/** Whether there is a file that can be read again and replaced; a pipe or a device is none. */
export async function isRegular(file: string): Promise<boolean> {
  return (await told(file, () => found(file)))?.isFile() === true;
}

export async function removeFile(file: string): Promise<void> {
  if (await isRegular(file)) await told(file, () => rm(file, { force: true }));
}

/** A record of what was done: each line is on the disk before the next thing is done. */
export class Journal {
  readonly #file: string;
  readonly #handle: FileHandle;
  readonly #is_regular: boolean;

  private constructor(file: string, handle: FileHandle, is_regular: boolean) {
    this.#file = file;
    this.#handle = handle;
    this.#is_regular = is_regular;
  }

  /** Opens a journal that its owner alone can read; what is there stays. */
  static async open(file: string): Promise<Journal> {
    const handle = await told(file, () => open(file, "a", 0o600));
    const is_regular = await isRegular(file);
    // The mode above counts for a new file only; an existing one may be readable by others.
    if (is_regular) await told(file, () => handle.chmod(0o600));
    return new Journal(file, handle, is_regular);
  }

  async add(lines: readonly object[]): Promise<void> {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    await told(this.#file, () => appendFile(this.#handle, text));
    if (this.#is_regular) await told(this.#file, () => this.#handle.sync());
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Refuses a file that cannot be written, before anything is done that is to be recorded in it. */
export async function checkWritable(file: string): Promise<void> {
  const isThere = (await told(file, () => found(file))) !== undefined;
  await told(file, () => access(isThere ? file : dirname(join(file)), constants.W_OK));
}

async function found(file: string) {
  try {
    return await stat(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Does the work. What fails is told with the name that was given, not with that of a draft. */
async function told<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const [reason] = (error as Error).message.split(", ");
    throw new CliError("failed", `${file} was not written: ${reason}.`);
  }
}
