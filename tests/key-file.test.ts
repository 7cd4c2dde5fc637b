// The key, from the environment or a file: what is the same key, and which of two readings counts.

import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readSecretKeys, secretKeyFile } from "../src/key-file.ts";
import { checkSecretKey } from "../src/main.ts";
import { sql } from "../src/store/sql.ts";
import { type App, startApp, testConfig } from "./support/app.ts";

const NOW = new Date("2026-05-01T00:00:00.000Z");

let app: App;
let folder: string;
let file_text: string;

beforeAll(async () => {
  app = await startApp();
  folder = mkdtempSync(join(tmpdir(), "dues-key-"));
  readSecretKeys(config());
  file_text = readFileSync(secretKeyFile(config()), "utf8").trim();
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await app.context.db.run(sql`delete from installation`);
});

function config(SECRET_KEY = "") {
  return testConfig({ SECRET_KEY, DUES_DATA: folder });
}

function start(SECRET_KEY = ""): Promise<Buffer> {
  return checkSecretKey(app.context.db, readSecretKeys(config(SECRET_KEY)), NOW);
}

test("the contents of a key file, as SECRET_KEY, are the key of the file, either way", async () => {
  const key = await start();
  expect(key.toString("hex")).toBe(file_text);
  expect(await start(file_text)).toEqual(key);
  await app.context.db.run(sql`delete from installation`);
  await start(file_text);
  expect(await start()).toEqual(key);
});

test("a database that took such a SECRET_KEY hashed goes on with that key", async () => {
  const hashed = createHash("sha256").update(file_text).digest();
  await checkSecretKey(app.context.db, [hashed], NOW);
  expect(await start(file_text)).toEqual(hashed);
  await expect(start()).rejects.toThrow("set up with another SECRET_KEY");
});

test("any other text is hashed", () => {
  for (const text of [file_text.toUpperCase(), `${file_text}0`, `${file_text} `, "k".repeat(64)]) {
    const hashed = createHash("sha256").update(text).digest();
    expect(readSecretKeys(config(text))).toEqual([hashed]);
  }
});
