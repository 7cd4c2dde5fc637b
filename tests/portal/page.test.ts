// The portal's pages for people: always fresh, what is due first, what the next invoice will come
// to, and every invoice within reach.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../support/given.ts";
import { discount, oneOff, paid, settings, tax } from "../support/money.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const STRANGER = { authorization: undefined, "x-project-id": undefined };

async function htmlOf(path: string): Promise<string> {
  const { status, body } = await app.call("GET", path, undefined, STRANGER);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

function plain(page: string): string {
  return page
    .replace(/^[\s\S]*<body>/, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

async function textOf({ id }: Json, path = ""): Promise<string> {
  return plain(await htmlOf(`/portal/${id}${path}`));
}

describe("what it shows is fresh", () => {
  test("a payment is on the page at once, and the API's view stays as it is kept", async () => {
    const project = await sandbox(app, "2026-01-10");
    const customer = await project.customer();
    const bill = await oneOff(project, customer, "5000");
    const view = () => app.call("GET", `/v1/portal/${customer.id}`, undefined, STRANGER);
    const kept = await view();
    expect(await textOf(customer)).toContain("Amount due $50.00");
    await paid(project, bill, 5_000, { provider: "stripe" });
    const text = await textOf(customer);
    expect(text).toContain("Amount due $0.00");
    expect(text).toContain(`For ${bill.number} Stripe $50.00`);
    const after = await view();
    expect([after.headers["x-portal-cache"], after.body]).toEqual(["hit", kept.body]);
  });

  test("a page is asked for too often for one customer, and others are not held up", async () => {
    const project = await sandbox(app, "2026-01-10");
    const customer = await project.customer();
    const other = await project.customer();
    const statuses: number[] = [];
    for (let i = 0; i < 40; i++) {
      statuses.push((await app.call("GET", `/portal/${customer.id}`, undefined, STRANGER)).status);
      if (statuses.at(-1) === 429) break;
    }
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(statuses.at(-1)).toBe(429);
    expect(await textOf(other)).toContain("Amount due");
  });
});

describe("what is due", () => {
  test("comes first, the longest due before the others, with a way to pay each", async () => {
    const project = await sandbox(app, "2026-01-01");
    await settings(project, { payment_url: "https://pay.test/{number}" });
    const customer = await project.customer();
    const first = await oneOff(project, customer, "1000");
    await project.travelTo("2026-01-20");
    const second = await oneOff(project, customer, "700");
    const text = await textOf(customer);
    expect(text).toContain("Amount due $17.00 Overdue $10.00");
    const from = text.indexOf(`${first.number} Was due 15 Jan 2026 $10.00 Pay`);
    expect(from).toBeGreaterThan(0);
    expect(text.indexOf(`${second.number} Due 3 Feb 2026 $7.00 Pay`)).toBeGreaterThan(from);
    expect(text.indexOf("Subscriptions")).toBeGreaterThan(from);
  });
});

describe("the next invoice", () => {
  /** Each card's estimate against the invoices that are then made. */
  async function compare(project: Sandbox, customer: Json, to: string) {
    const text = await textOf(customer);
    const told = [...text.matchAll(/Next invoice, on 1 Feb 2026(?:, with tax)? about \$([\d.]+)/g)];
    const sum = told.reduce((cents, [, amount]) => cents + Math.round(Number(amount) * 100), 0);
    await project.travelTo(to);
    const made = (await project.invoices()).filter(
      ({ issuing_date }) => issuing_date === "2026-02-01",
    );
    expect(made.length).toBeGreaterThan(0);
    expect(sum).toBe(made.reduce((cents, { total_cents }) => cents + total_cents, 0));
    return text;
  }

  test("is what the close then makes: usage, flat fees, what is paid ahead, taxes, coupons", async () => {
    const project = await sandbox(app, "2026-01-10");
    await tax(project, "vat", "20");
    await settings(project, { tax_codes: ["vat"] });
    const calls = await project.metric("sum", { code: "calls", name: "API calls" });
    const item = await project.item({ name: "Seats", amount_cents: 1_500 });
    const seats = flatFee({ catalog_item_code: item.code, seats: true });
    const advance = flatFee({ amount_override_cents: 900, invoice_timing: "advance" });
    const customer = await project.customer();
    await discount(project, customer, { percent: "10", times: null });
    const properties = { seats: "5" };
    const one = await project.plan({
      amount_cents: 2_900,
      charges: [perUnit(calls, "0.05"), seats],
    });
    const used = await project.subscribe({ plan: one, customer, properties });
    const two = await project.plan({
      amount_cents: 3_100,
      base_timing: "advance",
      charges: [advance],
    });
    await project.subscribe({ plan: two, customer });
    await project.subscribe({ amount_cents: 4_000, customer, ends_at: "2026-02-01" });
    await project.use(used, calls, "1234");
    const text = await compare(project, customer, "2026-02-01");
    expect(text).toContain("Seats 5 × $15.00 $75.00");
    expect(text).toContain("API calls 1,234 used $61.70");
  });

  test("gives a coupon that is good once to the subscription that the close comes to first", async () => {
    const project = await sandbox(app, "2026-01-10");
    const customer = await project.customer();
    await discount(project, customer, { percent: "50", times: 1 });
    for (const amount_cents of [10_000, 4_000, 2_000]) {
      const plan = await project.plan({ amount_cents, base_timing: "advance" });
      await project.subscribe({ plan, customer, trial_days: 22 });
    }
    const text = await textOf(customer);
    const told = [...text.matchAll(/Next invoice, on 1 Feb 2026 about \$([\d.]+)/g)];
    await project.travelTo("2026-02-01");
    const made = await project.invoices();
    // Cards stand newest first.
    const totals = made.map(({ total_cents }) => total_cents).reverse();
    expect(told.map(([, amount]) => Math.round(Number(amount) * 100))).toEqual(totals);
  });

  test("gives it to the subscription that ends earlier on that day, though it is newer", async () => {
    const project = await sandbox(app, "2026-01-10");
    const customer = await project.customer();
    await discount(project, customer, { percent: "50", times: 1 });
    const yearly = await project.plan({ amount_cents: 36_500, interval: "yearly" });
    await project.subscribe({ plan: yearly, customer, ends_at: "2026-02-01T10:00:00Z" });
    await project.subscribe({ amount_cents: 31_000, customer });
    const text = await textOf(customer);
    const told = [...text.matchAll(/Next invoice, on 1 Feb 2026 about \$([\d.]+)/g)];
    await project.travelTo("2026-02-02");
    const totals = (await project.invoices()).map(({ total_cents }) => total_cents);
    expect(told.map(([, amount]) => Math.round(Number(amount) * 100)).sort()).toEqual(
      totals.sort(),
    );
  });

  test("is not told where no invoice can be made, or none will be", async () => {
    const project = await sandbox(app, "2026-01-10");
    const customer = await project.customer();
    const plan = await project.plan({ amount_cents: 100 });
    await project.subscribe({ plan, customer });
    const seats = flatFee({ amount_override_cents: 100, seats: true });
    await project.patch(`/v1/plans/${plan.id}`, { charges: [seats] });
    await project.subscribe({ amount_cents: 0, customer });
    await project.travelTo("2026-02-02");
    expect(await textOf(customer)).not.toContain("Next invoice");
  });
});

describe("long lists", () => {
  test("every invoice and payment can be reached, page by page", async () => {
    const project = await sandbox(app, "2026-01-10");
    const customer = await project.customer();
    const addOn = await project.addOn({ amount_cents: 100, currency: "USD" });
    for (let i = 0; i < 52; i++) await project.apply(addOn, customer);
    for (const bill of (await project.invoices()).slice(0, 12)) await project.pay(bill, 100);
    const seen = new Set<string>();
    let path: string | undefined = `/portal/${customer.id}`;
    let pages = 0;
    while (path !== undefined) {
      const page: string = await htmlOf(path);
      for (const [, number = ""] of page.matchAll(/invoices\/(INV-[\d-]+)"/g)) seen.add(number);
      path = /href="([^"]*)">Older invoices/.exec(page)?.[1]?.replaceAll("&amp;", "&");
      pages += 1;
    }
    expect([seen.size, pages]).toEqual([52, 3]);
    const last = await textOf(customer, "/invoices?page=3");
    expect(last).toContain("Invoices, page 3");
    expect(last).toContain("Newer invoices");
    expect(await textOf(customer, "/payments?page=2")).toContain("Payments, page 2");
    expect(await textOf(customer, "/invoices?page=9")).toContain("There are no older invoices");
    const refused = await app.call("GET", `/portal/${customer.id}/invoices?page=0`);
    expect([refused.status, plain(refused.body)]).toEqual([
      422,
      expect.stringMatching(/^This page does not exist/),
    ]);
    expect(refused.body).not.toContain("Try again");
  });

  test("beyond five, subscriptions are folded; what was not used is left out", async () => {
    const project = await sandbox(app, "2026-01-10");
    const calls = await project.metric("sum", { code: "calls", name: "API calls" });
    const idle = await project.metric("sum", { code: "idle", name: "Idle hours" });
    const plan = await project.plan({ charges: [perUnit(calls, "1"), perUnit(idle, "1")] });
    const customer = await project.customer();
    for (let i = 0; i < 6; i++) {
      const subscription = await project.subscribe({ plan, customer });
      if (i > 0) await project.use(subscription, calls, "3");
    }
    const page = await htmlOf(`/portal/${customer.id}`);
    expect(page.split("<details")[0]?.match(/<article/g)).toHaveLength(5);
    const folded = plain(page.split("<details")[1] ?? "");
    expect(folded).toContain("One more subscription");
    expect(folded).toContain("Nothing used yet this period");
    expect(page).toContain("API calls");
    expect(page).not.toContain("Idle hours");
  });
});
