// Importing usage from a file: everything once, whatever happens on the way.

import { once } from "node:events";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../support.ts";

const LINES = 20_000;

let shell: Shell;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
  const { app } = shell;
  await app.post("/v1/metrics", {
    code: "calls",
    name: "Calls",
    aggregation_type: "sum",
    field_name: "n",
  });
  const charges = [
    { charge_model: "standard", billable_metric_code: "calls", properties: { amount: "0.01" } },
  ];
  const { plan } = await app.post("/v1/plans", {
    code: "p",
    name: "P",
    interval: "monthly",
    amount_currency: "USD",
    charges,
  });
  const { customer } = await app.post("/v1/customers", { external_id: "c", name: "C" });
  for (const external_id of ["a", "b", "c"]) {
    await app.post("/v1/subscriptions", {
      external_id,
      customer_id: customer.id,
      plan_id: plan.id,
    });
  }
});
afterAll(() => shell.close());

async function writeLines(name: string, lines: number, subscription: string): Promise<string> {
  const file = join(shell.folder, name);
  const stream = createWriteStream(file);
  for (let i = 0; i < lines; i++) {
    const event = {
      transaction_id: `${subscription}-${i}`,
      subscription_id: `ext:${subscription}`,
      code: "calls",
      properties: { n: 1 },
    };
    if (!stream.write(`${JSON.stringify(event)}\n`)) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "close");
  return file;
}

async function unitsOf(subscription: string): Promise<string> {
  const { usage } = await shell.app.get(`/v1/subscriptions/ext:${subscription}/usage`);
  return usage.charges[0].units;
}

test(`${LINES} lines are stored; the same file again is all duplicates`, async () => {
  const file = await writeLines("a.ndjson", LINES, "a");
  const first = await shell.run(["events", "import", file, "--json"]);
  expect(first.code, first.err).toBe(0);
  expect(JSON.parse(first.out)).toEqual({
    lines: LINES,
    accepted: LINES,
    duplicates: 0,
    refused: 0,
    refused_before: 0,
    report: null,
  });
  const second = await shell.run(["events", "import", file, "--json"]);
  expect(JSON.parse(second.out)).toMatchObject({ accepted: 0, duplicates: LINES });
  expect(await unitsOf("a")).toBe(String(LINES));
  expect(existsSync(`${file}.refused.ndjson`)).toBe(false);
}, 120_000);

test("an import that is killed and run again counts every line once", async () => {
  const file = await writeLines("b.ndjson", LINES, "b");
  const { child, done } = shell.start(["events", "import", file, "--batch", "200"]);
  const stored = async (): Promise<number> =>
    (await shell.app.get("/v1/events?subscription_id=ext:b&limit=1&count=1")).total_count;
  while ((await stored()) < 400) if (child.exitCode !== null) break;
  child.kill("SIGKILL");
  expect((await done).code).toBe(null);
  const before = await stored();
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(LINES);
  const again = await shell.run(["events", "import", file, "--json"]);
  const result = JSON.parse(again.out);
  expect(result.accepted + result.duplicates).toBe(LINES);
  expect(result.duplicates).toBeGreaterThanOrEqual(before);
  expect(await unitsOf("b")).toBe(String(LINES));
}, 120_000);

test("refused lines go to a report with their numbers; the good ones are stored", async () => {
  const good = (i: number) =>
    JSON.stringify({
      transaction_id: `r${i}`,
      subscription_id: "ext:c",
      code: "calls",
      properties: { n: 1 },
    });
  const text = [
    good(1),
    "not json",
    JSON.stringify({ transaction_id: "r2", subscription_id: "ext:nobody", code: "calls" }),
    "",
    "[1]",
    good(3),
    JSON.stringify({ transaction_id: "r4", subscription_id: "ext:c", code: "calls", value: 5 }),
  ].join("\r\n");
  const ran = await shell.run(["events", "import", shell.file("r.ndjson", text), "--json"]);
  expect(ran.code).toBe(1);
  expect(JSON.parse(ran.out)).toMatchObject({ lines: 6, accepted: 2, refused: 4 });
  const report = readFileSync(join(shell.folder, "r.ndjson.refused.ndjson"), "utf8")
    .trim()
    .split("\n");
  const told = report.map((line) => JSON.parse(line)).toSorted((a, b) => a.line - b.line);
  expect(told.map(({ line, error }) => [line, error.code])).toEqual([
    [2, "unreadable"],
    [3, "not_found"],
    [5, "unreadable"],
    [7, "validation_error"],
  ]);
});

test("CSV: quoted cells, properties by name, columns that are none", async () => {
  const text = [
    "transaction_id,subscription_id,code,timestamp,properties.n,properties.note",
    'v1,ext:c,calls,2026-01-10T00:00:00Z,2,"a ""quoted"", note"',
    'v2,ext:c,calls,,3,"two\nlines"',
    "v3,ext:c,calls",
    "",
    "v4,ext:c,calls,,5,",
  ].join("\n");
  const ran = await shell.run(["events", "import", shell.file("u.csv", text), "--json"]);
  expect(JSON.parse(ran.out)).toMatchObject({ lines: 4, accepted: 3, refused: 1 });
  const { events } = await shell.app.get("/v1/events?subscription_id=ext:c&limit=100");
  const found = events.filter((each: { transaction_id: string }) => /^v/.test(each.transaction_id));
  const notes = found.map((each: { properties: { n: string; note?: string } }) => [
    each.properties.n,
    each.properties.note,
  ]);
  expect(notes.toSorted()).toEqual([
    ["2", 'a "quoted", note'],
    ["3", "two\nlines"],
    ["5", undefined],
  ]);
  const wrong = await shell.run(["events", "import", shell.file("w.csv", "id,name\n1,2\n")]);
  expect(wrong.code).toBe(1);
  expect(wrong.err).toContain("Columns that no event has: id, name");
});

test("a service that goes away in the middle leaves a line to go on from", async () => {
  const file = await writeLines("d.ndjson", 500, "c");
  let calls = 0;
  const ran = await shell.run(["events", "import", file, "--batch", "100"], {
    onRequest: () => {
      if (++calls > 2) throw new Error("gone");
    },
  });
  expect(ran.code).toBe(69);
  expect(ran.err).toMatch(/All up to line 200 was sent\./);
  expect(ran.err).toContain("--from-line 201");
  const rest = await shell.run(["events", "import", file, "--from-line", "201", "--json"]);
  expect(JSON.parse(rest.out)).toMatchObject({ lines: 300, accepted: 300 });
});
