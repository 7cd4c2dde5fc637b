// The npm scripts before anything is installed or built: what they say when they cannot begin.

import { execFile } from "node:child_process";
import { chmod, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const NOBODY = 65_534;

let clone: string;

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), "dues-read-only-"));
  for (const name of ["bin", "scripts", "src", "package.json", "package-lock.json"]) {
    await cp(join(ROOT, name), join(clone, name), { recursive: true });
  }
  await chmod(clone, 0o555);
});

afterAll(async () => {
  await chmod(clone, 0o755);
  await rm(clone, { recursive: true });
});

/** As somebody who may not write there: root may write everywhere. */
function run(...words: string[]): Promise<{ code: unknown; err: string }> {
  const options = { cwd: clone, ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }) };
  return new Promise((resolve) => {
    execFile(process.execPath, words, options, (error, _out, err) => {
      resolve({ code: error?.code ?? 0, err });
    });
  });
}

test.each(["18.20.8", "20.14.0"])("Node %s is told to be too old", async (node) => {
  const older = `Object.defineProperty(process, "versions", {
    value: { ...process.versions, node: "${node}" } })`;
  const { code, err } = await run("--import", `data:text/javascript,${older}`, "scripts/run.js");
  expect([code, err]).toEqual([1, `dues needs Node 20.15 or newer, this is ${node}.\n`]);
});

test.each([
  ["npm start", ["scripts/run.js", "serve"]],
  ["npx dues", ["bin/dues.js", "--version"]],
])("%s in a fresh clone that is read-only says so in a sentence", async (_, words) => {
  const { code, err } = await run(...words);
  expect(code).toBe(1);
  expect(err).toBe(
    `Packages must be installed and built here first, and ${clone} cannot be written to ` +
      '(EACCES). Run "npm run build" once as who may write there, or use a copy.\n',
  );
});
