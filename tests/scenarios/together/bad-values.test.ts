// What is refused: modes that are none, previews of nobody's next invoice, credit notes of what is
// not on the invoice. A refused call changes nothing.

import { describe, expect, test } from "vitest";
import { credit, outcome, stories } from "../../support/money.ts";
import { expectFault } from "../../support/pricing.ts";
import { nextOf, subscribe, together } from "../../support/together.ts";

const { begin } = stories();

async function from() {
  const made = await together(await begin("2026-01-01"), "customer");
  return { ...made, made };
}

describe("a mode", () => {
  test.each([
    { value: "account", code: "enum" },
    { value: "", code: "enum" },
    { value: "Customer", code: "enum" },
    { value: null, code: "type" },
    { value: 7, code: undefined },
    { value: true, code: undefined },
    { value: [], code: undefined },
  ])("G51 $value is none of the settings", async ({ value, code }) => {
    const { story } = await from();
    const before = await story.get("/v1/settings");
    const sent = { invoice_grouping: value, footer: "Never written." };
    expectFault(await story.call("PUT", "/v1/settings", sent), "invoice_grouping", code);
    expect(await story.get("/v1/settings")).toEqual(before);
  });

  test("G51 of a customer is one of three, or null for that of the settings", async () => {
    const { story, c } = await from();
    expect(c.invoice_grouping).toBe(null);
    const url = `/v1/customers/${c.id}`;
    const bad = { invoice_grouping: "all", name: "Never written" };
    expectFault(await story.call("PATCH", url, bad), "invoice_grouping", "enum");
    const made = { external_id: "new", ...bad };
    expectFault(await story.call("POST", "/v1/customers", made), "invoice_grouping", "enum");
    expect((await story.get(url)).customer).toEqual(c);
    expect((await story.get("/v1/customers?all=1")).customers).toHaveLength(1);
    for (const invoice_grouping of ["separate", "subscription", "customer", null]) {
      const { customer } = await story.patch(url, { invoice_grouping });
      expect(customer.invoice_grouping).toBe(invoice_grouping);
    }
  });
});

describe("a preview of what is next", () => {
  test("G52 is of a customer with a live subscription, and of nothing else", async () => {
    const { story, c, made } = await from();
    const preview = (body: object) => story.call("POST", "/v1/invoices/preview", body);
    await subscribe(made, "a", { amount_cents: 500 });
    const lines = [{ name: "Line", unit_amount_cents: 100 }];
    expectFault(await preview(nextOf(c, { at: "never" })), "at", "enum");
    expectFault(await preview(nextOf(c, { lines })), "at", "unsupported");
    const idle = await story.customer();
    expect(outcome(await preview(nextOf(idle)))).toBe("404 not_found");
    const unknown = { id: "00000000-0000-4000-8000-000000000000" };
    expect(outcome(await preview(nextOf(unknown)))).toBe("404 not_found");
    const ended = await story.customer();
    await story.terminate(await story.subscribe({ customer: ended }));
    expect(outcome(await preview(nextOf(ended)))).toBe("404 not_found");
    expect(outcome(await preview(nextOf(c)))).toBe("200");
  });
});

describe("a credit note of a subscription", () => {
  test("G53 is of one that is on the invoice, without lines beside it, once", async () => {
    const { story, c, made } = await from();
    const a = await subscribe(made, "a", { amount_cents: 500 });
    await subscribe(made, "b", { amount_cents: 700 });
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    const later = await story.subscribe({ customer: c });
    const of = { subscription_id: a.id };
    expectFault(await credit(story, invoice, { 0: 100 }, of), "lines", "unsupported");
    const other = await credit(story, invoice, undefined, { subscription_id: later.id });
    expect(outcome(other)).toBe("404 not_found");
    expect((await story.get("/v1/credit-notes?all=1")).credit_notes).toEqual([]);
    expect(outcome(await credit(story, invoice, undefined, of))).toBe("201");
    const again = await credit(story, invoice, undefined, of);
    expect(outcome(again)).toBe("422 amount_exceeds_creditable");
  });
});
