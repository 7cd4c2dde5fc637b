// One version: the package, its lock, the tool, the API's document, the image and the changelog say
// the same, so that whoever reports a fault can be told what they run.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { VERSION } from "../src/version.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const parsed = (path: string) => JSON.parse(read(path));

test("dues --version prints the version of the package", () => {
  const said = execFileSync(process.execPath, [join(ROOT, "bin/dues.js"), "--version"], {
    encoding: "utf8",
  });
  expect(said.trim()).toBe(parsed("package.json").version);
});

test("package, lock, API document and image have one version", () => {
  const lock = parsed("package-lock.json");
  const [, image] = /org\.opencontainers\.image\.version="([^"]+)"/.exec(read("Dockerfile")) ?? [];
  expect({
    package: parsed("package.json").version,
    lock: lock.version,
    root_of_lock: lock.packages[""].version,
    document: parsed("docs/openapi.json").info.version,
    image,
  }).toEqual({
    package: VERSION,
    lock: VERSION,
    root_of_lock: VERSION,
    document: VERSION,
    image: VERSION,
  });
});

test("the newest release of the changelog is this version, with its day", () => {
  const [newest = ""] = read("CHANGELOG.md").match(/^## \d.*$/m) ?? [];
  expect(newest).toMatch(/^## \d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)$/);
  expect(newest).toContain(` ${VERSION} (`);
});
