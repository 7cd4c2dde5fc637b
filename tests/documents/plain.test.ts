// A project that uses no taxes, coupons, credit notes and the like keeps its documents, byte for
// byte. The digests are those of the code from before there were any.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { renderInvoice } from "../../src/pages/invoice/html.ts";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf.ts";
import { renderPage } from "../../src/pages/page.ts";
import { documentOf, usage, type Variation } from "./samples.ts";

const payment = {
  id: "00000000-0000-7000-8000-000000000009",
  invoice_id: "00000000-0000-7000-8000-000000000002",
  ...{ amount_cents: 12_000, currency: "USD", provider: "bank", provider_payment_id: "p1" },
  ...{ reference: null, status: "succeeded", paid_at: new Date("2025-02-03T00:00:00.000Z") },
  ...{ refunded_cents: 0, created_at: new Date("2025-02-03T00:00:00.000Z") },
};

const overpaid: Variation = {
  invoice: {
    ...{ status: "succeeded", payment_status: "succeeded", amount_due_cents: 0 },
    ...{ amount_paid_cents: 12_000, overpaid_cents: 1237 },
    credits: [],
  },
  moved: { payments: [payment] },
};

const kept: Variation = {
  invoice: {
    seller: {
      ...{ name: "Northwind Metering Ltd", address: "1 Sample Street\nSampletown AB1 2CD" },
      ...{ city: "", postal_code: "", region: "", country: "", tax_id: "GB000000000" },
    },
    buyer: {
      ...{ name: "Blue Harbour Shipping", email: "billing@blue.test", external_id: "cus-1029" },
      ...{ address: "", city: "", postal_code: "", region: "", country: "", tax_id: "" },
      tax_exemption: null,
    },
  },
};

const many: Variation = {
  fees: Array.from({ length: 80 }, (_, i) => usage(`Metric ${i + 1}`)),
  invoice: {
    ...{ payment_status: "partially_paid", credit_applied_cents: 300, amount_paid_cents: 1000 },
    credits: [
      {
        grant_id: "00000000-0000-7000-8000-000000000008",
        kind: "overpayment",
        amount_cents: 300,
      },
    ],
  },
};

const tiers = [0, 1].map((i) => ({
  ...{ from: String(i * 10), up_to: String((i + 1) * 10), units: "10", amount: "0.10" },
  ...{ flat_amount: "0", precise_amount: "100" },
}));
const tiered: Variation = {
  fees: [
    usage("Tiered", {
      units: "20",
      properties: { charge_model: "graduated", precise_amount: "200", tiers },
    }),
  ],
};

test.each<[string, Variation, string, string]>([
  ["one fee", {}, "8562848da5b8f47e", "f311cef0c1d3e6dd"],
  ["one fee, its parties kept", kept, "8562848da5b8f47e", "f311cef0c1d3e6dd"],
  ["overpaid", overpaid, "36d4b71a44ecc9e6", "cccf202d3d3dd507"],
  ["80 fees, credit and a payment", many, "f3a6647516d0ad30", "0f6e7bb39aea1b88"],
  [
    "void",
    { invoice: { status: "voided", amount_due_cents: 0 } },
    "d4c125cb46b90330",
    "9e795a2813f3c59d",
  ],
  ["tiers", tiered, "6a569ca3c053f10d", "effe579b0440d9bf"],
])("%s", async (_, variation, html, pdf) => {
  const document = documentOf(variation);
  const page = renderPage(renderInvoice(document, "a4", { pdf: "/p.pdf", back: "/" })).text;
  const bytes = await renderInvoicePdf(document, { size: "a4", compress: false });
  const digest = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
  expect([digest(page).slice(0, 16), digest(bytes).slice(0, 16)]).toEqual([html, pdf]);
});
