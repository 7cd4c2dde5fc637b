// `dues demo` in small: two months of a company in an empty sandbox, the same from the same seed,
// and not among other records.

import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMPANY_FILE } from "../../../src/cli/demo/company.ts";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const SMALL = ["--customers", "8", "--months", "2"];

async function demo(slug: string, ...args: string[]) {
  const id = await shell.project(slug);
  const ran = await shell.run(["demo", "--project", id, ...SMALL, ...args]);
  expect(ran.code, ran.err).toBe(0);
  return { id, out: ran.out };
}

async function run(project: string, ...args: string[]): Promise<string> {
  const ran = await shell.run([...args, "--project", project]);
  expect(ran.code, ran.err).toBe(0);
  return ran.out;
}

test("it fills a sandbox, links to what is worth a look, and a seed gives the same figures", async () => {
  const first = await demo("demo-1", "--seed", "3");
  expect(first.out).toMatch(/^Lumen Models has had its year \(\d+ s\): 8 customers, /);
  expect(first.out).toContain("Northwind Freight Inc.: overdue, in dunning\n");
  expect(first.out).toMatch(/CURRENCY +INVOICES +BILLED +OF THAT TAX +PAID +OVERDUE\n/);
  const prose = first.out.split("\n").filter((line) => !line.includes("http:"));
  for (const line of prose) expect(line.length).toBeLessThanOrEqual(80);
  const links = [...first.out.matchAll(/http:\S+/g)].map(([url]) => url);
  expect(links.length).toBeGreaterThanOrEqual(8);
  for (const url of links) {
    const answer = await fetch(url);
    // Read to its end: a connection that still carries an answer keeps the server from closing.
    expect([url, answer.status, (await answer.text()) !== ""]).toEqual([url, 200, true]);
  }
  for (const [, line = ""] of first.out.matchAll(/^ {2}dues (.*)$/gm)) {
    const ran = await shell.run(line.split(" "), { env: { DUES_PROJECT: first.id } });
    expect([line, ran.code, ran.err]).toEqual([line, 0, expect.any(String)]);
  }

  const exported = await run(first.id, "export", "invoices");
  const rows: Record<string, string>[] = parse(exported, { columns: true });
  expect(rows.length).toBeGreaterThan(8);
  for (const row of rows.filter(({ status }) => status !== "voided")) {
    const cents = (name: string) => Number(row[`${name}_cents`]);
    const settled = cents("credit_applied") + cents("offset") + cents("amount_paid");
    const open = cents("amount_due") + cents("written_off");
    expect(settled + open - cents("overpaid"), row.number).toBe(Number(row.total_cents));
  }

  // The project is what the company's file says, to the last field.
  const file = readFileSync(COMPANY_FILE, "utf8")
    .replace("org: lumen-models", "org: acme")
    .replace("project: demo", "project: demo-1");
  const diff = await shell.run(["diff", shell.file("company.yaml", file)]);
  expect([diff.code, diff.out]).toEqual([0, expect.stringContaining("Nothing to do.")]);

  const again = await demo("demo-2", "--seed", "3");
  const figures = (text: string) => text.replace(/http:\S+|\(\d+ s\)|--project \S+/g, "");
  expect(figures(again.out)).toBe(figures(first.out));
}, 120_000);

test("a project that is live, or not empty, is left alone, and how to make another is said", async () => {
  const { project } = await shell.app.post("/v1/projects", { workspace: "main", slug: "real" });
  const live = await shell.run(["demo", "--project", project.id]);
  expect([live.code, live.out]).toEqual([1, ""]);
  expect(live.err).toMatch(/^dues: main\/real is live: a demo goes into a sandbox\.\n/);
  expect(live.err).toContain("  dues projects create demo --workspace main --sandbox\n");
  expect(live.err).toContain("  dues demo --project main/demo\n");

  const id = await shell.project("demo");
  await run(id, "customers", "create", "--external-id", "a", "--name", "A");
  shell.requests.splice(0);
  const full = await shell.run(["demo", "--project", id]);
  expect([full.code, full.err]).toEqual([1, expect.stringContaining("it has customers.\n")]);
  // The next name that is free.
  expect(full.err).toMatch(/ {2}dues projects create demo-\d+ --workspace main --sandbox\n/);
  expect(shell.takeWrites()).toEqual([]);
});

test("one that stopped half way says so", async () => {
  const id = await shell.project("broken");
  const onRequest = (request: string) => {
    if (request === "POST /v1/clock/advance") throw new Error("cut");
  };
  const ran = await shell.run(["demo", "--project", id, ...SMALL], { onRequest });
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining("The demo stopped half way")]);
});
