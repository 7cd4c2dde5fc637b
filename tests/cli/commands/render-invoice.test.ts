// `dues invoices get`: an invoice as people read it.

import stringWidth from "string-width";
import { expect, test } from "vitest";
import { renderInvoice } from "../../../src/cli/commands/render-invoice.ts";
import type { InvoiceWithFees } from "../../../src/client/types.ts";
import { invoiceOf, usage } from "../../documents/samples.ts";

const PLAIN = { columns: undefined, color: false };

const tiers = usage("api_calls", {
  units: "150",
  amount_cents: 1250,
  properties: {
    name: "API calls",
    plan_code: "pro",
    charge_model: "graduated",
    precise_amount: "1250",
    tiers: [
      {
        from: "0",
        up_to: "100",
        units: "100",
        amount: "0.1",
        flat_amount: "0",
        precise_amount: "1000",
      },
      {
        from: "100",
        up_to: null,
        units: "50",
        amount: "0.05",
        flat_amount: "0",
        precise_amount: "250",
      },
    ],
  },
});
const seats = usage("seats", {
  billable_metric_code: null,
  units: "5",
  amount_cents: 7500,
  properties: {
    name: "席 (Seat)",
    plan_code: "pro",
    unit_amount_cents: 1500,
    charge_model: "flat_fee",
  },
});

const WORK = { name: "Work", unit_amount_cents: 1500, charge_model: "flat_fee" };

/** As the API answers it. */
const invoice = JSON.parse(
  JSON.stringify(
    invoiceOf({
      fees: [tiers, seats],
      invoice: {
        status: "overdue",
        customer_external_id: "acme",
        buyer: { name: "Acme Ltd", external_id: "acme" },
        discount_cents: 875,
        coupons: [
          {
            applied_coupon_id: "00000000-0000-7000-8000-000000000009",
            code: "welcome",
            name: "Welcome",
            percent: "10",
            amount_cents: 875,
          },
        ],
        taxes: [{ code: "vat", name: "VAT", percent: "20", taxable_cents: 7875, tax_cents: 1575 }],
        tax_cents: 1575,
        total_cents: 9450,
        credit_applied_cents: 1000,
        amount_paid_cents: 450,
        amount_due_cents: 8000,
        payment_url: "https://pay.example.com/INV-2025-0007",
      },
    }),
  ),
) as InvoiceWithFees;

test("lines with units, price and amount, tiers below, then totals and what is due", async () => {
  const text = (await renderInvoice(PLAIN, invoice)).replaceAll("−", "-");
  expect(text).toBe(`INV-2025-0007  overdue
Acme Ltd (acme)
Issued 1 Feb 2025, due 15 Feb 2025
Period 10 Jan 2025 – 31 Jan 2025

                      UNITS   PRICE   AMOUNT
API calls               150           $12.50
  0 to 100: 100 × $0.10 = $10.00
  Above 100: 50 × $0.05 = $2.50
席 (Seat)                 5  $15.00   $75.00

Subtotal                              $87.50
Welcome, 10 %                         -$8.75
VAT 20 % on $78.75                    $15.75
Total                                 $94.50
Credit applied                       -$10.00
Paid                                  -$4.50
Amount due                            $80.00

Pay at https://pay.example.com/INV-2025-0007
`);
});

test("a long name takes several lines where the terminal is narrow", async () => {
  const name = "A name that is much longer than what is left of the line beside the figures";
  const [fee] = invoice.fees;
  if (fee === undefined) throw new Error("The sample has fees.");
  const long = { ...invoice, fees: [{ ...fee, properties: { ...fee.properties, name } }] };
  const lines = (await renderInvoice({ columns: 60, color: false }, long)).split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(lines.join(" ").replace(/\s+/g, " ")).toContain("beside the figures");
});

test.each([80, 60, 40, 30])("in %i columns no line is wider", async (columns) => {
  const long = { ...invoice, memo: "Thank you for your business, and come back soon. ".repeat(3) };
  const text = await renderInvoice({ columns, color: false }, { ...long, payment_url: null });
  const wide = text.split("\n").filter((line) => stringWidth(line) > columns);
  expect(wide).toEqual([]);
  for (const figure of ["$12.50", "$75.00", "$94.50", "$80.00"]) expect(text).toContain(figure);
});

test.each([45, 40, 35])(
  "in %i columns short texts leave the figures their room",
  async (columns) => {
    const short = JSON.parse(JSON.stringify(invoiceOf({ fees: [{ ...seats, properties: WORK }] })));
    const lines = (await renderInvoice({ columns, color: false }, short)).split("\n");
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
  },
);
