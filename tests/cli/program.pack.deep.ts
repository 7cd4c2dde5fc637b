// The package as npm would publish it, installed in an empty folder: the command runs and the
// client can be imported, with its types.

import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

let folder: string;

/** Unpacked by hand beside links to the packages of this checkout: no registry is needed. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dues-pack-"));
  const options = { cwd: ROOT, encoding: "utf8" } as const;
  // What npm runs before it packs.
  execFileSync("npm", ["run", "prepack"], options);
  const packed = execFileSync(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", folder],
    options,
  );
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  execFileSync("tar", ["-xzf", join(folder, filename), "-C", folder]);
  const modules = join(folder, "app", "node_modules");
  mkdirSync(modules, { recursive: true });
  cpSync(join(folder, "package"), join(modules, "dues"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (!name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(file: string, ...args: string[]): string {
  return execFileSync(process.execPath, [file, ...args], {
    cwd: join(folder, "app"),
    encoding: "utf8",
  });
}

test("it holds the licences of what it was built with, and no notes of the build", () => {
  const names = readdirSync(join(folder, "package"), { recursive: true }) as string[];
  expect(names).toContain(join("dist", "dues.js"));
  expect(names).toContain(join("dist", "NOTICES.txt"));
  expect(
    names.filter((name) => /(^|\/)\.|^scripts\/(bundle|client)|node_modules/.test(name)),
  ).toEqual([]);
});

test("the command runs", () => {
  const bin = join("node_modules", "dues", "bin", "dues.js");
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(run(bin, "--version").trim()).toBe(version);
  expect(run(bin, "validate", join("node_modules", "dues", "service.example.yaml"))).toContain(
    "well formed",
  );
});

test("the client is imported by its name", () => {
  writeFileSync(
    join(folder, "app", "use.mjs"),
    `import { Dues, DuesError, verifyWebhook } from "dues/client";
     const dues = new Dues({ base_url: "http://127.0.0.1:9", token: "t", retries: 0 });
     const error = await dues.listPlans().catch((each) => each);
     console.log(error instanceof DuesError, error.code, typeof verifyWebhook);`,
  );
  expect(run("use.mjs").trim()).toBe("true network_error function");
});

test("its types are found, and say what a reply holds", () => {
  const text = (field: string) => `import { Dues } from "dues/client";
     import type { InvoiceWithFees } from "dues/client/types";
     const dues = new Dues({ base_url: "", token: "" });
     const invoice: InvoiceWithFees = (await dues.getInvoice("1")).invoice;
     export const total: number = invoice.${field};\n`;
  const settings = { module: "nodenext", target: "es2023", strict: true, noEmit: true, types: [] };
  writeFileSync(
    join(folder, "app", "tsconfig.json"),
    JSON.stringify({
      compilerOptions: { ...settings, lib: ["es2023", "dom"] },
      include: ["use.mts"],
    }),
  );
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  const check = () =>
    execFileSync(tsc, ["-p", "."], { cwd: join(folder, "app"), encoding: "utf8" });
  writeFileSync(join(folder, "app", "use.mts"), text("total_cents"));
  expect(check()).toBe("");
  writeFileSync(join(folder, "app", "use.mts"), text("number"));
  expect(check).toThrow();
});
