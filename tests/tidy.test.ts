// The law of the code base, held by a test: what may import what, what is banned and what to use
// instead, how SQL names its tenant, how long and how wide things are.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bannedCallFaults } from "./tidy/calls.ts";
import { subjectFaults } from "./tidy/comments.ts";
import { projectFiles, ROOT, readText, type Source, sizeOf, sourceOf } from "./tidy/files.ts";
import {
  cycleFaults,
  deadFileFaults,
  fileWriteFaults,
  lawFaults,
  purityFaults,
  roomFaults,
  specifierFaults,
} from "./tidy/imports.ts";
import { keyFaults, lateIndexFaults } from "./tidy/migrations.ts";
import {
  crowdFaults,
  fileLengthFaults,
  functionLengthFaults,
  leftoverFaults,
  machinePathFaults,
  markdownFaults,
  openingFaults,
  pastFaults,
  spreadFaults,
  testNameFaults,
  testPathFaults,
  widthFaults,
} from "./tidy/shape.ts";
import { databaseTimeFaults, lockFaults, strayFaults } from "./tidy/sql.ts";

const FILE_BYTES_MAX = 600 * 1024;
/** Generated, with a description and an example for each of 1,500 fields. */
const DOCUMENT_BYTES_MAX = 800 * 1024;

/** Functions longer than the law allows, with their length. A number here may only fall. */
const LONG_FUNCTIONS: Readonly<Record<string, number>> = {};

const files = projectFiles();
const texts = files
  .filter((path) => /\.(ts|js|sql|md|json|yaml|yml|html|css)$|^\.ci\//.test(path))
  .map((path) => ({ path, text: readText(path) }));
const sources = texts
  .filter(({ path }) => /\.(ts|js)$/.test(path))
  .map(({ path, text }) => sourceOf(path, text));
const migrations = texts.filter(({ path }) => /^src\/store\/migrations\/.*\.sql$/.test(path));
const inSource = sources.filter(({ path }) => path.startsWith("src/"));

function each(list: readonly Source[], check: (source: Source) => string[]): string[] {
  return list.flatMap(check);
}

describe("imports", () => {
  test("a folder imports only what stands left of it", () => {
    expect(each(inSource, lawFaults)).toEqual([]);
  });

  test("rules and nouns know nothing of the world", () => {
    expect(each(inSource, purityFaults)).toEqual([]);
  });

  test("commands write files through the one that does so whole", () => {
    expect(each(inSource, fileWriteFaults)).toEqual([]);
  });

  test("relative imports name their file, and there are no barrels", () => {
    expect(each(sources, specifierFaults)).toEqual([]);
    expect(files.filter((path) => /(^|\/)index\.[tj]s$/.test(path))).toEqual([]);
  });

  test("no files of src import one another in a ring", () => {
    expect(cycleFaults(inSource)).toEqual([]);
  });

  test("no rooms of a layer import one another", () => {
    expect(roomFaults(inSource)).toEqual([]);
  });

  test("a folder with more than 30 files has rooms", () => {
    expect(crowdFaults(files)).toEqual([]);
  });

  test("every file of src is used", () => {
    expect(deadFileFaults(inSource, entryPoints())).toEqual([]);
  });
});

describe("calls and SQL", () => {
  test("banned calls do not occur", () => {
    expect(each(sources, bannedCallFaults)).toEqual([]);
  });

  test("SQL stands in src/store alone", () => {
    expect(each(inSource, strayFaults)).toEqual([]);
  });

  test("SQL does not read the database's clock", () => {
    expect(each(inSource, databaseTimeFaults)).toEqual([]);
  });

  test("rows are locked by themselves, not in a join, and not against references", () => {
    expect(each(inSource, lockFaults)).toEqual([]);
  });

  test("keys of a project's tables start with project_id", () => {
    expect(keyFaults(migrations)).toEqual([]);
  });

  test("an index of a table that is there already can be built before the migration", () => {
    expect(lateIndexFaults(migrations)).toEqual([]);
  });
});

describe("shape", () => {
  test("each file opens by saying what it is for", () => {
    expect(each(sources, openingFaults)).toEqual([]);
  });

  test("a comment begins with what it is about", () => {
    expect(each(inSource, subjectFaults)).toEqual([]);
  });

  test("lines are at most 100 characters wide", () => {
    expect(each(sources, widthFaults)).toEqual([]);
  });

  test("files are at most 400 lines long, but for generated ones", () => {
    expect(each(sources, fileLengthFaults)).toEqual([]);
  });

  test("functions are at most 70 lines long", () => {
    expect(inSource.flatMap((source) => functionLengthFaults(source, LONG_FUNCTIONS))).toEqual([]);
  });

  test("a literal is not spread into a literal", () => {
    expect(each(sources, spreadFaults)).toEqual([]);
  });

  test("tests of one file have different names", () => {
    expect(each(sources, testNameFaults)).toEqual([]);
  });

  test("the test of a file is found by its path", () => {
    expect(testPathFaults(files)).toEqual([]);
  });

  test("nothing is left for later in a comment", () => {
    const written = texts.filter(({ path }) => !path.startsWith("tests/tidy"));
    expect(written.flatMap(leftoverFaults)).toEqual([]);
  });

  test("nothing is kept for a version that was never released", () => {
    const ours = texts.filter(({ path }) => /^src\/.*\.(ts|sql)$/.test(path));
    expect(ours.flatMap(pastFaults)).toEqual([]);
  });

  test("markdown files have one title", () => {
    expect(texts.filter(({ path }) => path.endsWith(".md")).flatMap(markdownFaults)).toEqual([]);
  });

  test("no file is large", () => {
    const mostOf = (path: string) =>
      path === "docs/openapi.json" ? DOCUMENT_BYTES_MAX : FILE_BYTES_MAX;
    const large = files.filter((path) => sizeOf(path) > mostOf(path));
    expect(large.filter((path) => path !== "package-lock.json")).toEqual([]);
  });

  test("no file knows the machine or the registry it was made with", () => {
    const written = texts.filter(({ path }) => !path.startsWith("tests/tidy"));
    expect(written.flatMap(machinePathFaults)).toEqual([]);
    expect(readText("package-lock.json")).not.toMatch(/"resolved": "https?:/);
  });
});

/** What starts a process, and what package.json offers to those who install it. */
function entryPoints(): string[] {
  const { exports = {} } = JSON.parse(readText(join("package.json"))) as { exports?: object };
  const offered = [...JSON.stringify(exports).matchAll(/dist\/([\w/-]+)\.js/g)];
  const own = ["src/cli/main.ts", "src/workers/thread.ts", "src/http/admission/copy-handle.ts"];
  return [...own, ...offered.map(([, name]) => `src/${name}.ts`)];
}

describe("options of Node", () => {
  const [command = ""] = readText("bin/dues.js").split("\n");
  const options = command.match(/--\S+/g) ?? [];
  const said = (file: string, ...args: string[]) =>
    execFileSync(file, args, { cwd: ROOT, encoding: "utf8" }).trim();

  test("each is one that Node promises, not an internal of V8 that may go", () => {
    expect(options).not.toEqual([]);
    const known = process.allowedNodeEnvironmentFlags;
    expect(options.filter((option) => !known.has(option.replace(/=.*/, "")))).toEqual([]);
  });

  test("they stand in bin/dues.js alone", () => {
    const names = new RegExp(options.map((option) => option.replace(/=.*/, "")).join("|"));
    const others = texts.filter(({ path }) => path !== "bin/dues.js" && !path.endsWith(".md"));
    expect(others.filter(({ text }) => names.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test("npm start and the benches run with them", () => {
    const { scripts } = JSON.parse(readText("package.json")) as { scripts: { start: string } };
    const started = scripts.start.replace("scripts/run.js serve", "-p 'process.execArgv.join()'");
    expect(said("sh", "-c", started).split(",")).toEqual(expect.arrayContaining(options));
    const code =
      'import { nodeOptions } from "./scripts/run.js"; console.log(nodeOptions().join());';
    const benches = said(process.execPath, "--input-type=module", "-e", code);
    expect(benches.split(",")).toEqual(options);
  });
});

test("the law is read from the root of the project", () => {
  expect(files).toContain("package.json");
  expect(ROOT.length).toBeGreaterThan(1);
});
