// A project that uses no taxes, coupons, credit notes and the like keeps its documents, byte for
// byte. The digests are of documents looked at when PDFs were tagged, customers' numbers labelled
// and voids stamped: who changes one on purpose looks again.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { renderInvoice } from "../../src/pages/invoice/html.ts";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import { renderPage } from "../../src/pages/page.ts";
import { documentOf, PAYMENT, usage, type Variation } from "./samples.ts";

const overpaid: Variation = {
  invoice: {
    status: "succeeded",
    payment_status: "succeeded",
    amount_due_cents: 0,
    amount_paid_cents: 12_000,
    overpaid_cents: 1237,
    credits: [],
  },
  settlement: { payments: [PAYMENT] },
};

const kept: Variation = {
  invoice: {
    seller: {
      name: "Northwind Metering Ltd",
      address: "1 Sample Street\nSampletown AB1 2CD",
      city: "",
      postal_code: "",
      region: "",
      country: "",
      tax_id: "GB000000000",
    },
    buyer: {
      name: "Blue Harbour Shipping",
      email: "billing@blue.test",
      external_id: "cus-1029",
      address: "",
      city: "",
      postal_code: "",
      region: "",
      country: "",
      tax_id: "",
      tax_exemption: null,
    },
  },
};

const many: Variation = {
  fees: Array.from({ length: 80 }, (_, i) => usage(`Metric ${i + 1}`)),
  invoice: {
    payment_status: "partially_paid",
    credit_applied_cents: 300,
    amount_paid_cents: 1000,
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
  from: String(i * 10),
  up_to: String((i + 1) * 10),
  units: "10",
  amount: "0.10",
  flat_amount: "0",
  precise_amount: "100",
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
  ["one fee", {}, "17db1f5db55519ec", "ba7f3be1e8e2150b"],
  ["one fee, its parties kept", kept, "17db1f5db55519ec", "ba7f3be1e8e2150b"],
  ["overpaid", overpaid, "587a3d5357e8fb82", "fbdbfa066d7dfdfb"],
  ["80 fees, credit and a payment", many, "2cb66379ca5041a7", "0045e7df2a59c5f7"],
  [
    "void",
    { invoice: { status: "voided", amount_due_cents: 0 } },
    "6511d2aaa231cc74",
    "66194746edbc92e2",
  ],
  ["tiers", tiered, "97c7e7d8701524ce", "79a0021f456f8fdd"],
])("%s", async (_, variation, html, pdf) => {
  const document = documentOf(variation);
  const page = renderPage(renderInvoice(document, "a4", { pdf: "/p.pdf", back: "/" })).text;
  const bytes = await renderInvoicePdf(document, { size: "a4", compress: false });
  const digest = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
  expect([digest(page).slice(0, 16), digest(bytes).slice(0, 16)]).toEqual([html, pdf]);
});
