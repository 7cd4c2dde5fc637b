// The configuration file as its description says it: a test for each of its sentences.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
let made = 0;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
});
afterAll(() => shell.close());

type Sections = Readonly<Record<string, unknown>>;

/** A project of its own, and its file. */
class Project {
  readonly slug = `p${++made}`;
  id = "";

  async create(): Promise<this> {
    this.id = await shell.project(this.slug);
    return this;
  }

  file(sections: Sections, head: Sections = {}): string {
    const slugs = { org: "acme", workspace: "main", project: this.slug };
    return shell.file(
      `${this.slug}.yaml`,
      stringify({ version: "1", ...slugs, ...head, ...sections }),
    );
  }

  sync(sections: Sections, ...flags: string[]) {
    return shell.run(["sync", this.file(sections), ...flags]);
  }

  get(path: string) {
    return shell.app.ok("GET", path, undefined, { "x-project-id": this.id });
  }

  post(path: string, body: unknown) {
    return shell.app.ok("POST", path, body, { "x-project-id": this.id });
  }
}

const seat = { code: "seat", name: "Seat", amount_cents: 1500 };
const calls = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
const pro = {
  code: "pro",
  name: "Pro",
  interval: "monthly",
  amount_cents: 2900,
  currency: "USD",
  charges: [
    { type: "standard", metric_ref: "calls", rate: "0.05" },
    { type: "flat_fee", catalog_ref: "seat", quantity_from: "subscription_property.seats" },
  ],
};

describe("the file as a whole", () => {
  test("it declares everything at once, and a second run has nothing to do", async () => {
    const project = await new Project().create();
    const sections = {
      catalog: [seat],
      metrics: [calls],
      addons: [{ code: "setup", name: "Setup", catalog_ref: "seat" }],
      plans: [pro],
      dunning: {
        enabled: true,
        steps: [{ days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" }],
      },
      webhooks: [{ url: "https://hooks.example.com/a", events: ["invoice.created"] }],
    };
    const first = await project.sync(sections);
    expect(first.code, first.err).toBe(0);
    expect(first.out).toMatch(/shown once\): whsec_[\w+/=]{40,}/);
    shell.takeWrites();
    const second = await project.sync(sections);
    expect(second.out).toContain("Nothing to do.");
    expect(shell.takeWrites()).toEqual([]);
    const { plan } = await project.get("/v1/plans?code=pro");
    expect(plan.charges).toMatchObject([
      { charge_model: "standard", billable_metric_code: "calls", properties: { amount: "0.05" } },
      {
        charge_model: "flat_fee",
        catalog_item_code: "seat",
        quantity_from: "subscription_property.seats",
      },
    ]);
    const { dunning } = await project.get("/v1/dunning");
    expect(dunning).toMatchObject({ enabled: true, steps: [{ days_after_due: 3 }] });
  });

  test("absent sections are left unchanged, and empty ones delete nothing", async () => {
    const project = await new Project().create();
    await project.sync({ catalog: [seat], metrics: [calls], plans: [pro] });
    const before = await shell.run(["export", "--json", "--project", project.id]);
    for (const sections of [
      {},
      { catalog: [], metrics: [], addons: [], plans: [], dunning: {}, webhooks: [] },
    ]) {
      const ran = await project.sync(sections);
      expect(ran).toMatchObject({ code: 0 });
      expect(ran.out).toContain("Nothing to do.");
    }
    expect((await shell.run(["export", "--json", "--project", project.id])).out).toBe(before.out);
  });

  test("a file with any fault has no effect at all: every fault is told and nothing is sent", async () => {
    const project = await new Project().create();
    shell.requests.splice(0);
    const bad = { catalog: [seat, { ...seat, code: "BAD", amount_cents: 1.5 }], plan: [] };
    const ran = await project.sync(bad);
    expect(ran.code).toBe(65);
    expect(ran.err).toMatch(/p\d+\.yaml:\d+:\d+ .*catalog\[1\]\.code/);
    expect(ran.err).toContain("catalog[1].amount_cents");
    expect(ran.err).toContain("Did you mean plans?");
    expect(ran.err).toContain("3 faults. Nothing was sent.");
    expect(shell.requests).toEqual([]);
  });

  test("version must be the text 1", async () => {
    const project = await new Project().create();
    const ran = await shell.run(["sync", project.file({}, { version: 1 })]);
    expect(ran.code).toBe(65);
    expect(ran.err).toContain('version: "1"');
  });

  test.each([
    [{ org: "other" }, /organization other, the token is of acme/],
    [{ workspace: "nowhere" }, /no project nowhere\//],
    [{ project: "nothing" }, /no project main\/nothing/],
  ])(
    "slugs %j that are not those of the token are refused, with what to do",
    async (head, message) => {
      const project = await new Project().create();
      const ran = await shell.run(["sync", project.file({ catalog: [seat] }, head)]);
      expect(ran.code).toBe(1);
      expect(ran.err).toMatch(message);
      expect(ran.err).toContain("dues init --org");
    },
  );

  test("references that neither the file nor the project has are told with their lines", async () => {
    const project = await new Project().create();
    shell.takeWrites();
    const ran = await project.sync({ catalog: [seat], plans: [pro] });
    expect(ran.code).toBe(65);
    expect(ran.err).toMatch(/p\d+\.yaml:\d+:\d+ .*plans\[0\]\.charges\[0\]\.metric_ref/);
    expect(shell.takeWrites()).toEqual([]);
  });

  test("references to what the project has and the file does not are resolved", async () => {
    const project = await new Project().create();
    await project.sync({ catalog: [seat], metrics: [calls] });
    expect(await project.sync({ plans: [pro] })).toMatchObject({ code: 0 });
  });
});

describe("catalog, metrics, add-ons", () => {
  test("changing a code creates a new item; the old one is not archived", async () => {
    const project = await new Project().create();
    await project.sync({ catalog: [seat] });
    const ran = await project.sync({ catalog: [{ ...seat, code: "chair" }] });
    expect(ran.out).toMatch(/\+ catalog +chair/);
    expect(ran.out).toMatch(/! catalog +seat +not in the file/);
    const { catalog_items } = await project.get("/v1/catalog");
    expect(catalog_items.map((item: { code: string }) => item.code).sort()).toEqual([
      "chair",
      "seat",
    ]);
  });

  test("a changed item shows old and new, and is updated by its code", async () => {
    const project = await new Project().create();
    await project.sync({ catalog: [seat] });
    const ran = await project.sync({
      catalog: [{ ...seat, amount_cents: 1600, metadata: { a: [1] } }],
    });
    expect(ran.out).toContain("amount_cents: 1500 → 1600");
    const { catalog_items } = await project.get("/v1/catalog");
    expect(catalog_items).toMatchObject([
      { amount_cents: 1600, currency: "USD", metadata: { a: [1] } },
    ]);
  });

  test("a metric's name changes; how it counts does not", async () => {
    const project = await new Project().create();
    await project.sync({ metrics: [calls] });
    expect((await project.sync({ metrics: [{ ...calls, name: "All calls" }] })).code).toBe(0);
    const ran = await project.sync({ metrics: [{ ...calls, aggregation_type: "max" }] });
    expect(ran.code).toBe(65);
    expect(ran.err).toContain("declare a metric with a new code");
    const { metrics } = await project.get("/v1/metrics");
    expect(metrics).toMatchObject([{ name: "All calls", aggregation_type: "sum" }]);
  });

  test("an add-on takes its price from the catalog, or has its own in USD", async () => {
    const project = await new Project().create();
    const addons = [
      { code: "a", name: "A", catalog_ref: "seat", currency: "EUR" },
      { code: "b", name: "B", amount_cents: 7, invoice_timing: "immediate" },
    ];
    const item = { ...seat, currency: "JPY" };
    expect((await project.sync({ catalog: [item], addons })).code).toBe(0);
    const { add_ons } = await project.get("/v1/addons");
    const found = add_ons.toSorted((a: { code: string }, b: { code: string }) =>
      a.code < b.code ? -1 : 1,
    );
    expect(found).toMatchObject([
      { amount_cents: 1500, currency: "JPY", catalog_item_code: "seat" },
      { amount_cents: 7, currency: "USD", catalog_item_code: null },
    ]);
    expect((await project.sync({ catalog: [item], addons })).out).toContain("Nothing to do.");
  });
});

describe("plans", () => {
  const other = { code: "p", name: "P", interval: "weekly", currency: "EUR" };

  test("amount_cents is 0 and the timing arrears when left out; a charge may override a price", async () => {
    const project = await new Project().create();
    const charges = [
      {
        type: "flat_fee",
        catalog_ref: "seat",
        amount_override_cents: 5,
        invoice_timing: "immediate",
      },
      { type: "flat_fee", amount_override_cents: 9, properties: { note: "x" } },
    ];
    const sections = { catalog: [{ ...seat, currency: "EUR" }], plans: [{ ...other, charges }] };
    expect(await project.sync(sections)).toMatchObject({ code: 0 });
    const { plan } = await project.get("/v1/plans?code=p");
    expect(plan).toMatchObject({ amount_cents: 0, amount_currency: "EUR", interval: "weekly" });
    expect(plan.charges).toMatchObject([
      { amount_override_cents: 5, invoice_timing: "immediate" },
      { amount_override_cents: 9, invoice_timing: "arrears", properties: { note: "x" } },
    ]);
    expect((await project.sync(sections)).out).toContain("Nothing to do.");
  });

  test("unchanged charges keep their ids", async () => {
    const project = await new Project().create();
    await project.sync({ catalog: [seat], metrics: [calls], plans: [pro] });
    const before = (await project.get("/v1/plans?code=pro")).plan.charges;
    const charges = [...pro.charges, { type: "flat_fee", amount_override_cents: 1 }];
    await project.sync({ plans: [{ ...pro, charges }] });
    const after = (await project.get("/v1/plans?code=pro")).plan.charges;
    expect(after.slice(0, 2).map((charge: { id: string }) => charge.id)).toEqual(
      before.map((charge: { id: string }) => charge.id),
    );
  });

  test("prices of plans in use are changed only when somebody says yes", async () => {
    const project = await new Project().create();
    await project.post("/v1/clock", { frozen_at: "2026-01-10T00:00:00Z" });
    await project.sync({ catalog: [seat], metrics: [calls], plans: [pro] });
    const { customer } = await project.post("/v1/customers", { external_id: "c", name: "C" });
    const { plan } = await project.get("/v1/plans?code=pro");
    await project.post("/v1/subscriptions", {
      customer_id: customer.id,
      plan_id: plan.id,
      properties: { seats: 2 },
    });
    const dearer = { plans: [{ ...pro, amount_cents: 3900 }] };
    shell.takeWrites();
    const refused = await project.sync(dearer);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("prices that live subscriptions pay: pro");
    expect(refused.err).toContain("--yes");
    const no = await shell.run(["sync", project.file(dearer)], { answers: ["n"] });
    expect(no).toMatchObject({ code: 1 });
    expect(shell.takeWrites()).toEqual([]);
    const yes = await shell.run(["sync", project.file(dearer)], { answers: ["y"] });
    expect(yes.out).toContain(
      "(1 live subscription) counts from the period that starts 2026-02-01",
    );
    expect(yes.code).toBe(0);
    // One that is to start later, and one whose periods are its own, pay it from other days on.
    const ids = { customer_id: customer.id, plan_id: plan.id, properties: { seats: 1 } };
    await project.post("/v1/subscriptions", { ...ids, starts_at: "2026-03-05T00:00:00Z" });
    await project.post("/v1/subscriptions", { ...ids, billing_time: "anniversary" });
    const soon = await project.sync({ plans: [{ ...pro, minimum_cents: 5 }] }, "--dry-run");
    const message = "counts for each from its next period on, the first seen starts 2026-02-01";
    expect(soon.out).toContain(`(3 live subscriptions) ${message}`);
    // A new price of an item reaches the plans that take theirs from it.
    const item = { catalog: [{ ...seat, amount_cents: 2 }] };
    expect((await project.sync(item)).err).toContain("live subscriptions pay: pro");
    expect((await project.sync(item, "--yes")).code).toBe(0);
    // A name is nobody's price.
    expect((await project.sync({ plans: [{ ...dearer.plans[0], name: "Pro+" }] })).code).toBe(0);
  });
});

describe("webhooks", () => {
  const hook = (path: string, ...events: string[]) => ({
    url: `https://hooks.example.com/${path}`,
    events,
  });

  test("matched by URL: a new one is registered, a known one gets its events replaced, absent ones stay", async () => {
    const project = await new Project().create();
    await project.sync({ webhooks: [hook("a", "invoice.created"), hook("b", "addon.applied")] });
    const ran = await project.sync({
      webhooks: [hook("a", "payment.succeeded"), hook("c", "invoice.created")],
    });
    expect(ran.out).toContain(
      "! webhooks  https://hooks.example.com/b  not in the file: left alone",
    );
    const { webhook_endpoints } = await project.get("/v1/webhooks");
    const found = webhook_endpoints.map((each: { url: string; events: string[] }) => [
      each.url.at(-1),
      ...each.events,
    ]);
    expect(found.toSorted()).toEqual([
      ["a", "payment.succeeded"],
      ["b", "addon.applied"],
      ["c", "invoice.created"],
    ]);
  });

  test("secrets go to a file of the owner's, when asked, and not on the screen", async () => {
    const project = await new Project().create();
    const secrets = join(shell.folder, `${project.slug}.secrets`);
    const ran = await project.sync(
      { webhooks: [hook("s", "invoice.created")] },
      "--secrets-out",
      secrets,
    );
    expect(ran.out + ran.err).not.toMatch(/whsec_\w{8}/);
    expect(statSync(secrets).mode & 0o777).toBe(0o600);
    const [line = ""] = readFileSync(secrets, "utf8").split("\n");
    expect(JSON.parse(line)).toMatchObject({
      url: "https://hooks.example.com/s",
      secret: expect.stringMatching(/^whsec_[\w+/=]{40,}$/),
    });
  });
});

describe("looking without changing", () => {
  test("diff and --dry-run change nothing, and exit with 2 when there is a difference", async () => {
    const project = await new Project().create();
    const file = project.file({ catalog: [seat] });
    shell.takeWrites();
    expect(await shell.run(["diff", file])).toMatchObject({ code: 2 });
    expect(await shell.run(["sync", file, "--dry-run"])).toMatchObject({ code: 2 });
    expect(shell.takeWrites()).toEqual([]);
    await shell.run(["sync", file]);
    expect(await shell.run(["diff", file])).toMatchObject({ code: 0 });
  });

  test("--json gives the plan to a machine", async () => {
    const project = await new Project().create();
    const ran = await shell.run(["diff", project.file({ catalog: [seat] }), "--json"]);
    expect(JSON.parse(ran.out).steps).toMatchObject([
      { section: "catalog", key: "seat", act: "create" },
    ]);
    const bad = await shell.run(["diff", project.file({ catalog: 1 }), "--json"]);
    expect(JSON.parse(bad.out).faults).toMatchObject([{ line: 5, field: "catalog" }]);
  });

  test("export writes a file that syncs to no change, and overwrites none", async () => {
    const project = await new Project().create();
    await project.sync({
      catalog: [seat],
      metrics: [calls],
      plans: [pro],
      addons: [{ code: "x", name: "yes", amount_cents: 3, description: "no" }],
    });
    const file = join(shell.folder, `${project.slug}.exported.yaml`);
    const args = ["export", "--project", project.id, "--out", file];
    expect(await shell.run(args)).toMatchObject({ code: 0 });
    expect((await shell.run(["sync", file])).out).toContain("Nothing to do.");
    expect(await shell.run(args)).toMatchObject({ code: 1 });
    expect(existsSync(file)).toBe(true);
  });

  test("validate asks no service", async () => {
    const project = await new Project().create();
    shell.requests.splice(0);
    const env = { DUES_TOKEN: "", DUES_URL: "" };
    expect(await shell.run(["validate", project.file({ catalog: [seat] })], { env })).toMatchObject(
      { code: 0 },
    );
    expect(await shell.run(["validate", project.file({ catalog: [{}] })], { env })).toMatchObject({
      code: 65,
    });
    expect(await shell.run(["validate", "missing.yaml"], { env })).toMatchObject({ code: 65 });
    expect(shell.requests).toEqual([]);
  });
});
