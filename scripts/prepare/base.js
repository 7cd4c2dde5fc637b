// What installing and building share: where things are, reading, and starting other programs.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const at = (...names) => join(root, ...names);
export const bin = (name) => at("node_modules", ".bin", name);

/** A failure whose message says all: no stack is shown. */
export class Failure extends Error {}

export function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Undefined where there is none. */
export function readJson(path) {
  const text = readText(path);
  return text === undefined ? undefined : JSON.parse(text);
}

export function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.name.startsWith(".")) return [];
      return entry.isDirectory() ? filesUnder(path) : [path];
    });
}

/** Runs a command without showing what it writes. */
export async function capture(command, args, cwd = root) {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  return { code: await ended(child), output };
}

export function ended(child) {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Failure(`${child.spawnfile}: ${error.message}`)));
    child.once("close", (code) => resolve(code ?? 1));
  });
}
