// dues-client with compilers of the past, which npm has: ours no longer knows moduleResolution
// node10.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ClientProject } from "../support/packed-client.ts";

const USE = `import { Dues } from "dues-client";
import type { Invoice, InvoiceWithFees } from "dues-client/types";
export const due = (invoice: InvoiceWithFees): number => invoice.amount_due_cents;
export const read = async (dues: Dues): Promise<Invoice> => (await dues.getInvoice("1")).invoice;
`;

const project = new ClientProject();
afterAll(() => project.close());

test.each(["5.9.3", "5.0.4"])(
  "TypeScript %s finds its types, by node10 too",
  (version) => {
    const args = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    const others = join(project.folder, version);
    project.write(join(version, "package.json"), "{}");
    execFileSync("npm", [...args, `typescript@${version}`], { cwd: others });
    const tsc = join(others, "node_modules", ".bin", "tsc");
    project.write("use.ts", USE);
    for (const options of [
      { module: "commonjs", moduleResolution: "node" },
      { module: "node16", moduleResolution: "node16" },
      { module: "esnext", moduleResolution: "bundler" },
    ]) {
      expect(project.compile(["use.ts"], { ...options, noEmit: true }, tsc)).toBe("");
    }
  },
  120_000,
);
