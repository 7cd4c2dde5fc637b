// Documents with taxes, coupons, credit, receipts and credit notes: what they say, and who may read
// the notes.

import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { renderInvoice } from "../../src/pages/invoice/html.ts";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import { renderPage } from "../../src/pages/page.ts";
import { type App, type Json, sharedApp } from "../support/app.ts";
import { madeInTheEnd } from "../support/asking-again.ts";
import { type Sandbox, sandbox } from "../support/given.ts";
import { note, oneOff, paid, refund, settings, vat } from "../support/money.ts";
import { linesOf, readPdf } from "./pdf-reader.ts";
import { documentOf, PAYMENT, usage, type Variation } from "./samples.ts";

const VAT = { code: "vat", name: "VAT", percent: "20" };
const LOW = { code: "low", name: "VAT", percent: "5.5" };

/** The worked example: two taxes, a coupon of 10 %, credit, and all that can follow. */
const WORKED: Variation = {
  fees: [
    usage("Base", { amount_cents: 2030, discount_cents: 203, taxes: [VAT] }),
    usage("Seats", { amount_cents: 3600, discount_cents: 360, taxes: [LOW] }),
  ],
  invoice: {
    subtotal_cents: 5630,
    discount_cents: 563,
    tax_cents: 543,
    total_cents: 5610,
    credit_applied_cents: 1000,
    offset_cents: 300,
    amount_paid_cents: 4500,
    overpaid_cents: 200,
    written_off_cents: 10,
    amount_due_cents: 0,
    status: "succeeded",
    tax_note: "Art. 9",
    memo: "First line\nSecond line",
    po_number: "PO-77",
    coupons: [
      { applied_coupon_id: "a", code: "w", name: "Welcome", percent: "10", amount_cents: 563 },
    ],
    taxes: [
      { ...LOW, taxable_cents: 3240, tax_cents: 178 },
      { ...VAT, taxable_cents: 1827, tax_cents: 365 },
    ],
    seller: {
      name: "Example",
      address: "1 rue A",
      city: "Paris",
      postal_code: "75001",
      region: "",
      country: "FR",
      tax_id: "FR00111222333",
    },
    buyer: {
      name: "Acme",
      email: "pay@acme.test",
      external_id: "acme",
      address: "",
      region: "IL",
      city: "Springfield",
      postal_code: "62701",
      country: "US",
      tax_id: "US1",
      tax_exemption: null,
    },
  },
  issuer: { footer: "Thank you", name: "Renamed since" },
};

const pdf = (variation: Variation) =>
  renderInvoicePdf(documentOf(variation), { size: "a4", compress: false });

describe("what a document says", () => {
  test("its rows in the one order of amounts, both parties as they were", async () => {
    const found = linesOf(await pdf(WORKED));
    const from = found.indexOf("Subtotal | $56.30");
    expect(found.slice(from, from + 11)).toEqual([
      "Subtotal | $56.30",
      "Welcome, 10 % | −$5.63",
      "VAT 5.5 % on $32.40 | $1.78",
      "VAT 20 % on $18.27 | $3.65",
      "Total | $56.10",
      "Credit applied | −$10.00",
      "Credit notes | −$3.00",
      "Paid | −$45.00",
      "Overpaid, kept as credit | $2.00",
      "Written off | −$0.10",
      "Amount due | $0.00",
    ]);
    const text = found.join("\n");
    for (const part of [
      ...["Example", "75001 Paris", "France", "Tax number FR00111222333", "Thank you", "Art. 9"],
      ...["Acme", "Springfield, IL 62701", "United States", "PO number", "PO-77"],
      ...["First line", "Second line", "Discount $2.03, VAT 20 %", "Discount $3.60, VAT 5.5 %"],
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain("Renamed since");
  });

  test("what goes below 0 becomes credit with its tax", async () => {
    const fees = [usage("Calls", { amount_cents: -500, discount_cents: -50, taxes: [VAT] })];
    const invoice = {
      subtotal_cents: -500,
      discount_cents: -50,
      tax_cents: -90,
      total_cents: 0,
      amount_due_cents: 0,
      taxes: [{ ...VAT, taxable_cents: -450, tax_cents: -90 }],
    };
    const found = linesOf(await pdf({ fees, invoice }));
    const from = found.indexOf("Subtotal | −$5.00");
    expect(found.slice(from, from + 4)).toEqual([
      "Subtotal | −$5.00",
      "VAT 20 % on −$4.50 | −$0.90",
      "Added to your credit | $5.40",
      "Total | $0.00",
    ]);
    expect(found).toContain("Discount given back $0.50");
  });

  test("the link to pay is under a button, in HTML and PDF", async () => {
    const url = 'https://pay.test/?a="b"&c';
    const document = documentOf({ invoice: { payment_url: url } });
    const page = renderPage(renderInvoice(document, "a4", { pdf: "/p.pdf" })).text;
    expect(page).toContain('href="https://pay.test/?a=&quot;b&quot;&amp;c"');
    const bytes = await renderInvoicePdf(document, { size: "a4", compress: false });
    expect(bytes.toString("latin1")).toContain(`/URI (${url})`);
    expect(linesOf(bytes)).toContain("Pay $107.63");
  });

  test("days of payments and notes are told to machines too", async () => {
    const paid_at = new Date("2025-02-03T23:30:00.000Z");
    const payments = [{ ...PAYMENT, paid_at }];
    const notes = [{ number: "CN-2025-0001", issuing_date: "2025-02-04", total_cents: 100 }];
    const document = documentOf({ ...WORKED, settlement: { payments, notes } });
    const page = renderPage(renderInvoice(document, "a4", { pdf: "/p.pdf" })).text;
    expect([...page.matchAll(/<time[^>]*>[^<]*<\/time>/g)].map(([each]) => each)).toEqual([
      '<time datetime="2025-02-04">4 Feb 2025</time>',
      '<time datetime="2025-02-03">3 Feb 2025</time>',
    ]);
  });

  test("long words of the caller flow over pages, and nothing leaves the page", async () => {
    const memo = Array.from({ length: 150 }, (_, i) => `Line ${i + 1}`).join("\n");
    const name = "A coupon of many words ".repeat(11).trim();
    const coupons = Array.from({ length: 20 }, () => {
      return { applied_coupon_id: "a", code: "w", name, percent: null, amount_cents: 1 };
    });
    const po_number = "PO".repeat(120);
    const invoice = { memo, coupons, po_number, discount_cents: 20, tax_note: memo };
    const { pages, pieces } = readPdf(await pdf({ invoice, issuer: { footer: memo } }));
    expect(pages).toBeGreaterThan(6);
    for (const { x, y } of pieces) {
      expect(y).toBeGreaterThan(30);
      expect(x).toBeGreaterThanOrEqual(48);
    }
    const texts = pieces.map(({ text }) => text);
    expect(texts.filter((text) => text === "Line 150")).toHaveLength(3);
    expect(texts.join("").match(/PO/g)?.length).toBeGreaterThanOrEqual(120);
  });
});

describe("a credit note, through the API", () => {
  let app: App;
  let project: Sandbox;
  let customer: Json;
  let invoice: Json;
  let made: Json;

  beforeAll(async () => {
    app = await sharedApp();
    project = await sandbox(app, "2026-01-01");
    await vat(project, "20");
    customer = await project.customer({ email: "billing@blue.test" });
    invoice = await oneOff(project, customer, "1000, 500");
    const payment = await paid(project, invoice, 1500);
    const textOf = { refund_cents: 200, reason: "Wrong <order>", memo: "Sorry" };
    made = await note(project, invoice, { 0: 600 }, textOf);
    await refund(project, payment, 150, { credit_note_id: made.id });
  });

  const stranger = { authorization: undefined, "x-project-id": undefined };
  const read = (path: string) => madeInTheEnd(() => app.call("GET", path, undefined, stranger));
  const textOf = (page: string) =>
    page
      .replace(/^[\s\S]*<body>/, "")
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ");

  test("says what is credited, with its tax, and where it goes", async () => {
    const url = `/v1/credit-notes/${made.id}/document`;
    const { status, headers, body } = await project.call("GET", url);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    for (const part of [
      `Credit note number ${made.number}`,
      `Corrects invoice ${invoice.number}`,
      "Reason: Wrong &lt;order&gt; Sorry",
      "Line 1 of $10.00 billed $6.00",
      "Subtotal $6.00 VAT 20 % on $6.00 $1.20 Total credited $7.20",
      `Set off against ${invoice.number} $3.00 Refund, $0.50 to be paid out $2.00`,
      "$1.50 paid out on 1 Jan 2026 by Bank, refund-",
      "Added to your credit $2.20",
    ]) {
      expect(textOf(body)).toContain(part);
    }
    const accept = { accept: "application/pdf" };
    const pdf = await madeInTheEnd(() => project.call("GET", url, undefined, accept));
    expect(pdf.headers["content-disposition"]).toContain(`${made.number}.pdf`);
    const shown = await project.call("GET", `/v1/invoices/${invoice.id}/document`);
    expect(textOf(shown.body)).toContain(`Credit notes 1 Jan 2026 ${made.number} −$7.20`);
    expect(textOf(shown.body)).toContain("Payments 1 Jan 2026");
  });

  test("is the customer's by link, with the email masked, and nobody else's", async () => {
    const base = `/portal/${customer.id}/credit-notes/${made.number}`;
    const page = await read(base);
    expect(page.status).toBe(200);
    expect(page.body).toContain("b***@blue.test");
    expect(page.body).not.toContain("billing@");
    expect(page.body).toContain(`href="${base}/pdf"`);
    expect((await read(`${base}/pdf`)).headers["content-type"]).toBe("application/pdf");
    const other = await project.customer();
    for (const path of [
      `/portal/${other.id}/credit-notes/${made.number}`,
      `/portal/${other.id}/credit-notes/${made.number}/pdf`,
      `/portal/${customer.id}/credit-notes/CN-2026-9999`,
      `/portal/${customer.id}/credit-notes/${invoice.number}`,
      `/portal/${randomUUID()}/credit-notes/${made.number}`,
    ]) {
      expect([path, (await read(path)).status]).toEqual([path, 404]);
    }
    await settings(project, { portal_access: "signed" });
    expect((await read(base)).status).toBe(404);
    const { url } = await project.post(`/v1/customers/${customer.id}/portal-links`, {});
    const { search } = new URL(url);
    const signed = await read(`${base}${search}`);
    expect(signed.status).toBe(200);
    expect(signed.body).toContain(`href="${base}/pdf${search}"`);
    await settings(project, { portal_access: "open" });
  });

  test("of another project, or none, is not there", async () => {
    const other = await sandbox(app, "2026-01-01");
    for (const path of ["document", "document.pdf", "document.xml"]) {
      for (const [caller, id] of [
        [other, made.id],
        [project, randomUUID()],
      ] as const) {
        const { status } = await caller.call("GET", `/v1/credit-notes/${id}/${path}`);
        expect([path, status]).toEqual([path, 404]);
      }
    }
    const { status } = await other.call("GET", `/v1/invoices/${invoice.id}/document.xml`);
    expect(status).toBe(404);
  });
});
