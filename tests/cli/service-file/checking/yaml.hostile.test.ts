// A hundred wrong or hostile files: each is refused with its line, in good time, and no request is
// made. And the same from a real process.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../../support.ts";

let shell: Shell;

beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const HEAD = ['version: "1"', "org: acme", "workspace: main", "project: test"];
const GOOD = [
  ...HEAD,
  "catalog:",
  "  - code: seat",
  "    name: Seat",
  "    amount_cents: 1500",
  "metrics:",
  "  - code: calls",
  "    name: Calls",
  "    aggregation_type: sum",
  "    field_name: n",
  "addons:",
  "  - code: setup",
  "    name: Setup",
  "    catalog_ref: seat",
  "plans:",
  "  - code: pro",
  "    name: Pro",
  "    interval: monthly",
  "    currency: USD",
  "    charges:",
  "      - type: standard",
  "        metric_ref: calls",
  '        rate: "0.05"',
  "dunning:",
  "  enabled: true",
  "  steps:",
  "    - days_after_due: 3",
  "      webhook_event: invoice.payment_overdue_reminder_1",
  "webhooks:",
  "  - url: https://example.com/a",
  "    events: [invoice.created]",
];

/** Values that are wrong on nearly every line. */
const WRONG = ["[1, 2]", "{a: b}", "null", "-1.5"];

type Wrong = {
  readonly name: string;
  readonly text: string;
  readonly line: number;
  readonly field: string;
};

/** Each line of the good file with each wrong value, and each with a misspelt key. */
function wrongFiles(): Wrong[] {
  return GOOD.flatMap((line, i) => {
    const [, lead = "", key = "", value] = /^([ -]*)(\w+):(?: (.*))?$/.exec(line) ?? [];
    if (value === undefined) return [];
    const put = (text: string, as: string, field: string): Wrong => {
      const lines = GOOD.with(i, text);
      return { name: `${key} ${as}`, text: `${lines.join("\n")}\n`, line: i + 1, field };
    };
    return [
      ...WRONG.map((wrong) => put(`${lead}${key}: ${wrong}`, wrong, key)),
      put(`${lead}${key}x: ${value}`, "misspelt", `${key}x`),
    ];
  });
}

const files = wrongFiles();

test("the good file is good", async () => {
  const ran = await shell.run(["validate", shell.file("good.yaml", `${GOOD.join("\n")}\n`)]);
  expect(ran.code, ran.err).toBe(0);
  expect(files.length).toBeGreaterThanOrEqual(100);
});

test("every one is refused with its line and field, and no request is made", async () => {
  for (const { name, text, line, field } of files) {
    const start = performance.now();
    const ran = await shell.run(["sync", shell.file("wrong.yaml", text)]);
    expect(ran.code, name).toBe(65);
    const told = ran.err.split("\n").filter((each) => each.includes("wrong.yaml:"));
    const place = told.some((each) => each.includes(`wrong.yaml:${line}:`) && each.includes(field));
    expect(place, `${name}\n${ran.err}`).toBe(true);
    expect(performance.now() - start, name).toBeLessThan(2_000);
  }
  expect(shell.requests).toEqual([]);
});

test("hostile ones are refused from a process of their own, in under 2 seconds of work", async () => {
  const hostile: [string, string | Buffer][] = [
    ["fifty megabytes", Buffer.alloc(50 * 1024 * 1024, "a")],
    ["a million brackets", `a: ${"[".repeat(1_000_000)}`],
    ["a bomb of aliases", `a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n`],
  ];
  for (const [name, text] of hostile) {
    const start = performance.now();
    const ran = await shell.process(["sync", shell.file("hostile.yaml", text)]);
    expect(ran.code, name).toBe(65);
    expect(ran.err, name).toMatch(/hostile\.yaml:\d+:\d+ /);
    // The start of a process on a busy machine comes on top.
    expect(performance.now() - start, name).toBeLessThan(8_000);
  }
});
