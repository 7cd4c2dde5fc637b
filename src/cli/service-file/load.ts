// Reads a service.yaml from the disk, or from a pipe, and ends the command when it has faults.

import { closeSync, openSync, readSync } from "node:fs";
import { AlreadyReported, CliError, type Io, printJson } from "../terminal/io.ts";
import { type CheckedFile, checkFile } from "./checking/file.ts";
import { type Fault, FILE_BYTES_MAX } from "./checking/yaml.ts";
import { renderFaults } from "./render.ts";

const READ_BYTES = 256 * 1024;

/** The checked file. When it has faults they are printed and the command ends. */
export function loadFile(io: Io, path: string, json: boolean): CheckedFile {
  let bytes: Buffer;
  try {
    bytes = readBounded(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const hint =
      code === "ENOENT" ? "dues export writes one from the project as it is now." : undefined;
    throw new CliError("bad_file", `${path} cannot be read: ${(error as Error).message}`, hint);
  }
  const checked = checkFile(bytes);
  if (!Array.isArray(checked)) return checked;
  tellFaults(io, path, checked, json);
  throw new AlreadyReported("bad_file");
}

/** Reads little more than is allowed, which is enough to refuse a larger file. */
function readBounded(path: string): Buffer {
  const fd = openSync(path, "r");
  try {
    const parts: Buffer[] = [];
    // To its end, also where that is not known before: a pipe says that it has no bytes.
    for (let length = 0; length <= FILE_BYTES_MAX; ) {
      const part = Buffer.alloc(READ_BYTES);
      const read = readSync(fd, part, 0, READ_BYTES, null);
      if (read === 0) break;
      parts.push(part.subarray(0, read));
      length += read;
    }
    return Buffer.concat(parts);
  } finally {
    closeSync(fd);
  }
}

export function tellFaults(io: Io, path: string, faults: readonly Fault[], json: boolean): void {
  if (json) printJson(io, { faults });
  else io.err(renderFaults(io, path, faults));
}
