// Previews of invoices as text: what would be billed, line by line, and what would follow.

import type { InvoicePreview, PreviewInvoiceReply } from "../../client/types.ts";
import { clean, money } from "../terminal/output.ts";
import { type Screen, tableText } from "../terminal/table.ts";

type Fee = InvoicePreview["fees"][number];

export async function renderPreviews(screen: Screen, answer: PreviewInvoiceReply): Promise<string> {
  const next = answer.next_invoice_previews ?? [];
  const texts = await Promise.all([
    previewText(screen, "Period", answer.invoice_preview),
    ...next.map((preview) => previewText(screen, "Then", preview)),
  ]);
  return texts.join("\n");
}

async function previewText(
  screen: Screen,
  title: string,
  preview: InvoicePreview,
): Promise<string> {
  const { currency, fees, period_start, period_end, issuing_date, due_date } = preview;
  const lines = await tableText<Fee>(
    screen,
    [
      { title: "FEE", of: (fee: Fee) => fee.fee_type },
      { title: "NAME", cut: true, of: feeName },
      { title: "UNITS", right: true, of: (fee: Fee) => fee.units },
      { title: "AMOUNT", right: true, of: (fee: Fee) => money(fee.amount_cents, currency) },
    ],
    fees,
  );
  const head = `${title} ${period_start} to ${period_end}, issued ${issuing_date}, due ${due_date}`;
  const rows = fees.length === 0 ? "Nothing is billed.\n" : lines;
  return `${head}\n${rows}${couponLines(preview)}${taxLines(preview)}${totals(preview)}\n`;
}

/** "Welcome, 10 %: -7.51 EUR" */
function couponLines({ coupons, currency }: InvoicePreview): string {
  return coupons
    .map(({ name, percent, amount_cents }) => {
      const rate = percent === null ? "" : `, ${percent} %`;
      return `${clean(name)}${rate}: ${money(-amount_cents, currency)}\n`;
    })
    .join("");
}

/** "VAT, 20 % of 35.14 EUR: 7.03 EUR" */
function taxLines({ taxes, currency }: InvoicePreview): string {
  return taxes
    .map(({ name, percent, taxable_cents, tax_cents }) => {
      const base = `${percent} % of ${money(taxable_cents, currency)}`;
      return `${clean(name)}, ${base}: ${money(tax_cents, currency)}\n`;
    })
    .join("");
}

function totals(preview: InvoicePreview): string {
  const { currency, total_cents, credit_applied_cents, amount_due_cents } = preview;
  const credit = `, less credit of ${money(credit_applied_cents, currency)}`;
  const due = `: ${money(amount_due_cents, currency)} due`;
  return `Total ${money(total_cents, currency)}${credit_applied_cents === 0 ? "" : credit}${due}`;
}

/** What documents call it, and the combination of dimensions that it is for. */
function feeName({ billable_metric_code, properties }: Fee): string | null {
  const name = typeof properties.name === "string" ? properties.name : billable_metric_code;
  const values = dimensionsText(properties.dimensions);
  return values === "" ? name : `${name}, ${values}`;
}

/** "model large, kind none" */
export function dimensionsText(dimensions: unknown): string {
  return Object.entries(dimensions ?? {})
    .map(([name, value]) => `${name} ${value ?? "none"}`)
    .join(", ");
}
