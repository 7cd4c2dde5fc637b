// The report of refused usage: no run deletes what it did not write, and none loses what an earlier
// one told.

import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeCustomer, makeMetric, makePlan, makeSubscription } from "../../support/records.ts";
import { type Shell, sharedShell } from "../support.ts";

let shell: Shell;
let runs = 0;
/** Lines 1 and 5 are refused, of eight. */
let input: string;
let subscription_id: string;

beforeAll(async () => {
  shell = await sharedShell();
  const { app } = shell;
  await makeMetric(app, { code: "calls", aggregation_type: "count" });
  const [plan, customer] = [await makePlan(app, { code: "p" }), await makeCustomer(app)];
  const ids = { customer_id: customer.id, plan_id: plan.id };
  ({ id: subscription_id } = await makeSubscription(app, ids));
});
afterAll(() => shell.close());

beforeEach(() => {
  runs += 1;
  input = shell.file(`usage-${runs}.ndjson`, lines([1, 5]));
});

function lines(unknown: readonly number[]): string {
  const text = [1, 2, 3, 4, 5, 6, 7, 8].map((line) => {
    const id = unknown.includes(line) ? "ext:nobody" : subscription_id;
    const event = { transaction_id: `${runs}-${line}`, subscription_id: id, code: "calls" };
    return JSON.stringify(event);
  });
  return `${text.join("\n")}\n`;
}

const importing = (...more: string[]) =>
  shell.run(["events", "import", input, "--batch", "2", ...more]);

/** The service goes away after so many batches. */
const cutAfter = (batches: number, ...more: string[]) => {
  let calls = 0;
  return shell.run(["events", "import", input, "--batch", "2", ...more], {
    onRequest: () => {
      calls += 1;
      if (calls > batches) throw new Error("gone");
    },
  });
};

function reported(file = `${input}.refused.ndjson`): number[] {
  const text = readFileSync(file, "utf8").trim();
  return text.split("\n").map((line) => JSON.parse(line).line);
}

test("a run that goes on keeps what was refused before it, and does not end with 0", async () => {
  const cut = await cutAfter(3);
  expect(cut.code).toBe(69);
  expect(cut.err).toContain("All up to line 6 was sent. 2 lines of it were refused: ");
  expect(reported()).toEqual([1, 5]);
  const rest = await importing("--from-line", "7", "--json");
  expect(JSON.parse(rest.out)).toMatchObject({ lines: 2, refused: 0, refused_before: 2 });
  expect(rest.code).toBe(1);
  expect(rest.err).toContain("also 2 of the lines before this run");
  expect(reported()).toEqual([1, 5]);
});

test("what is sent again is reported once", async () => {
  expect((await importing()).code).toBe(1);
  expect((await importing("--from-line", "3")).code).toBe(1);
  expect(reported()).toEqual([1, 5]);
  expect((await importing()).code).toBe(1);
  expect(reported()).toEqual([1, 5]);
});

test("a run from the first line leaves no report of lines that are stored now", async () => {
  await importing();
  writeFileSync(input, lines([]));
  expect((await importing()).code).toBe(0);
  expect(existsSync(`${input}.refused.ndjson`)).toBe(false);
});

test("a line that is too long is reported, and its report is known and kept by later runs", async () => {
  const [first = "", ...rest] = lines([5]).split("\n");
  const long = "\u0001".repeat(300_000);
  writeFileSync(input, [first, long, ...rest].join("\n"));
  expect((await importing()).code).toBe(1);
  expect(reported()).toEqual([2, 6]);
  expect((await importing("--from-line", "4")).code).toBe(1);
  expect(reported()).toEqual([2, 6]);
  const again = await importing();
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("are in")]);
});

test("a run that sends nothing leaves the report as it was", async () => {
  await importing();
  expect((await cutAfter(0)).code).toBe(69);
  expect(reported()).toEqual([1, 5]);
});

describe("before anything is sent", () => {
  const sent = () => shell.takeWrites();
  beforeEach(() => void shell.takeWrites());

  test("a report that is the input is refused, under any name", async () => {
    const before = readFileSync(input, "utf8");
    const link = join(shell.folder, `link-${runs}`);
    symlinkSync(input, link);
    for (const name of [input, link]) {
      const ran = await importing("--report", name);
      expect([ran.code, ran.err]).toEqual([64, expect.stringContaining("is the input")]);
    }
    expect(readFileSync(input, "utf8")).toBe(before);
    expect(sent()).toEqual([]);
  });

  test("a report in the place of another file is refused", async () => {
    for (const text of ["my notes\n", lines([]), "{}\n"]) {
      const other = shell.file(`other-${runs}`, text);
      const ran = await importing("--report", other);
      expect([ran.code, ran.err]).toEqual([1, expect.stringContaining("is no report")]);
      expect(readFileSync(other, "utf8")).toBe(text);
    }
    expect(sent()).toEqual([]);
  });

  test("a report that cannot be written is refused", async () => {
    for (const path of [join(shell.folder, "none", "r.ndjson"), join(input, "r.ndjson")]) {
      const ran = await importing("--report", path);
      expect([ran.code, ran.err]).toEqual([1, expect.stringContaining("was not written: EN")]);
    }
    expect(sent()).toEqual([]);
  });
});

test("a report that is named may be an empty file, and is its owner's alone", async () => {
  const report = shell.file(`named-${runs}`, "");
  chmodSync(report, 0o644);
  expect((await importing("--report", report)).code).toBe(1);
  expect(reported(report)).toEqual([1, 5]);
  expect(statSync(report).mode & 0o777).toBe(0o600);
});

test.each([
  ["an unknown token", { DUES_TOKEN: "dues_nobody" }, 77],
  ["a service that is away", { DUES_URL: "http://127.0.0.1:9" }, 69],
])("%s has its own exit code", async (_, env, code) => {
  const ran = await shell.run(["events", "import", input], { env });
  expect(ran.code).toBe(code);
  expect(ran.err).toContain("No line is known to be stored.");
});

test("a token that may not send usage has its own exit code", async () => {
  const { id } = (await shell.app.get("/v1/keys/me")).organization;
  const reader = { name: "reader", organization_id: id, scopes: ["read"] };
  const { token } = await shell.app.post("/v1/keys", reader);
  const ran = await shell.run(["events", "import", input], { env: { DUES_TOKEN: token } });
  expect([ran.code, ran.err]).toEqual([77, expect.stringContaining("No line is known")]);
});
