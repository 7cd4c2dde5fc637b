// What the npm scripts install and build before they do anything else: no more than is needed, said
// in a line, and once.

import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import module from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const HAS_SCRIPT = spawnSync("script", ["--version"]).status === 0;

let clone: string;

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "dues-clone-"));
  for (const name of ["bin", "scripts", "src", "package.json", "package-lock.json"]) {
    const filter = (path: string) => !path.includes("node_modules");
    cpSync(join(ROOT, name), join(clone, name), { recursive: true, filter });
  }
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

type Ran = { readonly code: unknown; readonly err: string; readonly out: string };

function run(words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const options = { cwd: clone, env: { PATH: process.env.PATH ?? "", ...env } };
  return new Promise((resolve) => {
    execFile(process.execPath, words, options, (error, out, err) => {
      resolve({ code: error?.code ?? 0, err, out });
    });
  });
}

/** Writes what it is called with into a file, and notes packages as npm does. */
const NPM = `
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
const words = process.argv.slice(2).filter((word) => !/^--no-(audit|fund)$/.test(word));
appendFileSync(process.env.CALLS, words.join(" ") + "\\n");
if (process.env.FAILS) { console.error("npm error network"); process.exit(1); }
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const [path, { dev }] of Object.entries(packages)) {
  if (dev && words.includes("--omit=dev")) delete packages[path];
}
mkdirSync("node_modules", { recursive: true });
writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages }));`;

describe("packages", () => {
  const calls = () => join(clone, "calls");
  const called = () =>
    (existsSync(calls()) ? readFileSync(calls(), "utf8").trim() : "").split("\n");
  const install = (extent: string, env: Record<string, string> = {}) => {
    const code = `import { orFail } from "./scripts/run.js";
      import { install } from "./scripts/prepare/install.js";
      await orFail(() => install("${extent}"));`;
    const npm = join(clone, "npm-cli.js");
    writeFileSync(npm, NPM);
    const more = { npm_execpath: npm, CALLS: calls(), ...env };
    return run(["--input-type=module", "-e", code], more);
  };

  test("a fresh clone gets what running needs, and once", async () => {
    const { code, err } = await install("running");
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^(Installing \d+ packages)\.\n\1: done in \d+ s\.\n$/),
    ]);
    expect(await install("running")).toEqual({ code: 0, err: "", out: "" });
    expect(called()).toEqual(["ci --ignore-scripts --include=optional --omit=dev"]);
  });

  test("what tests need is added to it, and nothing is taken away", async () => {
    await install("running");
    await install("everything");
    const added = "install --ignore-scripts --include=optional --no-save --include=dev";
    expect(called()).toEqual([expect.stringMatching(/^ci /), added]);
    expect((await install("running")).err).toBe("");
    expect((await install("everything")).err).toBe("");
    expect(called()).toHaveLength(2);
  });

  test("who had everything gets everything of another lock file", async () => {
    await install("everything");
    const lock = JSON.parse(readFileSync(join(clone, "package-lock.json"), "utf8"));
    lock.packages["node_modules/pg"].version = "9.0.0";
    writeFileSync(join(clone, "package-lock.json"), JSON.stringify(lock));
    await install("running");
    expect(called()[1]).toBe("ci --ignore-scripts --include=optional --include=dev");
  });

  test("what npm has to say is shown when it fails, and it is tried again", async () => {
    const failed = await install("running", { FAILS: "1" });
    expect(failed.code).toBe(1);
    expect(failed.err).toContain("npm error network\nThe packages could not be installed. Check");
    expect((await install("running")).code).toBe(0);
    expect(called()).toHaveLength(2);
  });
});

describe("the build", () => {
  beforeEach(() => symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules")));
  const version = () => run(["bin/dues.js", "--version"]);
  const built = () => readdirSync(join(clone, "dist"));

  test("is made once, and again after a change; the files before it stay for one more", async () => {
    const first = await version();
    expect(first.err).toMatch(/^Building\.\nBuilding: done in \d+ s\.\n$/);
    expect((await version()).err).toBe("");
    const before = built();
    const change = (text: string) => appendFileSync(join(clone, "src", "errors.ts"), text);
    change('\nexport const ONE = refuse("not_found", "one");\n');
    writeFileSync(
      join(clone, "src", "cli", "main.ts"),
      'import { ONE } from "../errors.ts";\nconsole.log(ONE);\n',
    );
    await version();
    const second = built();
    expect(before.filter((name) => !second.includes(name))).toEqual([]);
    change('\nexport const TWO = refuse("not_found", "two");\n');
    writeFileSync(
      join(clone, "src", "cli", "main.ts"),
      'import { TWO } from "../errors.ts";\nconsole.log(TWO);\n',
    );
    await version();
    const gone = before.filter((name) => !built().includes(name));
    expect(gone.length).toBeGreaterThan(0);
    expect(gone.filter((name) => !/-[\w-]{8}\.js(\.map)?$/.test(name))).toEqual([]);
  });

  test("a source that does not parse fails it with a reason, until it is mended", async () => {
    const file = join(clone, "src", "version.ts");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text}\nconst = 1;\n`);
    const failed = await version();
    expect(failed.code).toBe(1);
    expect(failed.err).toContain("version.ts");
    expect(failed.err).toContain("The build failed: see the faults above.\n");
    expect((await version()).code).toBe(1);
    writeFileSync(file, text);
    expect((await version()).code).toBe(0);
  });

  test("what an older version built in its own way goes", async () => {
    mkdirSync(join(clone, "dist", "http"), { recursive: true });
    writeFileSync(join(clone, "dist", "http", "server.js"), "");
    await version();
    expect(built()).not.toContain("http");
  });

  test("a migration that is gone from the source is gone from the build", async () => {
    const gone = join("store", "migrations", "0099_gone.sql");
    writeFileSync(join(clone, "src", gone), "");
    await version();
    expect(existsSync(join(clone, "dist", gone))).toBe(true);
    rmSync(join(clone, "src", gone));
    await version();
    expect(existsSync(join(clone, "dist", gone))).toBe(false);
  });

  test.skipIf(!("enableCompileCache" in module))("is compiled once (Node 22)", async () => {
    await version();
    const compiled = () => readdirSync(join(clone, "dist", ".compiled"), { recursive: true });
    const first = compiled();
    expect(first.length).toBeGreaterThan(1);
    expect((await version()).code).toBe(0);
    expect(compiled()).toEqual(first);
  });

  test("stack traces name the files of the source, and those of packages", async () => {
    const file = join(clone, "src", "cli", "main.ts");
    const lines = [
      'import { Command } from "commander";',
      "",
      "function fails(): never {",
      '  throw new Command().exitOverride().parse(["--nope"], { from: "user" });',
      "}",
      "fails();",
    ];
    writeFileSync(file, lines.join("\n"));
    await version();
    const [first = ""] = readFileSync(join(clone, "bin", "dues.js"), "utf8").split("\n");
    const options = first.match(/--\S+/g) ?? [];
    const { err } = await run([...options, "bin/dues.js"]);
    expect(err).toContain(`at fails (${file}:4:`);
    expect(err).toMatch(/at Command\.unknownOption .*node_modules\/commander\/lib\/command\.js:1:/);
  });
});

test("the bundler is the one that the tests are run with, for every system that dues runs on", () => {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));
  const { rolldown } = read("scripts/bundle/package.json").dependencies;
  expect(rolldown).toBe(read("package.json").overrides.rolldown);
  for (const lock of ["package-lock.json", "scripts/bundle/package-lock.json"]) {
    const { packages } = read(lock);
    for (const each of ["linux-x64-gnu", "linux-arm64-gnu", "darwin-x64", "darwin-arm64"]) {
      const entry = packages[`node_modules/@rolldown/binding-${each}`];
      expect(entry, each).toMatchObject({ version: rolldown, optional: true });
      expect([entry.integrity?.startsWith("sha512-"), entry.resolved]).toEqual([true, undefined]);
    }
  }
});

describe.skipIf(!HAS_SCRIPT)("on a terminal (needs script)", () => {
  test("one line moves with the seconds, and the last says how long it took", () => {
    const code = `import { telling } from "./scripts/prepare/tell.js";
      await telling("Working", () => new Promise((done) => setTimeout(done, 1_300)), () => "7 there");`;
    writeFileSync(join(clone, "work.mjs"), code);
    const line = `'${process.execPath}' work.mjs`;
    const shown = execFileSync("script", ["-qec", line, "/dev/null"], {
      cwd: clone,
      encoding: "utf8",
    });
    const drawn = shown.split("\r\x1b[K").slice(1);
    expect(drawn.slice(0, -1).join("")).not.toContain("\n");
    expect(new Set(drawn)).toContain("Working: 7 there, 0 s");
    expect(new Set(drawn)).toContain("Working: 7 there, 1 s");
    expect(drawn.at(-1)?.trim()).toBe("Working: done in 1 s.");
  });
});
