// The law of the code base, held by a test: what may import what, what is banned and what to use
// instead, how SQL names its tenant, how long and how wide things are.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bannedCallFaults } from "./tidy/calls.ts";
import { projectFiles, ROOT, readText, type Source, sizeOf, sourceOf } from "./tidy/files.ts";
import {
  cycleFaults,
  deadFileFaults,
  lawFaults,
  purityFaults,
  specifierFaults,
} from "./tidy/imports.ts";
import { keyFaults, lateIndexFaults, type Migration } from "./tidy/migrations.ts";
import {
  fileLengthFaults,
  functionLengthFaults,
  leftoverFaults,
  machinePathFaults,
  markdownFaults,
  openingFaults,
  testNameFaults,
  testPathFaults,
  widthFaults,
} from "./tidy/shape.ts";
import { databaseTimeFaults, strayFaults } from "./tidy/sql.ts";

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

  test("relative imports name their file, and there are no barrels", () => {
    expect(each(sources, specifierFaults)).toEqual([]);
    expect(files.filter((path) => /(^|\/)index\.[tj]s$/.test(path))).toEqual([]);
  });

  test("no files of src import one another in a ring", () => {
    expect(cycleFaults(inSource)).toEqual([]);
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

  test("lines are at most 100 characters wide", () => {
    expect(each(sources, widthFaults)).toEqual([]);
  });

  test("files are at most 400 lines long, but for generated ones", () => {
    expect(each(sources, fileLengthFaults)).toEqual([]);
  });

  test("functions are at most 70 lines long", () => {
    expect(inSource.flatMap((source) => functionLengthFaults(source, LONG_FUNCTIONS))).toEqual([]);
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

describe("each check can fail", () => {
  const at = (path: string, text: string) => sourceOf(path, text);
  const table = (body: string): Migration[] => [
    { path: "0001.sql", text: `create table plans (\n  project_id uuid not null,\n  ${body}\n);` },
  ];

  test.each<[string, string[]]>([
    ["an import to the right", lawFaults(at("src/domain/a.ts", 'import "../store/b.ts";'))],
    [
      "a type from the right",
      lawFaults(at("src/store/a.ts", 'type A = import("../http/b.ts").B;')),
    ],
    [
      "an entrance in another",
      lawFaults(at("src/http/a.ts", 'export { b } from "../workers/b.ts";')),
    ],
    ["a clock in a rule", lawFaults(at("src/domain/a.ts", 'import { now } from "../clock.ts";'))],
    ["a file system in a rule", purityFaults(at("src/domain/a.ts", 'import "node:fs";'))],
    [
      "a socket in a rule",
      purityFaults(at("src/domain/a.ts", 'import { Socket } from "node:net";')),
    ],
    [
      "all of a network in a rule",
      purityFaults(at("src/domain/a.ts", 'import n from "node:net";')),
    ],
    ["a missing extension", specifierFaults(at("src/a.ts", 'import "./b";'))],
    ["a barrel", specifierFaults(at("src/a.ts", 'export * from "./b.ts";'))],
    [
      "a ring",
      cycleFaults([at("src/a.ts", 'import "./b.ts";'), at("src/b.ts", 'import "./a.ts";')]),
    ],
    ["an unused file", deadFileFaults([at("src/a.ts", "")], [])],
    ["Date.now", bannedCallFaults(at("src/a.ts", "Date.now();"))],
    ["new Date()", bannedCallFaults(at("src/a.ts", "new Date();"))],
    ["parseFloat", bannedCallFaults(at("tests/a.ts", 'Number.parseFloat("1");'))],
    ["a pause", bannedCallFaults(at("tests/a.ts", "await pause(500);"))],
    ["a timer", bannedCallFaults(at("tests/a.ts", "new Promise((go) => setTimeout(go, 500));"))],
    ["toFixed", bannedCallFaults(at("src/a.ts", "x.toFixed(2);"))],
    ["process.env", bannedCallFaults(at("src/a.ts", "process.env.PORT;"))],
    ["console.log", bannedCallFaults(at("src/http/a.ts", "console.log(1);"))],
    ["SQL in http", strayFaults(at("src/http/a.ts", "sql`select 1`;"))],
    ["SQL as a string", strayFaults(at("src/http/a.ts", 'q("delete from plans");'))],
    ["now() in SQL", databaseTimeFaults(at("src/store/a.ts", "sql`select now()`;"))],
    ["a primary key of id", keyFaults(table("primary key (id)"))],
    ["a column that is a primary key", keyFaults(table("id uuid primary key"))],
    ["a unique code over all tenants", keyFaults(table("constraint c unique (code)"))],
    ["a foreign key of id", keyFaults(table("foreign key (a) references customers (id)"))],
    ["a column that references", keyFaults(table("a uuid references customers"))],
    [
      "a unique index of id",
      keyFaults([...table("a int"), ...index("create unique index i on plans (id);")]),
    ],
    [
      "a later key of code",
      keyFaults([...table("a int"), ...index("alter table plans add b int, add unique (code);")]),
    ],
    [
      "an index that cannot be built beforehand",
      lateIndexFaults(later("alter table plans add b int;\ncreate index i on plans (b);")),
    ],
    ["a table of nobody", keyFaults(index("create table orphans (id uuid);"))],
    ["no opening comment", openingFaults(at("src/a.ts", "export {};"))],
    ["a wide line", widthFaults(at("src/a.ts", `const a = 1; // ${"-".repeat(100)}`))],
    ["a long file", fileLengthFaults(at("src/a.ts", "\n".repeat(401)))],
    [
      "a long file that only mentions a generator",
      fileLengthFaults(at("src/a.ts", `// One.\n// Generated by scripts/a.${"\n".repeat(401)}`)),
    ],
    [
      "a long function",
      functionLengthFaults(at("src/a.ts", `const f = () => {${"\n".repeat(71)}}`), {}),
    ],
    [
      "a longer function than it was",
      functionLengthFaults(at("src/a.ts", "function f() {\n}"), { "src/a.ts f": 1 }),
    ],
    ["a note for later", leftoverFaults({ path: "a.ts", text: `// ${"TO"}${"DO"}: more` })],
    [
      "a path of a machine",
      machinePathFaults({ path: "a.md", text: `cd ${"/ho"}${"me/ann"}/dues` }),
    ],
    ["two tests of one name", testNameFaults(at("a.test.ts", 'test("a", f); test("a", g);'))],
    ["a test of no file", testPathFaults(["src/http/json.ts", "tests/http/jason.test.ts"])],
    ["markdown without a title", markdownFaults({ path: "a.md", text: "text" })],
    ["markdown with two titles", markdownFaults({ path: "a.md", text: "# A\n\n# B\n" })],
  ])("on %s", (_, faults) => {
    expect(faults).toHaveLength(1);
  });

  test("and lets what is allowed pass", () => {
    const passing = [
      lawFaults(at("src/main.ts", 'import "./http/a.ts"; import "./workers/b.ts";')),
      lawFaults(at("src/http/a.ts", 'import "../operations/b.ts"; import "../clock.ts";')),
      purityFaults(at("src/domain/a.ts", 'import { BlockList as B, isIP } from "node:net";')),
      bannedCallFaults(at("src/clock.ts", "Date.now(); new Date();")),
      bannedCallFaults(at("src/a.ts", "new Date(0); // Date.now()")),
      keyFaults(table("id uuid references projects, primary key (project_id, id)")),
      keyFaults(
        index("create table dunning (\n  project_id uuid primary key references projects\n);"),
      ),
      lateIndexFaults(later("create index if not exists i on plans (project_id);")),
      lateIndexFaults(later("create table a (b int);\ncreate index i on a (b);")),
      lateIndexFaults(index("create index i on plans (b);")),
      widthFaults(at("src/a.ts", `const a = "${"-".repeat(100)}";`)),
      fileLengthFaults(at("src/a.ts", `// Generated by scripts/a.${"\n".repeat(401)}`)),
      testNameFaults(at("a.test.ts", 'describe("x", () => test("a", f)); test("a", g);')),
      testPathFaults(["src/http/json.ts", "tests/http/json.long.test.ts", "tests/crash/a.test.ts"]),
    ];
    expect(passing.flat()).toEqual([]);
  });

  function index(text: string): Migration[] {
    return [{ path: "0002.sql", text }];
  }

  function later(text: string): Migration[] {
    return [{ path: "0016_later.sql", text }];
  }
});

/** What starts a process, and what package.json offers to those who install it. */
function entryPoints(): string[] {
  const { exports = {} } = JSON.parse(readText(join("package.json"))) as { exports?: object };
  const offered = [...JSON.stringify(exports).matchAll(/dist\/([\w/-]+)\.js/g)];
  const own = [
    "src/main.ts",
    "src/cli/main.ts",
    "src/workers/thread.ts",
    "src/http/limits/copy-handle.ts",
  ];
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
