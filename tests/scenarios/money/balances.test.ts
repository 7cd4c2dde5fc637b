// What a wallet has left after what is running, low balances, top-ups by themselves, and grants
// that are taken back.

import { describe, expect, test } from "vitest";
import { checkSecretKey } from "../../../src/service/open-store.ts";
import { sql } from "../../../src/store/db/sql.ts";
import type { Json } from "../../support/app.ts";
import { perUnit } from "../../support/given.ts";
import {
  balanceOf,
  figures,
  grant,
  grantState,
  grantsOf,
  inOrder,
  ledgerOf,
  note,
  oneOff,
  outcome,
  paid,
  stories,
  told,
  topUp,
  vat,
  voidInvoice,
  walletOf,
  watch,
} from "../../support/money.ts";

const { app, begin } = stories();

test("M79 a low balance is told once, and again only after it was not low", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  await grant(story, customer, 5000);
  const set = await watch(story, customer, { low_balance_cents: 2000 });
  expect(set).toEqual({
    customer_id: customer.id,
    currency: "USD",
    balance_cents: 5000,
    running_cents: 0,
    available_cents: 5000,
    low_balance_cents: 2000,
    top_up_cents: null,
  });
  const warned = async () =>
    (await told(story, "wallet.balance_low")).map(({ wallet }) => wallet.available_cents);
  await oneOff(story, customer, "3000");
  expect(await warned()).toEqual([]);
  await oneOff(story, customer, "1");
  expect(await warned()).toEqual([1999]);
  await oneOff(story, customer, "500");
  expect(await warned()).toEqual([1999]);
  await grant(story, customer, 501);
  expect(await balanceOf(story, customer)).toBe(2000);
  await oneOff(story, customer, "1");
  expect(await warned()).toEqual([1999, 1999]);
  const [message] = await told(story, "wallet.balance_low");
  expect(message).toMatchObject({
    wallet: { customer_id: customer.id, currency: "USD", low_balance_cents: 2000 },
    customer: { id: customer.id, external_id: customer.external_id },
  });
});

test("M80 usage with its tax runs down what is available, before it is billed", async () => {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  const metric = await story.metric();
  const customer = await story.customer();
  await grant(story, customer, 10_000);
  await watch(story, customer, { low_balance_cents: 5000 });
  const subscription = await story.subscribe({ customer, charges: [perUnit(metric, "0.10")] });
  await story.use(subscription, metric, "400");
  await story.travelTo("2026-01-10");
  expect(await walletOf(story, customer)).toMatchObject({
    balance_cents: 10_000,
    running_cents: 4800,
    available_cents: 5200,
  });
  expect(await told(story, "wallet.balance_low")).toEqual([]);
  await story.use(subscription, metric, "20");
  await story.travelTo("2026-01-11");
  expect(await walletOf(story, customer)).toMatchObject({
    balance_cents: 10_000,
    running_cents: 5040,
    available_cents: 4960,
  });
  await story.travelTo("2026-02-01");
  const [invoice] = await inOrder(story, subscription);
  expect(figures(invoice)).toBe("subtotal 4200, tax 840, total 5040, credit 5040");
  expect(await walletOf(story, customer)).toMatchObject({
    balance_cents: 4960,
    running_cents: 0,
    available_cents: 4960,
  });
  const messages = await told(story, "wallet.balance_low");
  expect(messages.map(({ wallet }) => wallet.available_cents)).toEqual([4960]);
});

test.each([
  ["of a metric with dimensions", { dimensions: ["model"] }, []],
  ["that happened before what was looked at", {}, ["2026-01-06T10:00"]],
])("usage %s runs down what is available", async (_which, fields, looked) => {
  const story = await begin("2026-01-05");
  const metric = await story.metric("sum", fields);
  const customer = await story.customer();
  await grant(story, customer, 5000);
  await watch(story, customer, { low_balance_cents: 2000, top_up_cents: 10_000 });
  const subscription = await story.subscribe({ customer, charges: [perUnit(metric, "1")] });
  await story.travelTo("2026-01-06T23:00");
  for (const at of looked) await story.use(subscription, metric, "1", at);
  await story.travelTo("2026-01-07");
  const event = story.usage(subscription, metric, "49", "2026-01-06T09:00");
  await story.post("/v1/events", { ...event, properties: { model: "large" } });
  await story.travelTo("2026-01-08");
  expect(await told(story, "wallet.balance_low")).toHaveLength(1);
  const bought = (await grantsOf(story, customer)).filter(({ kind }) => kind === "paid");
  expect(bought).toMatchObject([{ status: "pending", amount_cents: 10_000 }]);
});

test("while a restored service is held a payment is taken, and the top-up follows later", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  await watch(story, customer, { low_balance_cents: 1000, top_up_cents: 500 });
  const bought = async () =>
    (await grantsOf(story, customer)).filter(({ kind }) => kind === "paid");
  const [first] = await bought();
  const { db, secret_key } = app().context;
  await checkSecretKey(db, secret_key, new Date());
  await db.run(sql`update installation set held_since = statement_timestamp()`);
  await paid(story, await story.invoice(first?.invoice_id), 500);
  expect(await bought()).toMatchObject([{ status: "active" }]);
  await db.run(sql`update installation set held_since = null`);
  await story.travelTo("2026-01-02");
  expect(await bought()).toMatchObject([{ status: "active" }, { status: "pending" }]);
});

test("M81 a low balance tops itself up, one top-up at a time", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  await grant(story, customer, 3000);
  await watch(story, customer, { low_balance_cents: 1000, top_up_cents: 5000 });
  const bought = async () =>
    (await grantsOf(story, customer)).filter(({ kind }) => kind === "paid");
  await oneOff(story, customer, "2500");
  expect(await bought()).toMatchObject([{ status: "pending", amount_cents: 5000 }]);
  await oneOff(story, customer, "100");
  expect(await bought()).toHaveLength(1);
  const [first] = await bought();
  await paid(story, await story.invoice(first?.invoice_id), 5000);
  expect(await balanceOf(story, customer)).toBe(5400);
  expect(await bought()).toMatchObject([{ status: "active" }]);
  await oneOff(story, customer, "4800");
  expect(await bought()).toMatchObject([{ status: "active" }, { status: "pending" }]);
  expect(await balanceOf(story, customer)).toBe(600);
});

test("M81 also: a voided top-up makes room for another, at once", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  await grant(story, customer, 1500);
  await watch(story, customer, { low_balance_cents: 1000, top_up_cents: 5000 });
  await oneOff(story, customer, "1000");
  const states = async () =>
    (await grantsOf(story, customer))
      .filter(({ kind }) => kind === "paid")
      .map(({ status }) => status);
  expect(await states()).toEqual(["pending"]);
  const [, pending] = await grantsOf(story, customer);
  await voidInvoice(story, await story.invoice(pending?.invoice_id));
  expect(await states()).toEqual(["voided", "pending"]);
  await oneOff(story, customer, "100");
  expect(await states()).toEqual(["voided", "pending"]);
});

describe("a setting", () => {
  test("M79 also: is looked at when it is set", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await grant(story, customer, 500);
    await watch(story, customer, { low_balance_cents: 500, top_up_cents: 900 });
    expect(await told(story, "wallet.balance_low")).toEqual([]);
    // Left out means as it is, null means off.
    await watch(story, customer, { low_balance_cents: 501 });
    await story.travelTo("2026-01-01T00:02");
    await oneOff(story, customer, "1", { currency: "EUR" });
    const messages = await told(story, "wallet.balance_low");
    expect(messages.map(({ wallet }) => wallet.available_cents)).toEqual([500]);
    const [, bought] = await grantsOf(story, customer);
    expect(bought).toMatchObject({ kind: "paid", amount_cents: 900, status: "pending" });
    const off = await watch(story, customer, { low_balance_cents: null });
    expect(off).toMatchObject({ low_balance_cents: null, top_up_cents: 900 });
    expect((await story.log("wallet.updated")).length).toBe(3);
  });

  test("M79 also: shows a currency without an entry, and refuses nonsense", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const url = `/v1/customers/${customer.id}/wallets`;
    expect((await story.get(url)).wallets).toEqual([]);
    await watch(story, customer, { low_balance_cents: 0 }, "EUR");
    expect((await story.get(url)).wallets).toMatchObject([
      { currency: "EUR", balance_cents: 0, available_cents: 0, low_balance_cents: 0 },
    ]);
    for (const body of [
      { low_balance_cents: -1 },
      { low_balance_cents: 1.5 },
      { top_up_cents: 0 },
      { top_up_cents: "5" },
    ]) {
      const answer = await story.call("PUT", `${url}/EUR`, body);
      expect([body, outcome(answer)]).toEqual([body, "422 validation_error"]);
    }
  });
});

describe("taken back", () => {
  test("M82 what is left of a free grant", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const free = await grant(story, customer, 1000);
    await oneOff(story, customer, "400");
    const url = `/v1/grants/${free.id}/revoke`;
    const revoked = await story.call("POST", url);
    expect(outcome(revoked)).toBe("200");
    expect(await grantState(story, free)).toBe("revoked 0 of 1000");
    expect(await ledgerOf(story, customer)).toEqual([
      "free 1000 → 1000",
      "applied -400 → 600",
      "revoked -600 → 0",
    ]);
    expect(outcome(await story.call("POST", url))).toBe("422 grant_not_active");
    expect((await story.log("grant.revoked")).length).toBe(1);
  });

  test("M82 no pending one, and no paid one", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const { grant: bought, invoice } = await topUp(story, customer, 500);
    const url = `/v1/grants/${bought.id}/revoke`;
    expect(outcome(await story.call("POST", url))).toBe("422 grant_not_active");
    await paid(story, invoice, 500);
    expect(outcome(await story.call("POST", url))).toBe("422 wrong_invoice_type");
    expect(await grantState(story, bought)).toBe("active 500 of 500");
  });

  test("M82 also: a used-up one is not active, and lives again after a void", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const free = await grant(story, customer, 300);
    const invoice = await oneOff(story, customer, "500");
    expect(await grantState(story, free)).toBe("used_up 0 of 300");
    const revoke = () => story.call("POST", `/v1/grants/${free.id}/revoke`);
    expect(outcome(await revoke())).toBe("422 grant_not_active");
    await voidInvoice(story, invoice);
    expect(await grantState(story, free)).toBe("active 300 of 300");
    expect(outcome(await revoke())).toBe("200");
    expect(await balanceOf(story, customer)).toBe(0);
  });

  // Whatever the service gave as credit can be taken back too, but for what was paid.
  test("M82 also: credit of a note", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "500");
    await paid(story, invoice, 500);
    await note(story, invoice);
    const [given] = await grantsOf(story, customer);
    expect(outcome(await story.call("POST", `/v1/grants/${given?.id}/revoke`))).toBe("200");
    expect(await ledgerOf(story, customer)).toEqual(["credit_note 500 → 500", "revoked -500 → 0"]);
  });
});

test("M91 what is running is each live subscription's period at its end", async () => {
  const story = await begin("2026-01-01");
  const metric = await story.metric();
  const customer = await story.customer();
  await grant(story, customer, 10_000);
  const terms = { amount_cents: 3100, base_timing: "advance", charges: [perUnit(metric, "1")] };
  const first = await story.subscribe({ customer, ...terms });
  const shown = async () => {
    const { balance_cents, running_cents, available_cents } = await walletOf(story, customer);
    expect(balance_cents - running_cents).toBe(available_cents);
    return [running_cents, available_cents];
  };
  expect(await shown()).toEqual([0, 6900]);
  await story.travelTo("2026-01-10");
  await story.use(first, metric, "2");
  expect(await shown()).toEqual([200, 6700]);
  await story.subscribe({ customer, amount_cents: 3100 });
  expect(await shown()).toEqual([2400, 4500]);
  await story.travelTo("2026-02-01");
  expect(await balanceOf(story, customer)).toBe(1400);
  expect(await shown()).toEqual([3100, -1700]);
});

test("M85 also: the ledger has all currencies, unless one is named", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  for (const [day, currency] of [
    ["2026-01-02", "EUR"],
    ["2026-01-03", "USD"],
    ["2026-01-04", "EUR"],
  ] as const) {
    await story.travelTo(day);
    await grant(story, customer, 100, { currency });
  }
  const listed = async (query: string) => {
    const entries: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const at: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page: Json = await story.get(
        `/v1/customers/${customer.id}/ledger?limit=2${query}${at}`,
      );
      entries.push(...page.entries.map((one: Json) => `${one.currency} ${one.balance_cents}`));
      cursor = page.cursor;
    }
    return entries;
  };
  expect(await listed("")).toEqual(["EUR 200", "USD 100", "EUR 100"]);
  expect(await listed("&currency=EUR")).toEqual(["EUR 200", "EUR 100"]);
  expect(await listed("&currency=USD")).toEqual(["USD 100"]);
});
