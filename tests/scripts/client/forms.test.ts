// The types of the client: written by one another where that is shorter, and always the same type.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Field, formOf, kinOf, type Named } from "../../../scripts/client/forms.ts";
import { clientFiles } from "../../../scripts/client/generate.ts";
import type { Context } from "../../../src/context.ts";
import { Bounds } from "../../../src/http/admission/bound.ts";
import { routeTable } from "../../../src/http/table.ts";

const TSC = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));

function field(name: string, optional = false, type = "string"): Field {
  return { name, optional, comment: `/** The ${name}. */\n`, type, full_type: type };
}

const NAMES = ["id", "code", "name", "percent", "created_at"];
const tax: Named = { name: "Tax", subject: "Tax", fields: NAMES.map((name) => field(name)) };

test("less some fields, plus others, and with some that may be left out", () => {
  const [id, code, name, percent, created_at] = NAMES.map((each) => field(each)) as Field[] as [
    Field,
    Field,
    Field,
    Field,
    Field,
  ];
  expect(formOf([id, code, name, percent, created_at], [tax])).toBe("Tax");
  expect(formOf([code, name, percent, created_at], [tax])).toBe('Omit<Tax, "id">');
  const more = [id, code, name, percent, created_at, field("note", true)];
  expect(formOf(more, [tax])).toBe("Tax & {\n/** The note. */\nreadonly note?: string;\n}");
  const loose = NAMES.slice(1, 4).map((each) => field(each, true));
  expect(formOf(loose, [tax])).toBe('Partial<Omit<Tax, "id" | "created_at">>');
  const some = [code, field("name", true), field("percent", true), field("created_at", true)];
  expect(formOf(some, [tax])).toBe(
    'Partial<Omit<Tax, "id" | "code">> & {\n/** The code. */\nreadonly code: string;\n}',
  );
});

test("a field of another type or with other words is not taken, and little is written out", () => {
  const other = NAMES.map((name) => field(name, false, name === "percent" ? "number" : "string"));
  expect(formOf(other, [tax])).toContain("readonly percent: number;");
  const told = NAMES.map((name) => ({ ...field(name), comment: "/** Else. */\n" }));
  expect(formOf(told, [tax])).not.toContain("Tax");
  expect(formOf([field("id"), field("note")], [tax])).not.toContain("Tax");
});

test("a type is written by those of its subject alone", () => {
  const named = (subject: string): Named => ({ name: subject, subject, fields: [] });
  const known = ["CreditNote", "Credit", "Invoice", "CreditNotePreview"].map(named);
  const names = kinOf("WebhookCreditNote", known).map(({ name }) => name);
  expect(names).toEqual(["CreditNote", "Credit"]);
});

test("every type is the one that it is when it is written in full", () => {
  const readiness = { draining: false, schema_version: 0, warnings: [] };
  const routes = routeTable({ db: {}, config: {} } as Context, readiness, new Bounds());
  const folder = mkdtempSync(join(tmpdir(), "dues-forms-"));
  try {
    const full = clientFiles(routes, true)["types.ts"] ?? "";
    writeFileSync(join(folder, "full.ts"), full);
    writeFileSync(join(folder, "short.ts"), clientFiles(routes)["types.ts"] ?? "");
    const names = [...full.matchAll(/^export type (\w+) =/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(100);
    writeFileSync(join(folder, "same.ts"), comparison(names as string[]));
    const flags = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck"];
    const files = ["--allowImportingTsExtensions", "--types", "", "same.ts"];
    const options = { cwd: folder, encoding: "utf8" } as const;
    const { status, stdout } = spawnSync(TSC, [...flags, ...files], options);
    expect([status, stdout]).toEqual([0, ""]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

/** Does not compile where two types differ in a field, in \`?\` or in \`readonly\`. */
function comparison(names: readonly string[]): string {
  const lines = names.map((name) => `same<Full.${name}, Short.${name}>(true);`);
  return `import type * as Full from "./full.ts";
import type * as Short from "./short.ts";
type Flat<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Each)[]
    ? readonly Flat<Each>[]
    : { [K in keyof T]: Flat<T[K]> };
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
declare function same<A, B>(is: Same<Flat<A>, Flat<B>>): void;
${lines.join("\n")}
`;
}
