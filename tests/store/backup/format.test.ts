// The file of a backup: what was put in comes out, and what is damaged is found before it is used.

import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  BackupError,
  BackupWriter,
  headerOf,
  readTables,
  verifyBackup,
} from "../../../src/store/backup/format.ts";

const HEADER = headerOf({
  created_at: "2026-01-01T00:00:00.000Z",
  server_version: "18.4",
  migrations: [{ version: 1, name: "0001_schema.sql", checksum: "c" }],
  secret_check: null,
});
/** As COPY writes them: a backslash is two, and the text `\.` is not the mark of the end. */
const ROWS = ["a\t\\\\.\n", "\\\\.\n", "b\t\\N\n", `${"long".repeat(100_000)}\n`];
const nobody = () => {};

let folder: string;
let file: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dues-format-"));
  file = await written("good.gz");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function written(name: string): Promise<string> {
  const path = join(folder, name);
  const writer = new BackupWriter(createWriteStream(path), HEADER);
  for (const [table, rows] of [
    ["first", ROWS],
    ["none", []],
    ["last", ["x\n"]],
  ] as const) {
    writer.startTable({ table, columns: ["one", "two"] });
    for (const row of rows) await writer.write(Buffer.from(row));
    await writer.endTable(rows.length);
  }
  await writer.end();
  return path;
}

async function tablesOf(path: string) {
  const found: Record<string, unknown> = {};
  for await (const { table, columns, rows, count } of readTables(path, nobody)) {
    const parts: Buffer[] = [];
    for await (const part of rows) parts.push(part);
    found[table] = { columns, text: Buffer.concat(parts).toString(), count: count() };
  }
  return found;
}

function changed(name: string, change: (bytes: Buffer) => Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, change(readFileSync(file)));
  return path;
}

test("rows come out as they went in, table by table", async () => {
  expect(await verifyBackup(file, nobody)).toEqual(HEADER);
  const columns = ["one", "two"];
  expect(await tablesOf(file)).toEqual({
    first: { columns, text: ROWS.join(""), count: 4 },
    none: { columns, text: "", count: 0 },
    last: { columns, text: "x\n", count: 1 },
  });
});

test.each<[string, (bytes: Buffer) => Buffer]>([
  ["cut short", (bytes) => bytes.subarray(0, bytes.length - 20)],
  ["with a row less", (bytes) => edited(bytes, (text) => text.replace("b\t\\N\n", ""))],
  ["with a digit changed", (bytes) => edited(bytes, (text) => text.replace("x\n", "y\n"))],
  ["without its last line", (bytes) => edited(bytes, (text) => text.replace(/\{"sha256.*\n/, ""))],
  ["with a byte flipped", (bytes) => flipped(bytes, bytes.length - 60)],
])("a file %s is refused", async (name, change) => {
  const path = changed(`${name}.gz`, change);
  const refused = await verifyBackup(path, nobody).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(BackupError);
  expect(String(refused)).toContain("damaged or incomplete");
});

function edited(bytes: Buffer, edit: (text: string) => string): Buffer {
  return gzipSync(Buffer.from(edit(gunzipSync(bytes).toString("latin1")), "latin1"));
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

test("what is no backup is refused as such", async () => {
  const text = changed("text.gz", () => Buffer.from("-- a dump of something else\n"));
  await expect(verifyBackup(text, nobody)).rejects.toThrow("is not a backup");
  const other = changed("other.gz", () => gzipSync("{}\n"));
  await expect(verifyBackup(other, nobody)).rejects.toThrow("is not a backup");
  await expect(verifyBackup(join(folder, "none.gz"), nobody)).rejects.toThrow("There is no file");
});

test("a file of a newer format names the remedy", async () => {
  const newer = changed("newer.gz", (bytes) =>
    edited(bytes, (text) => text.replace('"format_version":1', '"format_version":2')),
  );
  await expect(verifyBackup(newer, nobody)).rejects.toThrow("a newer version of dues");
});
