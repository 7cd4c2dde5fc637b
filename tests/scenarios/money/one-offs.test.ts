// One-off invoices: their lines, currencies, due dates and numbers, what may be changed on an
// invoice afterwards, and previews.

import { describe, expect, test } from "vitest";
import type { Body, Json } from "../../support/app.ts";
import type { Sandbox } from "../../support/given.ts";
import {
  applied,
  balanceOf,
  discount,
  discountsOf,
  figures,
  grant,
  inOrder,
  note,
  oneOff,
  outcome,
  paid,
  proposeOneOff,
  settings,
  standing,
  stories,
  taxesOf,
  told,
  vat,
} from "../../support/money.ts";

const { begin } = stories();

describe("lines", () => {
  test("M100 are quantity times price, each rounded once", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const item = await story.item({ name: "Desk", amount_cents: 4900 });
    const lines = [
      { name: "Hours", quantity: "2.50", unit_amount_cents: 1999 },
      { catalog_item_code: item.code, quantity: "3" },
      { name: "Gift", unit_amount_cents: 0 },
    ];
    const answer = await proposeOneOff(story, customer, lines);
    expect(outcome(answer)).toBe("201");
    const invoice = await story.invoice(answer.body.invoice.id);
    expect(figures(invoice)).toBe("subtotal 19698, total 19698, due 19698");
    expect(invoice).toMatchObject({
      invoice_type: "one_off",
      subscription_id: null,
      customer_id: customer.id,
      issuing_date: "2026-03-01",
      due_date: "2026-03-15",
      memo: "",
      po_number: "",
      period_start: "2026-03-01",
      period_end: "2026-03-01",
      metadata: {},
    });
    expect(
      invoice.fees.map(({ fee_type, units, amount_cents, properties }: Json) => [
        fee_type,
        properties.name,
        units,
        amount_cents,
      ]),
    ).toEqual([
      ["one_off", "Hours", "2.5", 4998],
      ["one_off", "Desk", "3", 14_700],
      ["one_off", "Gift", "1", 0],
    ]);
    expect(answer.body.invoice).toMatchObject({
      id: invoice.id,
      number: invoice.number,
      total_cents: 19_698,
      fees: invoice.fees,
    });
    const nothing = await oneOff(story, customer, "0");
    expect(nothing).toMatchObject({ total_cents: 0, status: "succeeded" });
  });

  // The name of the moment stays, and a line may call an item what it likes.
  test("M100 also: an item's name is kept, and a line's own wins", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const { code } = await story.item({ name: "Desk", amount_cents: 100 });
    const lines = [{ catalog_item_code: code }, { catalog_item_code: code, name: "Table" }];
    const invoice = await oneOff(story, customer, lines);
    await story.post("/v1/catalog", { code, name: "Renamed", amount_cents: 200 });
    const again = await story.invoice(invoice.id);
    expect(again.fees.map(({ properties }: Json) => properties.name)).toEqual(["Desk", "Table"]);
    expect(again.total_cents).toBe(200);
  });

  const LINE = { name: "Line", unit_amount_cents: 100 };
  const many = Array.from({ length: 101 }, () => LINE);

  test.each<[string, readonly Body[]]>([
    ["none", []],
    ["101", many],
    ["no price", [{ name: "Line" }]],
    ["two prices", [{ ...LINE, catalog_item_code: "desk" }]],
    ["no name", [{ unit_amount_cents: 100 }]],
    ["a price of −1", [{ ...LINE, unit_amount_cents: -1 }]],
    ["a price of 0.5", [{ ...LINE, unit_amount_cents: 0.5 }]],
    ['a quantity of "0"', [{ ...LINE, quantity: "0" }]],
    ['a quantity of "-1"', [{ ...LINE, quantity: "-1" }]],
    ["a quantity that is a number", [{ ...LINE, quantity: 2 }]],
    ['a quantity of "1e3"', [{ ...LINE, quantity: "1e3" }]],
  ])("M101 %s", async (_, lines) => {
    const story = await begin("2026-03-01");
    await story.item({ code: "desk", amount_cents: 1 });
    const customer = await story.customer();
    const answer = await proposeOneOff(story, customer, lines);
    expect(outcome(answer)).toBe("422 validation_error");
    expect(await story.invoices()).toEqual([]);
  });

  test("M101 an item that is not there, and one in another currency", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const { code } = await story.item({ amount_cents: 100, currency: "EUR" });
    const unknown = await proposeOneOff(story, customer, [{ catalog_item_code: "nobody" }]);
    expect(outcome(unknown)).toBe("404 not_found");
    const lines = [{ catalog_item_code: code }];
    const mixed = await proposeOneOff(story, customer, lines, { currency: "USD" });
    expect(outcome(mixed)).toBe("422 currency_mismatch");
    const euros = await oneOff(story, customer, lines);
    expect(euros).toMatchObject({ currency: "EUR", total_cents: 100 });
    expect(euros.number).toBe("INV-2026-0001");
  });

  // Two items of two currencies have none in common; a hundred lines are the most.
  test("M101 also: items of two currencies are refused, and 100 lines are not", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const euro = await story.item({ amount_cents: 100, currency: "EUR" });
    const dollar = await story.item({ amount_cents: 100 });
    const lines = [{ catalog_item_code: euro.code }, { catalog_item_code: dollar.code }];
    const mixed = await proposeOneOff(story, customer, lines);
    expect(outcome(mixed)).toBe("422 currency_mismatch");
    const most = await oneOff(story, customer, many.slice(1));
    expect(most.total_cents).toBe(10_000);
  });
});

test("M102 is due by its own days, the customer's or the project's", async () => {
  const story = await begin("2026-03-01");
  const slow = await story.customer({ net_payment_days: 30 });
  const plain = await story.customer();
  const due = async (customer: Json, fields: Body = {}) =>
    (await oneOff(story, customer, "100", fields)).due_date;
  expect(await due(slow)).toBe("2026-03-31");
  expect(await due(plain)).toBe("2026-03-15");
  expect(await due(slow, { net_payment_days: 0 })).toBe("2026-03-01");
  expect(await due(slow, { net_payment_days: 60 })).toBe("2026-04-30");
  const subscription = await story.subscribe({ customer: slow, amount_cents: 3100 });
  await story.travelTo("2026-04-01");
  const [period] = await inOrder(story, subscription);
  expect(period.due_date).toBe("2026-05-01");
  for (const net_payment_days of [-1, 366, 1.5]) {
    const url = `/v1/customers/${plain.id}`;
    const answer = await story.call("PATCH", url, { net_payment_days });
    expect(outcome(answer)).toBe("422 validation_error");
  }
});

test("M103 prefixes change, and the counters run on", async () => {
  const story = await begin("2026-03-01");
  const customer = await story.customer();
  const first = await oneOff(story, customer, "100");
  await settings(story, { invoice_prefix: "ACME", credit_note_prefix: "AC" });
  const second = await oneOff(story, customer, "100");
  const made = await note(story, second);
  await settings(story, { invoice_prefix: "INV" });
  const third = await oneOff(story, customer, "100");
  expect([first.number, second.number, made.number, third.number]).toEqual([
    "INV-2026-0001",
    "ACME-2026-0002",
    "AC-2026-0001",
    "INV-2026-0003",
  ]);
  for (const bad of ["", "acme", "A-B", "ABCDEFGHIJK", "ABCDEFGHI"]) {
    for (const field of ["invoice_prefix", "credit_note_prefix"]) {
      const answer = await story.call("PUT", "/v1/settings", { [field]: bad });
      expect([field, bad, outcome(answer)]).toEqual([field, bad, "422 validation_error"]);
    }
  }
  // Found by either of its words, whatever the prefix is by now.
  const { invoices } = await story.get("/v1/invoices?number=ACME-2026-0002");
  expect(invoices.map(({ id }: Json) => id)).toEqual([second.id]);
});

describe("a PATCH", () => {
  test("M110 changes nothing that counts", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "100", { memo: "First", po_number: "PO 1" });
    expect(invoice).toMatchObject({ memo: "First", po_number: "PO 1" });
    const url = `/v1/invoices/${invoice.id}`;
    const details = { memo: "Thanks", po_number: "PO 2", metadata: { job: "7" } };
    const answer = await story.call("PATCH", url, { ...details, total_cents: 1, status: "voided" });
    expect(outcome(answer)).toBe("200");
    expect(answer.body.invoice).toMatchObject(details);
    expect(await story.invoice(invoice.id)).toEqual({ ...invoice, ...details });
    expect(outcome(await story.call("PATCH", url, {}))).toBe("422 validation_error");
    expect(outcome(await story.call("PATCH", url, { status: "voided" }))).toBe(
      "422 validation_error",
    );
    const long = { memo: "x".repeat(2001) };
    expect(outcome(await story.call("PATCH", url, long))).toBe("422 validation_error");
    expect((await story.log("invoice.updated")).length).toBe(1);
  });

  const strings = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, `value ${i}`]));
  const places: readonly [string, (story: Sandbox) => Promise<string>, string][] = [
    [
      "an invoice",
      async (story) => `/v1/invoices/${(await oneOff(story, await story.customer(), "1")).id}`,
      "invoice",
    ],
    ["a customer", async (story) => `/v1/customers/${(await story.customer()).id}`, "customer"],
    [
      "a subscription",
      async (story) => `/v1/subscriptions/${(await story.subscribe()).id}`,
      "subscription",
    ],
  ];

  test.each(places)("M110 the metadata of %s", async (_, place, name) => {
    const story = await begin("2026-03-01");
    const url = await place(story);
    const kept = async () => (await story.get(url))[name].metadata;
    expect(await kept()).toEqual({});
    const fifty = { metadata: strings(50) };
    expect(outcome(await story.call("PATCH", url, fifty))).toBe("200");
    const refused = [strings(51), { a: 1 }, { a: {} }, { a: ["b"] }, { a: null }, ["b"], "b"];
    for (const metadata of refused) {
      const answer = await story.call("PATCH", url, { metadata });
      expect([metadata, outcome(answer)]).toEqual([metadata, "422 validation_error"]);
      expect(await kept()).toEqual(strings(50));
    }
    expect(outcome(await story.call("PATCH", url, { metadata: { one: "string" } }))).toBe("200");
    expect(await kept()).toEqual({ one: "string" });
  });
});

describe("a preview", () => {
  // 1000 less 10 % and 20 % on 900: 1080, of which the grant pays 50.
  test("M100 also: of the same body has every figure, and uses nothing up", async () => {
    const story = await begin("2026-03-01");
    await vat(story, "20");
    const customer = await story.customer();
    const once = await discount(story, customer, { percent: "10" });
    await grant(story, customer, 50);
    const sent = {
      customer_id: customer.id,
      lines: [{ name: "Line", unit_amount_cents: 500, quantity: "2" }],
      memo: "Soon",
    };
    const { invoice_preview } = await story.post("/v1/invoices/preview", sent);
    expect(await story.invoices()).toEqual([]);
    expect((await applied(story, once)).uses).toBe(0);
    expect(await balanceOf(story, customer)).toBe(50);
    const invoice = await story.invoice((await story.post("/v1/invoices", sent)).invoice.id);
    for (const each of [invoice_preview, invoice]) {
      expect(figures(each)).toBe(
        "subtotal 1000, discount 100, tax 180, total 1080, credit 50, due 1030",
      );
      expect(discountsOf(each)).toEqual([100]);
      expect(taxesOf(each)).toEqual(["vat 20 of 900: 180"]);
    }
  });

  test("M101 also: refuses what the invoice would", async () => {
    const story = await begin("2026-03-01");
    const { id: customer_id } = await story.customer();
    for (const [lines, expected] of [
      [[], "422 validation_error"],
      [[{ catalog_item_code: "nobody" }], "404 not_found"],
    ] as const) {
      const answer = await story.call("POST", "/v1/invoices/preview", { customer_id, lines });
      expect(outcome(answer)).toBe(expected);
    }
  });
});

test("M109 what is due is told at issue, and nothing where nothing is", async () => {
  const story = await begin("2026-03-01");
  const customer = await story.customer();
  await grant(story, customer, 1500);
  const first = await oneOff(story, customer, "1000");
  const second = await oneOff(story, customer, "1000");
  const top_up = await grant(story, customer, 300, { kind: "paid" });
  const messages = await told(story, "invoice.payment_due");
  expect(messages.map(({ invoice }) => [invoice.id, invoice.amount_due_cents])).toEqual([
    [second.id, 500],
    [top_up.invoice_id, 300],
  ]);
  expect(messages[0]?.customer).toMatchObject({ id: customer.id });
  const created = await told(story, "invoice.created");
  expect(created.map(({ invoice }) => figures(invoice))).toEqual([
    "subtotal 1000, total 1000, credit 1000",
    "subtotal 1000, total 1000, credit 500, due 500",
    "subtotal 300, total 300, due 300",
  ]);
  expect(created[0]?.invoice).toMatchObject({ id: first.id, coupons: [], taxes: [] });
  await paid(story, second, 500);
  expect(await standing(story, second)).toEqual([
    "subtotal 1000, total 1000, credit 500, paid 500",
    "succeeded, succeeded",
  ]);
});
