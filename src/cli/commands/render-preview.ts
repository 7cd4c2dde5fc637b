// Previews of invoices as text: what would be billed, line by line, and what would follow.

import type { InvoicePreview, PreviewInvoiceReply } from "../../client/types.ts";
import { clean, money } from "../terminal/output.ts";
import { type Screen, tableText } from "../terminal/table.ts";

type Fee = InvoicePreview["fees"][number];

export async function renderPreviews(screen: Screen, answer: PreviewInvoiceReply): Promise<string> {
  const next = answer.next_invoice_previews ?? [];
  // What falls due together is of one instant; else one follows the other.
  const [first, others] = answer.due_at === undefined ? ["Period", "Then"] : ["Next", "And"];
  const texts = await Promise.all([
    previewText(screen, first, answer.invoice_preview),
    ...next.map((preview) => previewText(screen, others, preview)),
  ]);
  return texts.join("\n");
}

async function previewText(
  screen: Screen,
  title: string,
  preview: InvoicePreview,
): Promise<string> {
  const { period_start, period_end, issuing_date, due_date } = preview;
  const head = `${title} ${period_start} to ${period_end}, issued ${issuing_date}, due ${due_date}`;
  const lines = await partTexts(screen, preview);
  return `${head}\n${lines}${couponLines(preview)}${taxLines(preview)}${totals(preview)}\n`;
}

/** The lines; with a heading for each part where there are several. */
async function partTexts(screen: Screen, preview: InvoicePreview): Promise<string> {
  const { parts, fees, currency } = preview;
  if (parts.length < 2) return feesText(screen, fees, currency);
  const texts = await Promise.all(
    parts.map(async ({ part, subscription_external_id, plan_code, ...days }) => {
      const own = fees.filter((fee) => fee.part === part);
      const whose = `${subscription_external_id ?? ""}, ${plan_code ?? ""}`;
      const head = `${whose}, ${days.period_start} to ${days.period_end}`;
      return `\n${clean(head)}\n${await feesText(screen, own, currency)}`;
    }),
  );
  return `${texts.join("")}\n`;
}

async function feesText(screen: Screen, fees: readonly Fee[], currency: string): Promise<string> {
  if (fees.length === 0) return "Nothing is billed.\n";
  return tableText<Fee>(
    screen,
    [
      { title: "FEE", of: (fee: Fee) => fee.fee_type },
      { title: "NAME", cut: true, of: feeName },
      { title: "UNITS", right: true, of: (fee: Fee) => fee.units },
      { title: "AMOUNT", right: true, of: (fee: Fee) => money(fee.amount_cents, currency) },
    ],
    fees,
  );
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
