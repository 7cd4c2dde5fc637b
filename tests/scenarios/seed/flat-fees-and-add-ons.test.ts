// Flat fees, the catalog they take their prices from, and add-ons.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { count, flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const seats = (quantity: unknown) => ({ properties: { seats: quantity } });

async function priced(at: string, amount_cents: number, currency = "USD") {
  const story = await sandbox(app, at);
  const item = await story.item({ amount_cents, currency });
  return { story, item, charge: { catalog_item_code: item.code } };
}

function reprice(story: Sandbox, item: Json, amount_cents: number) {
  const { code, name } = item;
  return story.post("/v1/catalog", { code, name, amount_cents });
}

describe("a flat fee in arrears", () => {
  test("is the whole price times the quantity, also for part of a month (S85)", async () => {
    const { story, charge } = await priced("2026-01-20", 4900);
    await story.subscribe({ charges: [flatFee({ ...charge, seats: true })], ...seats(3) });
    await story.subscribe({ charges: [flatFee(charge)], ...seats(3) });
    await story.travelTo("2026-02-01");
    expect(await story.invoices()).toMatchObject([
      { total_cents: 14_700, fees: [{ fee_type: "charge", units: "3", amount_cents: 14_700 }] },
      { total_cents: 4900, fees: [{ fee_type: "charge", units: "1", amount_cents: 4900 }] },
    ]);
  });

  test("has the price of its override, 0 too, with or without an item (S86)", async () => {
    const { story, charge } = await priced("2026-01-01", 4900);
    const override = (amount_override_cents: number) =>
      flatFee({ ...charge, amount_override_cents, seats: true });
    await story.subscribe({ charges: [override(4500)], ...seats(3) });
    await story.subscribe({ charges: [override(0)], ...seats(3) });
    await story.subscribe({ charges: [flatFee({ amount_override_cents: 700 })] });
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([13_500, 700]);
  });

  test("takes the quantity of the instant at which it is billed (S88)", async () => {
    const { story, charge } = await priced("2026-03-01", 1000);
    const charges = [flatFee({ ...charge, seats: true })];
    const subscription = await story.subscribe({ charges, ...seats(3) });
    await story.travelTo("2026-03-15");
    await story.patch(`/v1/subscriptions/${subscription.id}`, seats(5));
    await story.travelTo("2026-04-01");
    expect(await story.totals()).toEqual([5000]);
  });

  test("takes the price of the start of its period (S89)", async () => {
    const { story, item, charge } = await priced("2026-03-01", 1000);
    await story.subscribe({ charges: [flatFee(charge)] });
    await story.travelTo("2026-03-10");
    await reprice(story, item, 1500);
    await story.travelTo("2026-05-01");
    expect(await story.totals()).toEqual([1000, 1500]);
  });

  test("is on the final invoice in full (R8)", async () => {
    const { story, charge } = await priced("2026-03-01", 1000);
    const charges = [flatFee({ ...charge, seats: true })];
    const subscription = await story.subscribe({ amount_cents: 3100, charges, ...seats(2) });
    await story.travelTo("2026-03-03T12:00");
    await story.terminate(subscription);
    expect(await story.totals()).toEqual([300 + 2000]);
  });

  test("takes the quantity that comes with the end itself (R8)", async () => {
    const { story, charge } = await priced("2026-03-01", 1000);
    const charges = [flatFee({ ...charge, seats: true })];
    const subscription = await story.subscribe({ charges, ...seats(2) });
    const change = { ...seats(5), status: "terminated" };
    await story.patch(`/v1/subscriptions/${subscription.id}`, change);
    expect(await story.totals()).toEqual([5000]);
  });

  test.each([
    { sent: "2.5", units: "2.5", total: 2500 },
    { sent: 0.1, units: "0.1", total: 100 },
    { sent: 0, units: undefined, total: undefined },
  ])("takes any decimal quantity: $sent (R8)", async ({ sent, units, total }) => {
    const { story, charge } = await priced("2026-03-01", 1000);
    await story.subscribe({ charges: [flatFee({ ...charge, seats: true })], ...seats(sent) });
    await story.travelTo("2026-04-01");
    const [invoice] = await story.invoices();
    expect(invoice?.total_cents).toBe(total);
    expect(invoice?.fees[0].units).toBe(units);
  });

  test.each([{ sent: -1 }, { sent: "many" }, { sent: null }, { sent: undefined }])(
    "does not start with a quantity of $sent (R8)",
    async ({ sent }) => {
      const { story, charge } = await priced("2026-03-01", 1000);
      const plan = await story.plan({ charges: [flatFee({ ...charge, seats: true })] });
      const customer = await story.customer();
      const refs = { plan_id: plan.id, customer_id: customer.id };
      const body = { ...refs, ...seats(sent) };
      expect((await story.call("POST", "/v1/subscriptions", body)).status).toBe(422);
      const good = await story.subscribe({ plan, customer, ...seats(1) });
      const url = `/v1/subscriptions/${good.id}`;
      const refused = await story.call("PATCH", url, seats(sent ?? null));
      expect(refused.status).toBe(422);
      expect(await story.subscription(good.id)).toEqual(good);
    },
  );
});

describe("an immediate flat fee", () => {
  test.each([
    { name: "once", quantity: {}, total: 9900, units: "1" },
    { name: "times the seats", quantity: { seats: true }, total: 29_700, units: "3" },
  ])("is billed $name at the start and never again (S90)", async ({ quantity, total, units }) => {
    const { story, charge } = await priced("2026-01-15T10:00", 9900);
    const immediate = flatFee({ ...charge, ...quantity, invoice_timing: "immediate" });
    const subscription = await story.subscribe({ charges: [immediate], ...seats(3) });
    const [invoice] = await story.invoices();
    expect(invoice).toMatchObject({
      subscription_id: subscription.id,
      invoice_type: "subscription",
      total_cents: total,
      status: "outstanding",
      payment_status: "pending",
      issuing_date: "2026-01-15",
      due_date: "2026-01-29",
      period_start: "2026-01-15",
      period_end: "2026-01-31",
      fees: [{ fee_type: "charge", units, amount_cents: total }],
    });
    expect(await story.webhooks("invoice.created")).toMatchObject([
      { subscription: { id: subscription.id }, invoice: { total_cents: total } },
    ]);
    const report = await story.travelTo("2026-06-01");
    expect(count(report, "invoice.created")).toBe(0);
    expect(await story.totals()).toEqual([total]);
  });

  test("is not billed again when the subscription comes back (R8)", async () => {
    const { story, charge } = await priced("2026-01-15", 9900);
    const charges = [flatFee({ ...charge, invoice_timing: "immediate" })];
    const subscription = await story.subscribe({ charges });
    await story.terminate(subscription);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-06-01");
    expect(await story.totals()).toEqual([9900]);
  });

  test("has the price of the moment of the start (S145)", async () => {
    const { story, item, charge } = await priced("2026-01-01", 9900);
    const plan = await story.plan({
      charges: [flatFee({ ...charge, invoice_timing: "immediate" })],
    });
    await story.subscribe({ plan });
    await story.travelTo("2026-01-10");
    await reprice(story, item, 12_000);
    await story.subscribe({ plan });
    expect(await story.totals()).toEqual([9900, 12_000]);
  });
});

describe("an add-on", () => {
  test("of 0 makes an invoice that is paid from the start (S93)", async () => {
    const story = await sandbox(app, "2026-01-10");
    const addOn = await story.addOn({ amount_cents: 0 });
    const { status, body } = await story.apply(addOn, await story.customer());
    expect(status).toBe(201);
    expect(body.applied_add_on).toMatchObject({ amount_cents: 0, currency: "USD" });
    const [invoice] = await story.invoices();
    expect(invoice).toMatchObject({
      id: body.applied_add_on.invoice_id,
      total_cents: 0,
      amount_due_cents: 0,
      status: "succeeded",
      payment_status: "succeeded",
    });
    expect(await story.webhooks("addon.applied")).toMatchObject([
      { applied_add_on: { amount_cents: 0 }, invoice: { id: invoice.id, total_cents: 0 } },
    ]);
    expect(await story.webhooks("invoice.created")).toMatchObject([
      { invoice: { id: invoice.id, status: "succeeded" }, subscription: null },
    ]);
  });

  test("needs no subscription, and is billed for its own day (S94)", async () => {
    const story = await sandbox(app, "2026-01-31T23:59:59.999");
    const addOn = await story.addOn({ amount_cents: 2500, currency: "EUR" });
    await story.apply(addOn, await story.customer());
    expect(await story.invoices()).toMatchObject([
      {
        invoice_type: "addon",
        subscription_id: null,
        currency: "EUR",
        total_cents: 2500,
        status: "outstanding",
        issuing_date: "2026-01-31",
        period_start: "2026-01-31",
        period_end: "2026-01-31",
        due_date: "2026-02-14",
      },
    ]);
    const [created] = await story.webhooks("invoice.created");
    expect(created.subscription).toBeNull();
    expect(created.invoice).toMatchObject({ invoice_type: "addon", total_cents: 2500 });
  });

  test("takes its item's price of the moment it is applied (R8)", async () => {
    const { story, item } = await priced("2026-01-01", 1000);
    const addOn = await story.addOn({ catalog_item_code: item.code });
    const customer = await story.customer();
    await story.apply(addOn, customer);
    await reprice(story, item, 1500);
    await story.apply(addOn, customer);
    expect(await story.totals()).toEqual([1000, 1500]);
  });

  test("applied again under one Idempotency-Key is the same application (S99)", async () => {
    const story = await sandbox(app, "2026-01-10");
    const addOn = await story.addOn({ amount_cents: 2500 });
    const customer = await story.customer();
    const key = { "idempotency-key": "apply-1" };
    const first = await story.apply(addOn, customer, key);
    const second = await story.apply(addOn, customer, key);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(second.headers["idempotent-replayed"]).toBe("true");
    expect(first.headers["idempotent-replayed"]).toBeUndefined();
    const other = await story.apply(addOn, await story.customer(), key);
    expect([other.status, other.body.error.code]).toEqual([409, "idempotency_conflict"]);
    expect(await story.totals()).toEqual([2500]);
    expect(await story.webhooks("addon.applied")).toHaveLength(1);
  });

  test("applied eight times at once under one key makes one invoice (S99)", async () => {
    const story = await sandbox(app, "2026-01-10");
    const addOn = await story.addOn({ amount_cents: 2500 });
    const customer = await story.customer();
    const key = { "idempotency-key": "apply-1" };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => story.apply(addOn, customer, key)),
    );
    const done = answers.filter(({ status }) => status === 201);
    expect(done.length).toBeGreaterThan(0);
    expect(new Set(done.map(({ body }) => body.applied_add_on.id)).size).toBe(1);
    for (const { status, body } of answers) {
      if (status !== 201) expect(body.error.code).toBe("idempotency_in_flight");
    }
    expect(await story.totals()).toEqual([2500]);
  });
});

describe("a catalog item", () => {
  test("of another currency is refused, in a new plan and as an added charge (S95)", async () => {
    const { story, charge } = await priced("2026-01-01", 1000, "EUR");
    const plan = await story.plan({ amount_currency: "USD" });
    const terms = { code: "pro", name: "Pro", interval: "monthly", amount_currency: "USD" };
    const charges = [flatFee(charge)];
    for (const answer of [
      await story.call("POST", "/v1/plans", { ...terms, charges }),
      await story.call("POST", `/v1/plans/${plan.id}/charges`, flatFee(charge)),
      await story.call("PATCH", `/v1/plans/${plan.id}`, { charges }),
    ]) {
      expect([answer.status, answer.body.error.code]).toEqual([422, "currency_mismatch"]);
    }
    expect((await story.get(`/v1/plans/${plan.id}`)).plan.charges).toEqual([]);
  });

  test("is kept while a live charge or add-on uses it, and archived after (S96)", async () => {
    const { story, item, charge } = await priced("2026-01-01", 1000);
    const plan = await story.plan({ charges: [flatFee(charge)] });
    const addOn = await story.addOn({ catalog_item_code: item.code });
    const archive = () => story.call("DELETE", `/v1/catalog/${item.id}`);
    const refused = await archive();
    expect([refused.status, refused.body.error.code]).toEqual([422, "has_dependencies"]);
    await story.ok("DELETE", `/v1/plans/${plan.id}`);
    expect((await archive()).body.error?.code).toBe("has_dependencies");
    await story.ok("DELETE", `/v1/addons/${addOn.id}`);
    expect((await archive()).status).toBe(204);
  });

  test("that is archived comes back by its code, the same one (S98)", async () => {
    const { story, item } = await priced("2026-01-01", 1000);
    expect((await story.call("DELETE", `/v1/catalog/${item.id}`)).status).toBe(204);
    const { code, name } = item;
    const body = { code, name, amount_cents: 1200 };
    const revived = await story.call("POST", "/v1/catalog", body);
    expect(revived.status).toBe(200);
    expect(revived.body.catalog_item).toMatchObject({
      id: item.id,
      archived_at: null,
      amount_cents: 1200,
    });
  });
});

test("an immediate usage charge and a flat fee without a price are refused (S144)", async () => {
  const story = await sandbox(app, "2026-01-01");
  const metric = await story.metric();
  const terms = { code: "pro", name: "Pro", interval: "monthly", amount_currency: "USD" };
  for (const charge of [
    { ...perUnit(metric, "1"), invoice_timing: "immediate" },
    flatFee({}),
    flatFee({ seats: true }),
  ]) {
    const refused = await story.call("POST", "/v1/plans", { ...terms, charges: [charge] });
    expect([refused.status, refused.body.error.code]).toEqual([422, "validation_error"]);
  }
  expect((await story.get("/v1/plans")).plans).toEqual([]);
});

describe("minor units are those of the currency (S147)", () => {
  test("yen have none", async () => {
    const { story, charge } = await priced("2026-01-17", 1500, "JPY");
    await story.subscribe({
      amount_cents: 31,
      amount_currency: "JPY",
      charges: [flatFee({ ...charge, seats: true })],
      ...seats(3),
    });
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(invoice).toMatchObject({ currency: "JPY", total_cents: 4515 });
    expect(invoice.fees.map((fee: Json) => fee.amount_cents)).toEqual([15, 4500]);
  });

  test("dinars have three", async () => {
    const { story, charge } = await priced("2026-01-17", 1501, "KWD");
    const customer = await story.customer({ currency: "KWD" });
    await story.subscribe({
      customer,
      amount_cents: 310,
      amount_currency: "KWD",
      charges: [flatFee({ ...charge, seats: true })],
      ...seats("2.5"),
    });
    await story.apply(await story.addOn({ amount_cents: 7, currency: "KWD" }), customer);
    await story.travelTo("2026-02-01");
    const [addOn, invoice] = await story.invoices();
    expect(addOn).toMatchObject({ currency: "KWD", total_cents: 7 });
    expect(invoice).toMatchObject({ currency: "KWD", total_cents: 3903 });
    expect(invoice.fees.map((fee: Json) => fee.amount_cents)).toEqual([150, 3753]);
    expect(invoice.fees[1].properties.precise_amount).toBe("3752.5");
  });
});

test("each invoice has the currency of its plan, for one customer too (S149)", async () => {
  const story = await sandbox(app, "2026-01-01");
  const customer = await story.customer();
  await story.subscribe({ customer, amount_cents: 1000, amount_currency: "EUR" });
  await story.subscribe({ customer, amount_cents: 2000, amount_currency: "JPY" });
  await story.travelTo("2026-02-01");
  const invoices = await story.invoices();
  expect(invoices.map(({ currency, total_cents }) => [currency, total_cents])).toEqual([
    ["EUR", 1000],
    ["JPY", 2000],
  ]);
});
