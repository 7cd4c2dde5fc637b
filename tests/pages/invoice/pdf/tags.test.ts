// A PDF as it is read out: what is a heading, a row, a link, in which order, and what is left out.

import { expect, test } from "vitest";
import { renderInvoicePdf } from "../../../../src/pages/invoice/pdf/render.ts";
import { readAloud } from "../../../documents/pdf-reader.ts";
import { documentOf, usage, type Variation } from "../../../documents/samples.ts";

async function pdf(variation: Variation): Promise<Buffer> {
  return renderInvoicePdf(documentOf(variation), { size: "a4", compress: false });
}

test("an invoice is read out from its title to whom to ask, its lines as rows of a table", async () => {
  const bytes = await pdf({
    fees: [usage("API calls")],
    issuer: { payment_instructions: "IBAN GB00\nBIC X", support_email: "help@nw.test" },
    invoice: { payment_url: "https://pay.test/7", memo: "As agreed" },
  });
  expect(readAloud(bytes)).toEqual([
    "H1 Invoice",
    "P Open",
    "P Northwind Metering Ltd",
    "P 1 Sample Street",
    "P Sampletown AB1 2CD",
    "P Tax number GB000000000",
    "H2 Billed to",
    "P Blue Harbour Shipping",
    "P billing@blue.test",
    "P Customer no. cus-1029",
    "P Invoice number INV-2025-0007",
    "P Issued 1 Feb 2025",
    "P Due 15 Feb 2025",
    "P Period 10 Jan 2025 – 31 Jan 2025",
    "P As agreed",
    "TR Description | Units | Price | Amount",
    "TR API calls | 430.5 | $0.25 | $107.63",
    "TR Total | $107.63",
    "TR Amount due | $107.63",
    "P Please pay $107.63 by 15 Feb 2025 and name INV-2025-0007.",
    "Link Pay $107.63",
    "H2 How to pay",
    "P IBAN GB00 BIC X",
    "Link Questions? help@nw.test",
  ]);
  const text = bytes.toString("latin1");
  expect(text).toMatch(/^%PDF-1\.5/);
  expect(text).toContain("/Lang (en)");
  expect(text).toContain("/Marked true");
});

test("over several pages each row is read once, and heads and page numbers not again", async () => {
  const fees = Array.from({ length: 80 }, (_, i) => usage(`Metric ${i + 1}`));
  const read = readAloud(await pdf({ fees }));
  const rows = read.filter((line) => line.startsWith("TR Metric"));
  expect(rows).toEqual(fees.map((_, i) => `TR Metric ${i + 1} | 430.5 | $0.25 | $107.63`));
  expect(read.filter((line) => line.includes("Description"))).toHaveLength(1);
  expect(read.join("\n")).not.toMatch(/continued|Page \d/);
});

test("a void invoice has the word across each page, which is not read out twice", async () => {
  const bytes = await pdf({ invoice: { status: "voided", amount_due_cents: 0 } });
  expect(readAloud(bytes).filter((line) => /void/i.test(line))).toEqual([
    "P Void",
    "P This invoice is void. Nothing is to be paid.",
  ]);
});
