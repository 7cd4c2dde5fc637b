// An invoice as people read it: its lines with units, price and amount, how each amount comes
// about, the totals, and what is due. The words are those of its document.

import type { InvoiceWithFees } from "../../client/types.ts";
import type { DocumentLine } from "../../domain/documents/lines.ts";
import { clean, styled } from "../terminal/output.ts";
import { statusStyle } from "../terminal/status.ts";
import type { Screen } from "../terminal/table.ts";
import { type Measure, measureFor, wrap } from "../terminal/widths.ts";

const GAP = 2;
/** Texts are not squeezed further, however narrow the terminal is. */
const TEXT_MIN = 20;

/** A line of the lower part: a text on the left, up to three figures on the right. */
type Row = {
  readonly text: string;
  readonly indent?: number;
  readonly figures?: readonly [units: string, price: string, amount: string];
  readonly look?: "bold" | "dim";
};

export async function renderInvoice(screen: Screen, invoice: InvoiceWithFees): Promise<string> {
  const rows = await rowsOf(invoice);
  const texts = rows.flatMap(({ text, figures = [] }) => [text, ...figures]);
  const { buyer, tax_note, memo, customer_external_id } = invoice;
  const said = [String(buyer.name), customer_external_id, tax_note, memo];
  const measure = await measureFor([...texts, ...said]);
  const head = await headOf(screen, invoice, measure);
  return `${head}\n${figuresText(screen, rows, measure)}${endOf(screen, invoice, measure)}`;
}

async function headOf(screen: Screen, invoice: InvoiceWithFees, measure: Measure): Promise<string> {
  const { formatDate, formatPeriod } = await import("../../domain/documents/format.ts");
  const { number, status, buyer, customer_external_id, invoice_type } = invoice;
  const { issuing_date, due_date, period_start, period_end, po_number } = invoice;
  const name = typeof buyer.name === "string" && buyer.name !== "" ? buyer.name : null;
  const who = name === null ? customer_external_id : `${name} (${customer_external_id})`;
  const facts = [
    clean(who),
    `Issued ${formatDate(issuing_date)}, due ${formatDate(due_date)}`,
    ...(invoice_type === "subscription"
      ? [`Period ${formatPeriod(period_start, period_end)}`]
      : []),
    ...(po_number === "" ? [] : [`PO number ${clean(po_number)}`]),
  ];
  const title = `${styled(screen, "bold", clean(number))}  ${styled(screen, statusStyle(status), status)}`;
  const whole = screen.columns ?? Number.POSITIVE_INFINITY;
  const lines = [title, ...facts.flatMap((fact) => wrap(fact, whole, measure))];
  return lines.map((line) => `${line}\n`).join("");
}

async function rowsOf(invoice: InvoiceWithFees): Promise<Row[]> {
  const { totalsOf } = await import("../../domain/documents/totals.ts");
  const lines = await lineRows(invoice);
  const totals = totalsOf(invoice, true).map(({ label, amount, strong }): Row => {
    return { text: clean(label), figures: ["", "", amount], ...(strong && { look: "bold" }) };
  });
  return [
    { text: "", figures: ["UNITS", "PRICE", "AMOUNT"] },
    ...(lines.length === 0 ? [{ text: "Nothing is billed." }] : lines),
    { text: "" },
    ...totals,
  ];
}

/** The lines, under headings where several things are billed together. */
async function lineRows(invoice: InvoiceWithFees): Promise<Row[]> {
  const { lineOf } = await import("../../domain/documents/lines.ts");
  const { sectionsOf } = await import("../../domain/documents/sections.ts");
  const drawn = invoice.fees.map((issued) => {
    const fee = { ...issued, taxes: [...issued.taxes] };
    return { fee, line: lineOf(fee, NO_NAMES), cents: fee.amount_cents };
  });
  const fees = drawn.map(({ fee }) => fee);
  const sections = sectionsOf({ ...invoice, fees }, drawn, NO_NAMES);
  if (sections.length === 0) return drawn.flatMap(({ line }) => rowsOfLine(line));
  return sections.flatMap(({ heading, parts, subtotal }, i): Row[] => [
    ...(i === 0 ? [] : [{ text: "" }]),
    ...(heading === undefined
      ? []
      : [{ text: clean(`${heading.title}, ${heading.detail}`), look: "bold" as const }]),
    ...parts.flatMap(({ title, lines }): Row[] => [
      ...(title === "" ? [] : [{ text: clean(title), look: "dim" as const }]),
      ...lines.flatMap(rowsOfLine),
    ]),
    ...(subtotal === undefined
      ? []
      : [{ text: subtotal.label, figures: ["", "", subtotal.amount] as const }]),
  ]);
}

function rowsOfLine(line: DocumentLine): Row[] {
  return [
    { text: clean(line.title), figures: [line.units, line.rate, line.amount] },
    ...line.details.map((text): Row => ({ text: clean(text), indent: 2, look: "dim" })),
    ...line.parts.map(({ text, amount }): Row => {
      return { text: clean(`${text} = ${amount}`), indent: 2, look: "dim" };
    }),
  ];
}

/** Fees keep the names that they were issued with. */
const NO_NAMES = {
  plans: new Map<string, string>(),
  dimensions: new Map<string, readonly string[]>(),
};

/** Texts on the left, in as many lines as they need; figures on the right, below each other. */
function figuresText(screen: Screen, rows: readonly Row[], measure: Measure): string {
  const widths = [0, 1, 2].map((i) =>
    Math.max(...rows.map(({ figures }) => measure(figures?.[i] ?? ""))),
  );
  const taken = widths.reduce((sum, width) => sum + GAP + width, 0);
  const longest = Math.max(
    ...rows.map(({ text, indent = 0, figures }) =>
      figures === undefined ? 0 : indent + measure(text),
    ),
  );
  const whole = screen.columns ?? Number.POSITIVE_INFINITY;
  if (whole < taken + Math.min(longest, TEXT_MIN)) return stackedText(screen, rows, measure, whole);
  const left = Math.min(Math.max(longest, TEXT_MIN), whole - taken);
  return rows
    .flatMap(({ text, indent = 0, figures, look }) => {
      const width = figures === undefined ? left + taken : left;
      const [first = "", ...more] = wrap(text, Math.max(width - indent, TEXT_MIN), measure);
      const beside = (figures ?? []).map((figure, i) => {
        return " ".repeat(GAP + (widths[i] ?? 0) - measure(figure)) + figure;
      });
      const gap = " ".repeat(Math.max(left - indent - measure(first), 0));
      const pad = " ".repeat(indent);
      const lines = [`${pad}${first}${figures === undefined ? "" : gap}${beside.join("")}`];
      return [...lines, ...more.map((line) => `${pad}  ${line}`)].map((line) => {
        return `${look === undefined ? line : styled(screen, look, line)}\n`;
      });
    })
    .join("");
}

/** Where text and figures have no room beside each other: the figures below, on the right. */
function stackedText(
  screen: Screen,
  rows: readonly Row[],
  measure: Measure,
  whole: number,
): string {
  return rows
    .flatMap(({ text, indent = 0, figures = [], look }) => {
      const pad = " ".repeat(indent);
      const texts = text === "" && figures.length > 0 ? [] : wrap(text, whole - indent, measure);
      const below = wrap(figures.filter(Boolean).join("  "), whole, measure).filter(Boolean);
      const lines = [
        ...texts.map((line) => `${pad}${line}`),
        ...below.map((line) => `${" ".repeat(Math.max(whole - measure(line), 0))}${line}`),
      ];
      return lines.map((line) => `${look === undefined ? line : styled(screen, look, line)}\n`);
    })
    .join("");
}

function endOf(
  screen: Screen,
  { tax_note, memo, payment_url }: InvoiceWithFees,
  measure: Measure,
): string {
  const whole = screen.columns ?? Number.POSITIVE_INFINITY;
  const wrapped = (line: string) => wrap(clean(line), whole, measure);
  const lines = [
    ...(tax_note === "" ? [] : wrapped(tax_note)),
    ...(memo === "" ? [] : memo.split("\n").flatMap(wrapped)),
    ...(payment_url === null ? [] : [`Pay at ${clean(payment_url)}`]),
  ];
  return lines.length === 0 ? "" : `\n${lines.join("\n")}\n`;
}
