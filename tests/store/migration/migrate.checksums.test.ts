// Migrations that have landed stay as they are: a database that has applied one refuses to start
// with another text under its name. Their checksums stand in migrations/checksums.json; with
// UPDATE_DOCS (npm run docs) those of new files are added, and none is ever replaced.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { checksum, listMigrations, type Migration } from "../../../src/store/migration/migrate.ts";

const FILE = fileURLToPath(
  new URL("../../../src/store/migrations/checksums.json", import.meta.url),
);

type Checksums = Readonly<Record<string, string>>;

const landed = JSON.parse(readFileSync(FILE, "utf8")) as Checksums;
const migrations = await listMigrations();

function changedFaults(files: readonly Migration[], known: Checksums): string[] {
  const texts = new Map(files.map((file) => [file.name, checksum(file)]));
  return Object.entries(known)
    .filter(([name, sum]) => texts.get(name) !== sum)
    .map(
      ([name]) =>
        `${name} has landed and must not change: databases that have applied it would refuse to ` +
        "start. Restore it (git checkout) and write a new migration that does the rest. If it has " +
        "not landed yet, take its line out of checksums.json and run npm run docs.",
    );
}

function unlistedFaults(files: readonly Migration[], known: Checksums): string[] {
  return files
    .filter(({ name }) => !Object.hasOwn(known, name))
    .map(({ name }) => `${name} is not in checksums.json: run npm run docs, which adds it.`);
}

test("no migration that has landed was changed, renamed or removed", () => {
  expect(changedFaults(migrations, landed)).toEqual([]);
});

test("every migration is listed", () => {
  if (process.env.UPDATE_DOCS === "1") {
    const added = migrations.filter(({ name }) => !Object.hasOwn(landed, name));
    const all = { ...landed, ...Object.fromEntries(added.map((one) => [one.name, checksum(one)])) };
    writeFileSync(FILE, `${JSON.stringify(all, null, 2)}\n`);
    return;
  }
  expect(unlistedFaults(migrations, landed)).toEqual([]);
});

test("a changed, a missing and an unlisted migration are told", () => {
  const [first, ...others] = migrations;
  if (first === undefined) throw new Error("There are migrations.");
  const changed = [{ ...first, text: `${first.text} ` }, ...others];
  expect(changedFaults(changed, landed)).toEqual([expect.stringContaining(first.name)]);
  expect(changedFaults(others, landed)).toEqual([expect.stringContaining(first.name)]);
  const fresh = { version: 9_999, name: "9999_fresh.sql", text: "" };
  expect(unlistedFaults([...migrations, fresh], landed).at(-1)).toContain("9999_fresh.sql");
});
