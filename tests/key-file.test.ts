// The key, from the environment or a file: what is a key, what is the same one, which reading
// counts.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readSecretKey, secretKeyFile, writeSecretKey } from "../src/key-file.ts";
import { checkSecretKey } from "../src/service/open-store.ts";
import { sql } from "../src/store/db/sql.ts";
import { type App, startApp, testConfig } from "./support/app.ts";
import { buildFile } from "./support/built.ts";

const NOW = new Date("2026-05-01T00:00:00.000Z");

let app: App;
let folder: string;
let file_text: string;

beforeAll(async () => {
  app = await startApp();
  folder = mkdtempSync(join(tmpdir(), "dues-key-"));
  readSecretKey(config());
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

async function start(SECRET_KEY = ""): Promise<Buffer> {
  const key = readSecretKey(config(SECRET_KEY));
  await checkSecretKey(app.context.db, key, NOW);
  return key;
}

test("the contents of a key file, as SECRET_KEY, are the key of the file, either way", async () => {
  const key = await start();
  expect(key.toString("hex")).toBe(file_text);
  expect(await start(file_text)).toEqual(key);
  await app.context.db.run(sql`delete from installation`);
  await start(file_text);
  expect(await start()).toEqual(key);
});

test("any other text is hashed", () => {
  for (const text of [file_text.toUpperCase(), `${file_text}0`, `${file_text} `, "k".repeat(64)]) {
    const hashed = createHash("sha256").update(text).digest();
    expect(readSecretKey(config(text))).toEqual(hashed);
  }
});

test.each([
  ["nothing", ""],
  ["words", "correct horse battery staple, my own long passphrase"],
  ["a part of a key", "0123456789abcdef"],
  ["a key and more", `${"0a".repeat(32)}0b`],
  ["a key in capitals", "0A".repeat(32)],
])("a key file that holds %s stops the start, and stays as it is", (_, text) => {
  const own = mkdtempSync(join(tmpdir(), "dues-key-"));
  const file = join(own, "secret.key");
  writeFileSync(file, text);
  const read = () => readSecretKey(testConfig({ DUES_DATA: own }));
  expect(read).toThrow(`${file} does not hold a key`);
  expect(readFileSync(file, "utf8")).toBe(text);
  rmSync(own, { recursive: true });
});

test("what is no key is not kept as one", () => {
  const write = () => writeSecretKey(config(), Buffer.alloc(0));
  expect(write).toThrow("is no key");
});

/** A process that may make files, and write nothing into them. */
function readOnFullDisk(url: string, own: string) {
  const program = `
    import { readSecretKey } from "${url}";
    const key = readSecretKey({ data_folder: process.argv[1] });
    console.log(key.length);`;
  const script = 'ulimit -f 0; exec "$@"';
  const words = ["sh", process.execPath, "--input-type=module", "--eval", program, own];
  return spawnSync("sh", ["-c", script, ...words], { encoding: "utf8" });
}

test("where the disk takes no key, no file is left, and the next start makes a whole one", async () => {
  const built = await buildFile("src/key-file.ts");
  const own = mkdtempSync(join(tmpdir(), "dues-key-"));
  const { status, stderr, stdout } = readOnFullDisk(built.url, own);
  built.remove();
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`${join(own, "secret.key")} could not be written: EFBIG`);
  expect(readdirSync(own)).toEqual([]);
  const key = readSecretKey(testConfig({ DUES_DATA: own }));
  expect(key).toHaveLength(32);
  expect(readdirSync(own)).toEqual(["secret.key"]);
  rmSync(own, { recursive: true });
});
