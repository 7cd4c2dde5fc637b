// How taxes are written, archived and named, customers that pay none, and the two parties that an
// invoice keeps for ever.

import { describe, expect, test } from "vitest";
import type { Body, Json } from "../../support/app.ts";
import { flatFee, type Sandbox } from "../../support/given.ts";
import {
  figures,
  inOrder,
  note,
  oneOff,
  outcome,
  settings,
  stories,
  tax,
  taxesOf,
  topUp,
  vat,
} from "../../support/money.ts";

const { begin } = stories();

describe("a customer without tax", () => {
  test.each([
    [{ tax_exemption: "reverse_charge", tax_id: "DE123456789" }, "Reverse charge"],
    [{ tax_exemption: "reverse_charge", tax_id: "DE123456789", tax_note: "Art. 196" }, "Art. 196"],
    [{ tax_exemption: "exempt" }, "Exempt from tax"],
  ])("M8 %j", async (fields, tax_note) => {
    const story = await begin("2026-01-01");
    await vat(story, "20");
    const customer = await story.customer(fields);
    const invoice = await oneOff(story, customer, "10000 [vat], 5000");
    expect(figures(invoice)).toBe("subtotal 15000, total 15000, due 15000");
    expect(invoice).toMatchObject({ taxes: [], tax_note });
    expect(invoice.fees.map((fee: Json) => fee.taxes)).toEqual([[], []]);
    expect(invoice.buyer.tax_exemption).toBe(fields.tax_exemption);
    const { invoice: top_up } = await topUp(story, customer, 100);
    expect(top_up.tax_note).toBe("");
  });

  test("M8 needs a tax id for a reverse charge, and keeps it", async () => {
    const story = await begin("2026-01-01");
    const reverse = { tax_exemption: "reverse_charge" };
    const sent = { external_id: "x", name: "X", ...reverse };
    for (const tax_id of ["", " ", "\u200b"]) {
      const answer = await story.call("POST", "/v1/customers", { ...sent, tax_id });
      expect([tax_id, outcome(answer)]).toEqual([tax_id, "422 validation_error"]);
    }
    const plain = await story.customer();
    const url = `/v1/customers/${plain.id}`;
    expect(outcome(await story.call("PATCH", url, reverse))).toBe("422 validation_error");
    const both = { ...reverse, tax_id: "DE123456789" };
    expect(outcome(await story.call("PATCH", url, both))).toBe("200");
    for (const tax_id of ["", "\u00a0"]) {
      expect(outcome(await story.call("PATCH", url, { tax_id }))).toBe("422 validation_error");
    }
    const { customer } = await story.get(url);
    expect(customer).toMatchObject(both);
    const gone = { tax_id: "", tax_exemption: null };
    expect(outcome(await story.call("PATCH", url, gone))).toBe("200");
    const unknown = { tax_exemption: "none" };
    expect(outcome(await story.call("PATCH", url, unknown))).toBe("422 validation_error");
  });

  // The note of the customer belongs to an exemption.
  test("M8 also: a tax_note without an exemption is not shown", async () => {
    const story = await begin("2026-01-01");
    await vat(story, "20");
    const customer = await story.customer({ tax_note: "Art. 196" });
    const invoice = await oneOff(story, customer, "100");
    expect(invoice).toMatchObject({ tax_note: "", tax_cents: 20 });
  });
});

describe("a tax that is archived", () => {
  const remove = (story: Sandbox, { id }: Json) => story.call("DELETE", `/v1/taxes/${id}`);

  test.each<[string, (story: Sandbox) => Promise<unknown>]>([
    ["a customer", (story) => story.customer({ tax_codes: ["vat"] })],
    ["the settings", (story) => settings(story, { tax_codes: ["vat"] })],
    ["a live plan", (story) => story.plan({ tax_codes: ["vat"] })],
    [
      "a live charge",
      (story) =>
        story.plan({ charges: [flatFee({ amount_override_cents: 1, tax_codes: ["vat"] })] }),
    ],
    ["an add-on", (story) => story.addOn({ amount_cents: 1, tax_codes: ["vat"] })],
  ])("M12 is named by %s", async (_, name) => {
    const story = await begin("2026-01-01");
    const made = await tax(story, "vat", "20");
    await name(story);
    expect(outcome(await remove(story, made))).toBe("422 has_dependencies");
    const { tax: kept } = await story.get("/v1/taxes?code=vat");
    expect(kept).toEqual(made);
  });

  test("M12 is named by nobody, unknown from then on, and revived by an upsert", async () => {
    const story = await begin("2026-01-01");
    const made = await tax(story, "vat", "20");
    const customer = await story.customer({ tax_codes: ["vat"] });
    const url = `/v1/customers/${customer.id}`;
    await story.patch(url, { tax_codes: [] });
    expect(outcome(await remove(story, made))).toBe("204");
    expect(outcome(await story.call("PATCH", url, { tax_codes: ["vat"] }))).toBe("404 not_found");
    const again = await story.call("POST", "/v1/taxes", { code: "vat", name: "V", percent: "7" });
    expect(outcome(again)).toBe("200");
    expect(again.body.tax).toMatchObject({ id: made.id, percent: "7", archived_at: null });
    expect((await story.patch(url, { tax_codes: ["vat"] })).customer.tax_codes).toEqual(["vat"]);
  });

  // January's price list names it and goes on; only a live plan hinders the archive.
  test("M12 also: older price lists that name it go on with it", async () => {
    const story = await begin("2026-01-01");
    const made = await tax(story, "vat", "20");
    const plan = await story.plan({ amount_cents: 1000, tax_codes: ["vat"] });
    await story.subscribe({ plan });
    await story.travelTo("2026-01-10");
    await story.patch(`/v1/plans/${plan.id}`, { tax_codes: [] });
    expect(outcome(await remove(story, made))).toBe("204");
    await story.travelTo("2026-03-01");
    const invoices = await story.invoices();
    expect(invoices.map(taxesOf)).toEqual([["vat 20 of 1000: 200"], []]);
  });

  test("M12 also: every act on a tax is logged", async () => {
    const story = await begin("2026-01-01");
    const made = await tax(story, "vat", "20");
    await tax(story, "vat", "10");
    await remove(story, made);
    for (const type of ["tax.created", "tax.updated", "tax.archived"]) {
      const logged = await story.log(type);
      expect([type, logged.map(({ resource_id }) => resource_id)]).toEqual([type, [made.id]]);
    }
  });
});

const PARIS = {
  address: "1 rue A",
  city: "Paris",
  postal_code: "75001",
  region: "Île-de-France",
  country: "FR",
};
const BERLIN = {
  address: "Hof 2\nHaus 3",
  city: "Berlin",
  postal_code: "10115",
  region: "BE",
  country: "DE",
};

test("M13 an invoice keeps both parties as they were, in all parts of the address", async () => {
  const story = await begin("2026-01-01");
  await settings(story, { name: "Example", ...PARIS, tax_id: "FR00111222333" });
  const fields = { external_id: "acme", name: "Acme", email: "pay@acme.test" };
  const customer = await story.customer({ ...fields, ...BERLIN, tax_id: "DE123456789" });
  expect(customer).toMatchObject({ ...BERLIN, tax_id: "DE123456789", tax_note: "" });
  const seller = { name: "Example", ...PARIS, tax_id: "FR00111222333" };
  const person = { name: "Acme", email: "pay@acme.test", external_id: "acme" };
  const buyer = { ...person, ...BERLIN, tax_id: "DE123456789", tax_exemption: null };
  const first = await oneOff(story, customer, "100");
  expect(first).toMatchObject({ seller, buyer });
  await settings(story, { name: "Renamed", ...BERLIN, tax_id: "DE1" });
  const moved = { name: "Other", email: "new@acme.test", ...PARIS, tax_id: "FR1" };
  await story.patch(`/v1/customers/${customer.id}`, moved);
  const second = await oneOff(story, customer, "100");
  expect(second.seller).toEqual({ name: "Renamed", ...BERLIN, tax_id: "DE1" });
  expect(second.buyer).toEqual({ external_id: "acme", ...moved, tax_exemption: null });
  const again = await story.invoice(first.id);
  expect([again.seller, again.buyer]).toEqual([seller, buyer]);
  // A credit note has the parties of its invoice, not those of its own day.
  const made = await note(story, first);
  expect([made.seller, made.buyer]).toEqual([seller, buyer]);
});

test("M13 also: the new fields are empty until they are set", async () => {
  const story = await begin("2026-01-01");
  const blank = { address: "", city: "", postal_code: "", region: "", country: "" };
  const customer = await story.customer();
  expect(customer).toMatchObject({
    ...blank,
    tax_id: "",
    tax_note: "",
    metadata: {},
    tax_exemption: null,
    tax_codes: null,
    net_payment_days: null,
  });
  const { settings: ours } = await story.get("/v1/settings");
  expect(ours).toMatchObject({ ...blank, footer: "", payment_url: "", tax_codes: null });
  expect(ours).toMatchObject({ invoice_prefix: "INV", credit_note_prefix: "CN" });
  for (const country of ["FRA", "F", "1A", "UK", "EL", "EU", "ZZ", "XX"]) {
    const answer = await story.call("PUT", "/v1/settings", { country });
    expect([country, outcome(answer)]).toEqual([country, "422 validation_error"]);
    const url = `/v1/customers/${customer.id}`;
    expect(outcome(await story.call("PATCH", url, { country }))).toBe("422 validation_error");
  }
});

describe("how a tax is written", () => {
  const propose = (story: Sandbox, code: string, percent: unknown) =>
    story.call("POST", "/v1/taxes", { code, name: "Tax", percent });

  test("M14 percents", async () => {
    const story = await begin("2026-01-01");
    for (const bad of ["20.00001", "101", "100.0001", "-1", "", "abc", "1e1", 20, null]) {
      const answer = await propose(story, "bad", bad);
      expect([bad, outcome(answer)]).toEqual([bad, "422 validation_error"]);
    }
    expect((await story.get("/v1/taxes")).taxes).toEqual([]);
    const shown: unknown[] = [];
    for (const [i, good] of ["0", "100", "8.875", "9.9750"].entries()) {
      const answer = await propose(story, `good-${i}`, good);
      shown.push([outcome(answer), answer.body.tax.percent]);
    }
    expect(shown).toEqual([
      ["201", "0"],
      ["201", "100"],
      ["201", "8.875"],
      ["201", "9.975"],
    ]);
    const { taxes } = await story.get("/v1/taxes?all=1");
    expect(taxes).toHaveLength(4);
    const { tax: one } = await story.get(`/v1/taxes/${taxes[0].id}`);
    expect(one).toEqual(taxes[0]);
    expect(one).toMatchObject({ description: null, archived_at: null });
  });

  test("M14 lists of codes", async () => {
    const story = await begin("2026-01-01");
    const codes = ["k1", "k2", "k3", "k4", "k5", "k6"];
    for (const [i, code] of codes.entries()) await tax(story, code, String(i + 1));
    const customer = await story.customer();
    const plan = await story.plan();
    const refusals: [unknown, string][] = [
      [["nobody"], "404 not_found"],
      [["k1", "k1"], "422 validation_error"],
      [codes, "422 validation_error"],
    ];
    const targets: [string, string, (tax_codes: unknown) => Body][] = [
      ["PUT", "/v1/settings", (tax_codes) => ({ tax_codes })],
      ["PATCH", `/v1/customers/${customer.id}`, (tax_codes) => ({ tax_codes })],
      ["PATCH", `/v1/plans/${plan.id}`, (tax_codes) => ({ tax_codes })],
      ["POST", "/v1/addons", (tax_codes) => ({ code: "a", name: "A", amount_cents: 1, tax_codes })],
      [
        "POST",
        "/v1/invoices",
        (tax_codes) => ({
          customer_id: customer.id,
          lines: [{ name: "L", unit_amount_cents: 1, tax_codes }],
        }),
      ],
    ];
    for (const [tax_codes, expected] of refusals) {
      for (const [method, url, body] of targets) {
        const answer = await story.call(method, url, body(tax_codes));
        expect([method, url, outcome(answer)]).toEqual([method, url, expected]);
      }
    }
    const invoice = await oneOff(story, customer, "1000 [k5 k3 k1 k2 k4]");
    expect(invoice.tax_cents).toBe(150);
    expect(taxesOf(invoice)).toEqual([1, 2, 3, 4, 5].map((n) => `k${n} ${n} of 1000: ${n * 10}`));
  });

  test("M14 also: a charge that names an unknown tax is refused with its plan", async () => {
    const story = await begin("2026-01-01");
    const terms = { code: "p", name: "P", interval: "monthly", amount_currency: "USD" };
    const charges = [flatFee({ amount_override_cents: 1, tax_codes: ["nobody"] })];
    const answer = await story.call("POST", "/v1/plans", { ...terms, charges });
    expect(outcome(answer)).toBe("404 not_found");
    expect((await story.get("/v1/plans")).plans).toEqual([]);
  });

  // 8.875 % of 12345 is 1095.61875; two taxes of one base do not see one another.
  test("M14 also: four decimals count, and taxes do not compound", async () => {
    const story = await begin("2026-01-01");
    await tax(story, "state", "8.875");
    await tax(story, "city", "4.4567");
    await settings(story, { tax_codes: ["state", "city"] });
    const invoice = await oneOff(story, await story.customer(), "12345");
    // 4.4567 % of 12345 is 550.179615.
    expect(taxesOf(invoice)).toEqual(["city 4.4567 of 12345: 550", "state 8.875 of 12345: 1096"]);
    expect((await inOrder(story)).map(figures)).toEqual([
      "subtotal 12345, tax 1646, total 13991, due 13991",
    ]);
  });
});
