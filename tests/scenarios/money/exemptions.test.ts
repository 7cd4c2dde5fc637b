// Lines of a time when the customer paid no tax, on invoices of later: their category and reason,
// in words and in the e-invoice.

import { expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { fees, perUnit, type Sandbox } from "../../support/given.ts";
import {
  figures,
  inOrder,
  note,
  oneOff,
  outcome,
  settings,
  stories,
  vat,
} from "../../support/money.ts";
import { at, brokenArithmetic, readXml, texts } from "../../support/ubl.ts";

const { begin } = stories();

const SELLER = { name: "Example SARL", city: "Paris", country: "FR", tax_id: "FR00111222333" };
const BUYER = { name: "Acme GmbH", city: "Berlin", country: "DE", tax_id: "DE123456789" };

/** Category, percent, base, tax and reason of each. */
async function categories(story: Sandbox, path: string): Promise<string[]> {
  const answer = await story.call("GET", `${path}/document.xml`);
  expect([answer.status, answer.body?.error]).toEqual([200, undefined]);
  const root = readXml(answer.body);
  expect(brokenArithmetic(root)).toEqual([]);
  return at(root, "TaxTotal/TaxSubtotal").map((each) =>
    [
      ...texts(each, "TaxCategory/ID"),
      ...texts(each, "TaxCategory/Percent"),
      ...texts(each, "TaxableAmount"),
      ...texts(each, "TaxAmount"),
      ...texts(each, "TaxCategory/TaxExemptionReason"),
    ].join(" "),
  );
}

async function seller(withTax = true): Promise<Sandbox> {
  const story = await begin("2026-01-01");
  await settings(story, SELLER);
  if (withTax) await vat(story, "20");
  return story;
}

/** A base of 10.00 and usage at 0.10; January was billed without tax, February has a late event. */
async function lateUsage(
  exemption: object,
  since: object,
): Promise<{ story: Sandbox; february: Json }> {
  const story = await seller();
  const metric = await story.metric();
  const customer = await story.customer({ ...BUYER, ...exemption });
  const charges = [perUnit(metric, "0.10")];
  const subscription = await story.subscribe({ customer, amount_cents: 1000, charges });
  await story.use(subscription, metric, "100");
  await story.travelTo("2026-02-03");
  await story.use(subscription, metric, "50", "2026-01-20");
  await story.patch(`/v1/customers/${customer.id}`, since);
  await story.travelTo("2026-03-01");
  const [, february] = await inOrder(story, subscription);
  return { story, february };
}

test.each([
  [
    { tax_exemption: "reverse_charge" },
    { tax_exemption: null },
    "Reverse charge",
    ["S 20 10.00 2.00", "AE 0 5.00 0.00 Reverse charge"],
  ],
  [
    { tax_exemption: "exempt", tax_note: "Art. 132" },
    { tax_exemption: null, tax_note: "" },
    "Art. 132",
    ["S 20 10.00 2.00", "E 0 5.00 0.00 Art. 132"],
  ],
  [
    { tax_exemption: "exempt", tax_note: "Art. 132" },
    { tax_exemption: "exempt", tax_note: "Art. 133" },
    "Art. 133; Art. 132",
    ["E 0 15.00 0.00 Art. 133; Art. 132"],
  ],
  [
    { tax_exemption: "exempt", tax_note: "Art. 132" },
    { tax_exemption: "reverse_charge", tax_note: "" },
    "Reverse charge; Art. 132",
    ["AE 0 10.00 0.00 Reverse charge", "E 0 5.00 0.00 Art. 132"],
  ],
])("M10 also: late lines of %j stay so after %j", async (exemption, since, tax_note, wanted) => {
  const { story, february } = await lateUsage(exemption, since);
  const [adjustment] = fees(february, "adjustment");
  expect(adjustment).toMatchObject({ amount_cents: 500, taxes: [] });
  expect(february.tax_note).toBe(tax_note);
  expect(await categories(story, `/v1/invoices/${february.id}`)).toEqual(wanted);
});

test("M10 also: a late line of a taxed time is taxed also when the customer pays none", async () => {
  const { story, february } = await lateUsage({}, { tax_exemption: "reverse_charge" });
  expect(fees(february, "adjustment")[0]?.taxes).toMatchObject([{ code: "vat", percent: "20" }]);
  expect(figures(february)).toBe("subtotal 1500, tax 100, total 1600, due 1600");
  expect(february.tax_note).toBe("Reverse charge");
  expect(await categories(story, `/v1/invoices/${february.id}`)).toEqual([
    "AE 0 10.00 0.00 Reverse charge",
    "S 20 5.00 1.00",
  ]);
});

test("M10 also: a customer that was never exempt has neither category nor reason", async () => {
  const { story, february } = await lateUsage({}, { name: "Acme AG" });
  expect(february.tax_note).toBe("");
  expect(await categories(story, `/v1/invoices/${february.id}`)).toEqual(["S 20 15.00 3.00"]);
});

test("M10 also: also where the project had no taxes then, and on a note of the line", async () => {
  const story = await seller(false);
  const metric = await story.metric();
  const customer = await story.customer({ ...BUYER, tax_exemption: "reverse_charge" });
  const subscription = await story.subscribe({ customer, charges: [perUnit(metric, "0.10")] });
  await story.travelTo("2026-02-03");
  await vat(story, "20");
  await story.patch(`/v1/customers/${customer.id}`, { tax_exemption: null });
  await story.use(subscription, metric, "50", "2026-01-20");
  await story.use(subscription, metric, "100");
  await story.travelTo("2026-03-01");
  const invoice = (await inOrder(story, subscription)).at(-1) as Json;
  expect(figures(invoice)).toBe("subtotal 1500, tax 200, total 1700, due 1700");
  const late = invoice.fees.findIndex((fee: Json) => fee.fee_type === "adjustment");
  const made = await note(story, invoice, { [late]: 500 });
  expect(await categories(story, `/v1/credit-notes/${made.id}`)).toEqual([
    "AE 0 5.00 0.00 Reverse charge",
  ]);
});

test("M10 also: days given back of a base that had no tax have none", async () => {
  const story = await seller();
  const metric = await story.metric();
  const customer = await story.customer({ ...BUYER, tax_exemption: "exempt" });
  const plan = { customer, amount_cents: 3100, base_timing: "advance" };
  const charges = [perUnit(metric, "1")];
  const subscription = await story.subscribe({ ...plan, charges });
  await story.patch(`/v1/customers/${customer.id}`, { tax_exemption: null });
  await story.travelTo("2026-01-10T12:00");
  await story.use(subscription, metric, "5000");
  await story.terminate(subscription);
  const last = (await inOrder(story, subscription)).at(-1) as Json;
  const [given] = fees(last, "adjustment");
  expect(given).toMatchObject({ amount_cents: -2100, taxes: [] });
  expect(last.tax_note).toBe("Exempt from tax");
  const answer = await story.call("GET", `/v1/invoices/${last.id}/document.xml`);
  expect(answer.status).toBe(200);
  expect(texts(readXml(answer.body), "TaxTotal/TaxSubtotal/TaxCategory/ID").sort()).toEqual([
    "E",
    "S",
  ]);
});

test("M10 also: a customer without codes gives no reason, and has no e-invoice", async () => {
  const story = await seller();
  const invoice = await oneOff(story, await story.customer(BUYER), "500 []");
  expect(invoice.tax_note).toBe("");
  const answer = await story.call("GET", `/v1/invoices/${invoice.id}/document.xml`);
  expect(outcome(answer)).toBe("422 document_incomplete");
});
