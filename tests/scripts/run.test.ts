// The npm scripts before anything is installed or built: what they say when they cannot begin.

import { execFile } from "node:child_process";
import { chmod, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

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

/** The same on another version of Node, as far as the scripts can tell. */
function runOn(node: string, script: string) {
  const other = `Object.defineProperty(process, "versions", {
    value: { ...process.versions, node: "${node}" } })`;
  return run("--import", `data:text/javascript,${other}`, script);
}

describe.each(["scripts/run.js", "bin/dues.js"])("%s", (script) => {
  test.each(["18.20.8", "20.14.0", "21.7.3", "22.1.0"])(
    "on Node %s says what to install",
    async (node) => {
      const { code, err } = await runOn(node, script);
      expect(code).toBe(1);
      expect(err).toBe(
        `dues needs Node 20.15 or newer of 20, or 22.2 or newer; this is ${node}.\n` +
          "Install the newest LTS from https://nodejs.org, or with nvm: nvm install --lts\n",
      );
    },
  );

  test.each(["20.15.0", "22.2.0", "23.0.0", "24.1.0"])("begins on Node %s", async (node) => {
    const { err } = await runOn(node, script);
    expect(err).not.toContain("dues needs Node");
    expect(err).not.toBe("");
  });
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
