// `dues api`: any call, as people write it, and what comes back as terminals and pipes want it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, sharedShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await sharedShell();
  for (let i = 0; i < 7; i++) {
    await shell.app.post("/v1/customers", { external_id: `c${i}`, name: `C ${i}` });
  }
});
afterAll(() => shell.close());

test.each(["customers", "/customers", "v1/customers", "/v1/customers"])(
  "%s is the same path",
  async (path) => {
    const ran = await shell.run(["api", "get", path, "-q", "external_id=c1"]);
    expect(ran.code, ran.err).toBe(0);
    expect(JSON.parse(ran.out).customer.name).toBe("C 1");
  },
);

test("a pipe gets the very bytes, a terminal gets indented JSON", async () => {
  const raw = await shell.run(["api", "GET", "/v1/customers/ext:c1"]);
  const answer = await shell.app.get("/v1/customers/ext:c1");
  expect(raw.out).toBe(JSON.stringify(answer));
  const shown = await shell.run(["api", "GET", "/v1/customers/ext:c1"], { terminal: true });
  expect(shown.out).toBe(`${JSON.stringify(answer, null, 2)}\n`);
});

test("a body comes from the line, a file or the input, and the method may be left out", async () => {
  const made = await shell.run(["api", "customers", "-d", '{"external_id":"d1","name":"D"}']);
  expect(made.code, made.err).toBe(0);
  const file = shell.file("body.json", '{"name":"From a file"}');
  await shell.run(["api", "patch", "customers/ext:d1", "-d", `@${file}`]);
  expect((await shell.app.get("/v1/customers/ext:d1")).customer.name).toBe("From a file");
  const input = '{"name":"From the input"}';
  await shell.run(["api", "patch", "customers/ext:d1", "-d", "-"], { input });
  expect((await shell.app.get("/v1/customers/ext:d1")).customer.name).toBe("From the input");
  const bad = await shell.run(["api", "post", "customers", "-d", "{nope"]);
  expect([bad.code, bad.err]).toEqual([64, expect.stringContaining("not JSON")]);
});

test("headers are sent, and --include shows those of the answer", async () => {
  const body = '{"external_id":"once","name":"Once"}';
  const args = ["api", "post", "customers", "-d", body, "-H", "Idempotency-Key: k-1", "-i"];
  const [first, second] = [await shell.run(args), await shell.run(args)];
  expect(first.out).toMatch(/^HTTP 201 .*\n[\s\S]*content-type: application\/json/);
  expect(second.code, second.err).toBe(0);
  expect(second.out.split("\n\n").at(-1)).toBe(first.out.split("\n\n").at(-1));
});

test("--paginate prints every page as one list", async () => {
  const args = ["api", "get", "customers", "-q", "limit=2", "--paginate"];
  const raw = await shell.run(args);
  const { customers, has_more } = JSON.parse(raw.out);
  const { customers: all } = await shell.app.get("/v1/customers?all=1");
  expect(customers).toEqual(all);
  expect(has_more).toBe(false);
  const shown = await shell.run(args, { terminal: true });
  expect(shown.out).toBe(`${JSON.stringify({ customers, has_more }, null, 2)}\n`);
  const log = await shell.run(["api", "get", "billing-events", "-q", "limit=3", "--paginate"]);
  const { billing_events } = JSON.parse(log.out);
  expect(billing_events.length).toBeGreaterThan(7);
  expect(new Set(billing_events.map((each: { id: string }) => each.id)).size).toBe(
    billing_events.length,
  );
  const none = await shell.run(["api", "get", "payments", "--paginate"]);
  expect(JSON.parse(none.out)).toEqual({ payments: [], has_more: false });
  const plans = await shell.run(["api", "get", "plans", "--paginate"]);
  expect([plans.code, JSON.parse(plans.out)]).toEqual([0, { plans: [], has_more: false }]);
  const twelve = await shell.run(["api", "get", "billing-events", "--paginate"]);
  expect(JSON.parse(twelve.out).billing_events).toEqual(billing_events);
  const one = await shell.run(["api", "get", "settings", "--paginate"]);
  expect(one.code).toBe(64);
});

test("--paginate goes on by cursor, whatever comes meanwhile and wherever it began", async () => {
  const external_ids = (out: string) =>
    JSON.parse(out).customers.map((each: { external_id: string }) => each.external_id);
  const all = await shell.run(["api", "get", "customers", "-q", "all=1"]);
  const args = ["api", "get", "customers", "-q", "limit=2", "--paginate"];
  let requests = 0;
  const onRequest = async () => {
    requests += 1;
    // A row that the first page does not have shifts every offset behind it.
    if (requests === 2) await shell.app.post("/v1/customers", { external_id: "new", name: "N" });
  };
  const paged = await shell.run(args, { onRequest });
  expect(external_ids(paged.out)).toEqual(external_ids(all.out));
  const behind = await shell.run([...args, "-q", "offset=3"]);
  expect(behind.code, behind.err).toBe(0);
  expect(external_ids(behind.out)).toEqual(external_ids(all.out).slice(2));
});

test("an error is printed as it is, with the exit codes of the other commands", async () => {
  const missing = await shell.run(["api", "get", "customers/ext:nobody"]);
  expect(missing.code).toBe(1);
  expect(JSON.parse(missing.out).error.code).toBe("not_found");
  expect(missing.err).toMatch(/^dues: /);
  const wrong = await shell.run(["api", "get", "customers"], { env: { DUES_TOKEN: "dues_no" } });
  expect(wrong.code).toBe(77);
  const away = await shell.run(["api", "get", "customers"], {
    env: { DUES_URL: "http://127.0.0.1:9" },
  });
  expect([away.code, away.err]).toEqual([69, expect.stringContaining("No answer from")]);
});

test("the token is not sent to another address", async () => {
  shell.requests.splice(0);
  for (const path of ["http://127.0.0.1:9/v1/customers", `${shell.url}.example.com/x`]) {
    const ran = await shell.run(["api", "get", path]);
    expect([path, ran.code]).toEqual([path, 64]);
  }
  expect(shell.requests).toEqual([]);
  expect((await shell.run(["api", "get", `${shell.url}/v1/customers`])).code).toBe(0);
});

test("what is not text goes into a file, and not onto a terminal", async () => {
  await shell.app.post("/v1/invoices", {
    customer_id: "ext:c1",
    lines: [{ name: "Work", unit_amount_cents: 1000 }],
  });
  const { invoices } = await shell.app.get("/v1/invoices");
  const path = `invoices/${invoices[0].id}/document.pdf`;
  // On a busy machine it may take longer than a caller is kept waiting.
  const status = async () => (await shell.app.call("GET", `/v1/${path}`)).status;
  await expect.poll(status, { timeout: 25_000 }).toBe(200);
  const refused = await shell.run(["api", "get", path], { terminal: true });
  expect([refused.code, refused.err]).toEqual([64, expect.stringContaining("--output")]);
  const file = join(shell.folder, "a.pdf");
  const ran = await shell.run(["api", "get", path, "-o", file]);
  expect([ran.code, ran.out]).toEqual([0, ""]);
  expect(readFileSync(file).subarray(0, 5).toString()).toBe("%PDF-");
  const named = join(shell.folder, "b.pdf");
  const pdf = await shell.run(["invoices", "pdf", invoices[0].number, "-o", named]);
  expect([pdf.code, pdf.out]).toEqual([0, `${named}\n`]);
  expect(readFileSync(named).subarray(0, 5).toString()).toBe("%PDF-");
});

test("paths beside /v1 are reached as they are", async () => {
  const ran = await shell.run(["api", "get", "healthz"]);
  expect([ran.code, JSON.parse(ran.out)]).toEqual([0, { status: "ok" }]);
});
