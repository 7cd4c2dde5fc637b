// The tools show what happens to money after the price: credit notes, wallets, figures.

import { expect, test } from "vitest";
import type { Body, Json } from "../support/app.ts";
import type { Sandbox } from "../support/given.ts";
import { discount, grant, note, oneOff, stories, vat } from "../support/money.ts";

const { begin } = stories();

async function call(story: Sandbox, name: string, args: Body): Promise<Json> {
  const params = { name, arguments: args };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  return (await story.post("/v1/mcp", message)).result;
}

async function errorOf(story: Sandbox, name: string, args: Body): Promise<string> {
  const result = await call(story, name, args);
  expect(result.isError).toBe(true);
  return JSON.parse(result.content[0].text).error.code;
}

async function told() {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  const customer = await story.customer({ external_id: "acme" });
  await discount(story, customer, { percent: "10" });
  await grant(story, customer, 100);
  const invoice = await oneOff(story, customer, "1000");
  const made = await note(story, invoice, { 0: 100 });
  return { story, customer, invoice, made };
}

test("credit notes, by id and by number, are those of HTTP", async () => {
  const { story, customer, invoice, made } = await told();
  const url = `/v1/credit-notes/${made.id}`;
  for (const args of [{ id: made.id }, { number: made.number }]) {
    const result = await call(story, "get_credit_note", args);
    expect(result.structuredContent).toEqual(await story.get(url));
    expect(result.structuredContent.credit_note).toMatchObject({
      number: "CN-2026-0001",
      total_cents: 120,
      offset_cents: 120,
      lines: [{ fee_id: invoice.fees[0].id, amount_cents: 100 }],
    });
  }
  const other = await story.customer();
  const counts = [];
  for (const args of [{}, { invoice_id: invoice.id }, { customer_id: "ext:acme" }]) {
    const { structuredContent } = await call(story, "list_credit_notes", args);
    counts.push(structuredContent.credit_notes.length);
  }
  const none = await call(story, "list_credit_notes", { customer_id: other.id });
  expect([...counts, none.structuredContent.credit_notes.length]).toEqual([1, 1, 1, 0]);
  expect(customer.external_id).toBe("acme");
});

test("a wallet is read by the customer's id or external id", async () => {
  const { story, customer } = await told();
  await grant(story, customer, 70);
  for (const customer_id of [customer.id, "ext:acme"]) {
    const { structuredContent } = await call(story, "get_wallet", { customer_id });
    expect(structuredContent).toEqual(await story.get(`/v1/customers/${customer.id}/wallets`));
    expect(structuredContent.wallets).toMatchObject([{ currency: "USD", balance_cents: 70 }]);
  }
});

test("invoices have the figures of money", async () => {
  const { story, invoice } = await told();
  const figures = {
    subtotal_cents: 1000,
    discount_cents: 100,
    tax_cents: 180,
    total_cents: 1080,
    credit_applied_cents: 100,
    offset_cents: 120,
    amount_due_cents: 860,
  };
  const found = await call(story, "get_invoice", { number: invoice.number });
  expect(found.structuredContent.invoice).toMatchObject({
    ...figures,
    taxes: [{ code: "vat", percent: "20", taxable_cents: 900, tax_cents: 180 }],
    credits: [{ kind: "free", amount_cents: 100 }],
  });
  const { structuredContent } = await call(story, "list_invoices", {});
  expect(structuredContent.invoices).toMatchObject([figures]);
});

test("what is not there, and arguments that name nothing, fail in words", async () => {
  const { story, made } = await told();
  const unknown = "00000000-0000-7000-8000-000000000000";
  for (const [name, args, code] of [
    ["get_credit_note", { number: "CN-2026-0002" }, "not_found"],
    ["get_credit_note", { number: "INV-2026-0001" }, "not_found"],
    ["get_credit_note", { number: "nonsense" }, "not_found"],
    ["get_credit_note", { id: unknown }, "not_found"],
    ["get_credit_note", {}, "validation_error"],
    ["get_credit_note", { id: made.id, number: made.number }, "validation_error"],
    ["get_wallet", {}, "validation_error"],
    ["get_wallet", { customer_id: 7 }, "validation_error"],
    ["get_wallet", { customer_id: "ext:nobody" }, "not_found"],
  ] as const) {
    expect([name, args, await errorOf(story, name, args)]).toEqual([name, args, code]);
  }
});
