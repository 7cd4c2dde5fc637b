// What every command loads when it starts: little, because each start pays for it.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const MAIN = new URL("../../dist/cli/main.js", import.meta.url);

/** The packages that are loaded with a file, by it or by what it imports; not those on demand. */
function packagesOf(file: URL, seen: Set<string> = new Set()): Set<string> {
  if (seen.has(file.href)) return new Set();
  seen.add(file.href);
  const found = new Set<string>();
  const statics = /^(?:import|export)\b[^"'`;]*?from "([^"]+)"|^import "([^"]+)"/gms;
  for (const [, from, bare] of readFileSync(fileURLToPath(file), "utf8").matchAll(statics)) {
    const name = from ?? bare ?? "";
    if (name.startsWith(".")) {
      for (const each of packagesOf(new URL(name, file), seen)) found.add(each);
    } else if (!name.startsWith("node:")) found.add(name);
  }
  return found;
}

test("a command starts without YAML, schemas, validators and measures of text", () => {
  expect([...packagesOf(MAIN)]).toEqual(["commander"]);
});
