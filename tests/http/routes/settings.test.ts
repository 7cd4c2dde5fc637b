// A project's settings: read, changed, checked, logged, and obeyed by what is billed after.

import { afterAll, beforeAll, expect, test } from "vitest";
import { NEW_SETTINGS } from "../../../src/schema/settings.ts";
import { apiServer } from "../../../src/service/api-server.ts";
import { App, startApp } from "../../support/app.ts";
import { newProject } from "../../support/client.ts";
import { sandbox } from "../../support/given.ts";
import { expectError } from "../../support/shapes.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test("a new project has its own name and the usual terms", async () => {
  const project = await sandbox(app, "2025-01-10");
  const { settings } = await project.get("/v1/settings");
  expect(settings).toEqual({
    name: expect.stringMatching(/^story-/),
    address: "",
    city: "",
    postal_code: "",
    region: "",
    country: "",
    tax_id: "",
    tax_codes: null,
    footer: "",
    payment_url: "",
    payment_instructions: "",
    support_email: "",
    invoice_prefix: "INV",
    credit_note_prefix: "CN",
    logo_color: "#3347c4",
    net_payment_days: 14,
    default_currency: "USD",
    late_usage_periods: 2,
    portal_access: "open",
    invoice_grouping: "separate",
  });
  expect(settings).toEqual({ name: settings.name, ...NEW_SETTINGS });
});

test("what is put is kept, what is left out stays, and the log says what changed", async () => {
  const project = await sandbox(app, "2025-01-10");
  const first = {
    name: "Blue Ltd",
    address: "1 Street\nTown",
    tax_id: "T1",
    logo_color: "#0B6E4F",
  };
  await project.ok("PUT", "/v1/settings", first);
  const { settings } = await project.ok("PUT", "/v1/settings", { net_payment_days: 30 });
  expect(settings).toMatchObject({ ...first, logo_color: "#0b6e4f", net_payment_days: 30 });
  expect((await project.get("/v1/settings")).settings).toEqual(settings);
  const [, entry] = await project.log("settings.updated");
  expect(entry).toMatchObject({
    resource_type: "settings",
    resource_id: project.project_id,
    payload: { net_payment_days: 30 },
  });
});

test("how to pay and whom to ask are kept, and emptied again", async () => {
  const project = await sandbox(app, "2025-01-10");
  const told = { payment_instructions: "IBAN DE00\nBIC X", support_email: "billing@blue.test" };
  const { settings } = await project.ok("PUT", "/v1/settings", told);
  expect(settings).toMatchObject(told);
  const none = { payment_instructions: "", support_email: "" };
  expect((await project.ok("PUT", "/v1/settings", none)).settings).toMatchObject(none);
});

test("days to pay count for the next invoice, and the currency for the next customer", async () => {
  const project = await sandbox(app, "2025-01-10");
  await project.ok("PUT", "/v1/settings", { net_payment_days: 30, default_currency: "EUR" });
  const sent = { external_id: "a", name: "A" };
  const { customer } = await project.post("/v1/customers", sent);
  expect(customer.currency).toBe("EUR");
  const addOn = await project.addOn({ amount_cents: 500, currency: "EUR" });
  await project.apply(addOn, customer);
  const [invoice] = await project.invoices();
  expect(invoice.due_date).toBe("2025-02-09");
});

test("a tax number is kept as VAT ids are written, and another as it was", async () => {
  const project = await sandbox(app, "2025-01-10");
  for (const [tax_id, kept] of [
    ["de 123 456 789", "DE123456789"],
    [" 214/5678/9012", "214/5678/9012"],
    [" ", ""],
  ]) {
    const { settings } = await project.ok("PUT", "/v1/settings", { tax_id });
    expect(settings.tax_id).toBe(kept);
  }
  const [first] = await project.log("settings.updated");
  expect(first.payload).toEqual({ tax_id: "DE123456789" });
});

test("a country written as others are told says which one is meant", async () => {
  const project = await sandbox(app, "2025-01-10");
  const { body } = await project.call("PUT", "/v1/settings", { country: "UK" });
  expect(body.error.message).toBe(
    "country must be a country of ISO 3166-1 such as DE. Did you mean GB?",
  );
});

test.each([
  [{}, "logo_color", "required"],
  [{ logo_color: "red" }, "logo_color", "pattern"],
  [{ logo_color: "#12345" }, "logo_color", "pattern"],
  [{ logo_color: "#123456}" }, "logo_color", "pattern"],
  [{ net_payment_days: -1 }, "net_payment_days", "minimum"],
  [{ net_payment_days: 366 }, "net_payment_days", "maximum"],
  [{ net_payment_days: 1.5 }, "net_payment_days", "type"],
  [{ late_usage_periods: 25 }, "late_usage_periods", "maximum"],
  [{ default_currency: "XXQ" }, "default_currency", "format"],
  [{ support_email: "nobody" }, "support_email", "pattern"],
  [{ payment_instructions: "x".repeat(2_001) }, "payment_instructions", "maxLength"],
  [{ invoice_grouping: "account" }, "invoice_grouping", "enum"],
  [{ invoice_grouping: null }, "invoice_grouping", "type"],
  [{ name: "" }, "name", "minLength"],
  [{ name: " \u200b" }, "name", "blank"],
  [{ country: "ZZ" }, "country", "country"],
  [{ address: "x".repeat(1_001) }, "address", "maxLength"],
])("%j is refused", async (body, field, code) => {
  const { status, body: answer } = await app.call("PUT", "/v1/settings", body);
  expect([status, answer.error.code]).toEqual([422, "validation_error"]);
  const expected = Object.keys(body).length === 0 ? { code } : { field, code };
  expect(answer.error.details).toContainEqual(expect.objectContaining(expected));
});

test("invoices and credit notes never share a prefix, also not one after the other", async () => {
  const own = await newProject(app);
  const put = (body: object) => own.call("PUT", "/v1/settings", body);
  const both = await put({ invoice_prefix: "NO", credit_note_prefix: "NO" });
  expectError(both, 422, "validation_error");
  expectError(await put({ invoice_prefix: "CN" }), 422, "validation_error");
  expect((await put({ invoice_prefix: "R", credit_note_prefix: "G" })).status).toBe(200);
  expectError(await put({ invoice_prefix: "CN" }), 422, "validation_error");
  expectError(await put({ credit_note_prefix: "INV" }), 422, "validation_error");
  expect((await put({ invoice_prefix: "INV", credit_note_prefix: "CN" })).status).toBe(200);
});

test("two calls at once cannot make them share one", async () => {
  const own = await newProject(app);
  const answers = await Promise.all([
    own.call("PUT", "/v1/settings", { invoice_prefix: "DOC" }),
    own.call("PUT", "/v1/settings", { credit_note_prefix: "DOC" }),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
});

test("what is changed at one process counts at once for what another one makes", async () => {
  const own = await newProject(app);
  const { body } = await own.call("POST", "/v1/customers", { external_id: "before", name: "B" });
  const server = apiServer(
    { ...app.context },
    { draining: false, schema_version: 0, warnings: [] },
  );
  const there = new App({ ...app, server, close: async () => {} }).inProject(own.project);
  // It has read them a moment ago.
  await there.get("/v1/customers");
  await own.call("PUT", "/v1/settings", { net_payment_days: 30, default_currency: "CHF" });
  const lines = [{ name: "x", unit_amount_cents: 100 }];
  const asked = { customer_id: body.customer.id, currency: "USD", lines };
  const { invoice } = await there.post("/v1/invoices", asked);
  const days = (Date.parse(invoice.due_date) - Date.parse(invoice.issuing_date)) / 86_400_000;
  expect(days).toBe(30);
  const after = await there.post("/v1/customers", { external_id: "after", name: "A" });
  expect(after.customer.currency).toBe("CHF");
});
