// Files that commands write: there whole or not at all, whatever stops them.

import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { Journal, writeWhole } from "../../../src/cli/terminal/files.ts";
import { buildFile } from "../../support/built.ts";

const root = mkdtempSync(join(tmpdir(), "dues-files-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folder: string;
let folders = 0;
beforeEach(() => {
  folders += 1;
  folder = join(root, String(folders));
  mkdirSync(folder);
});

const REPLACE = { replace: true };

test("a file takes its name when all of it is there, and its draft is gone", async () => {
  const file = join(folder, "a.txt");
  await writeWhole(file, REPLACE, async (put) => {
    await put("one ");
    expect(existsSync(file)).toBe(false);
    await put(new TextEncoder().encode("two"));
  });
  expect(readFileSync(file, "utf8")).toBe("one two");
  expect(readdirSync(folder)).toEqual(["a.txt"]);
});

test("work that fails leaves what was there, and nothing else", async () => {
  const file = join(folder, "a.txt");
  writeFileSync(file, "before");
  const failing = writeWhole(file, REPLACE, async (put) => {
    await put("half");
    throw new Error("the service is gone");
  });
  await expect(failing).rejects.toThrow("the service is gone");
  expect(readFileSync(file, "utf8")).toBe("before");
  expect(readdirSync(folder)).toEqual(["a.txt"]);
});

test("what is not to be replaced is kept, also where it came meanwhile", async () => {
  const file = join(folder, "a.txt");
  const terms = { replace: false, hint: "Name another." };
  const late = writeWhole(file, terms, async (put) => {
    await put("ours");
    writeFileSync(file, "theirs");
  });
  await expect(late).rejects.toMatchObject({ exit: 1, hint: "Name another." });
  await expect(writeWhole(file, terms, (put) => put("ours"))).rejects.toThrow("is there already");
  expect(readFileSync(file, "utf8")).toBe("theirs");
  expect(readdirSync(folder)).toEqual(["a.txt"]);
});

test("a file keeps its mode and its link when it is replaced", async () => {
  const file = join(folder, "a.txt");
  const link = join(folder, "link");
  writeFileSync(file, "before");
  chmodSync(file, 0o640);
  symlinkSync("a.txt", link);
  await writeWhole(link, REPLACE, (put) => put("after"));
  expect(readlinkSync(link)).toBe("a.txt");
  expect(readFileSync(file, "utf8")).toBe("after");
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test("a device is written to and stays a device", async () => {
  await writeWhole("/dev/null", REPLACE, (put) => put("text"));
  expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
  expect(readdirSync("/dev").filter((name) => name.startsWith("null."))).toEqual([]);
});

test("a full disk is told with the name that was given", async () => {
  const full = writeWhole("/dev/full", REPLACE, (put) => put("text"));
  await expect(full).rejects.toThrow("/dev/full was not written: ENOSPC: no space left on device.");
  const nowhere = join(folder, "none", "a.txt");
  const missing = writeWhole(nowhere, REPLACE, (put) => put("text"));
  await expect(missing).rejects.toThrow(`${nowhere} was not written: ENOENT: no such file`);
});

test("a signal in the middle leaves no draft", async () => {
  const built = await buildFile("src/cli/terminal/files.ts");
  const program = `import { writeWhole } from ${JSON.stringify(built.url)};
    await writeWhole(${JSON.stringify(join(folder, "a.txt"))}, { replace: true }, async (put) => {
      await put("half");
      console.log("written");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  expect(readdirSync(folder)).toHaveLength(1);
  child.kill("SIGTERM");
  expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(130);
  built.remove();
  expect(readdirSync(folder)).toEqual([]);
});

describe("a journal", () => {
  test("adds to what is there, for its owner alone", async () => {
    const file = join(folder, "a.ndjson");
    writeFileSync(file, '{"n":1}\n');
    chmodSync(file, 0o644);
    const journal = await Journal.open(file);
    await journal.add([{ n: 2 }, { n: 3 }]);
    await journal.close();
    expect(readFileSync(file, "utf8")).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("into a device leaves the device as it is", async () => {
    const { mode } = statSync("/dev/null");
    const journal = await Journal.open("/dev/null");
    await journal.add([{ n: 1 }]);
    await journal.close();
    expect(statSync("/dev/null").mode).toBe(mode);
  });
});
