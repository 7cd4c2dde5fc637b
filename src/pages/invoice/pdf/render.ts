// An invoice or credit note as PDF: its head here, the lines in table.ts, the rest in ends.ts.

import PDFDocument from "pdfkit";
import type { InvoiceDocument } from "../../../domain/documents/document.ts";
import { initialOf } from "../../icon.ts";
import { textColorOn } from "../../page.ts";
import { escapeXml } from "../../xml.ts";
import { isVoid, type PaperSize } from "../html.ts";
import { Ends, SIDE } from "./ends.ts";
import { type Column, CUT, GAP, Sheet, SOFT, STYLES } from "./sheet.ts";
import { Table } from "./table.ts";
import { SIZE_MIN, Typesetter } from "./typesetter.ts";

const TONES = { good: "#136c43", warn: "#8a5200", bad: "#b01e30", mute: SOFT } as const;

/** How many of the widest letters fit on a line of the facts. Measuring would leave a trace. */
const NARROW_LINE = 14;

export type PdfOptions = { readonly size: PaperSize; readonly compress?: boolean };

export async function renderInvoicePdf(
  document: InvoiceDocument,
  options: PdfOptions,
): Promise<Buffer> {
  const doc = new PDFDocument({
    size: options.size === "a4" ? "A4" : "LETTER",
    margin: 0,
    bufferPages: true,
    compress: options.compress ?? true,
    // The first version of the format in which a document can be read out in its order.
    pdfVersion: "1.5",
    tagged: true,
    lang: "en",
    displayTitle: true,
    info: {
      Title: `${document.kind} ${document.number}`,
      Author: document.issuer.name,
      // The invoice's date instead of now: the same invoice gives the same bytes.
      CreationDate: document.created_at,
      ModDate: document.created_at,
    },
  });
  escapeMetadata(doc);
  const chunks: Buffer[] = [];
  doc.on("data", (chunk: Buffer) => chunks.push(chunk));
  const done = new Promise<void>((resolve, reject) => {
    doc.once("end", resolve);
    doc.once("error", reject);
  });
  const typesetter = await Typesetter.for(doc, textsOf(document));
  await draw(
    new Sheet(doc, typesetter, `${document.kind} ${document.number}, continued`),
    document,
  );
  doc.end();
  await done;
  return Buffer.concat(chunks);
}

type Info = PDFKit.DocumentInfo;

/** pdfkit puts the texts of the document's dictionary into its XML as they are. */
function escapeMetadata(doc: PDFKit.PDFDocument): void {
  const internals = doc as unknown as { info: Info; _addInfo(): void };
  const addInfo = internals._addInfo.bind(doc);
  internals._addInfo = () => {
    const { info } = internals;
    const texts = Object.entries(info).map(([name, value]) => {
      return [name, typeof value === "string" ? escapeXml(value) : value] as const;
    });
    internals.info = Object.fromEntries(texts) as Info;
    addInfo();
    internals.info = info;
  };
}

/** All texts that may be drawn, whose faces are loaded before. */
function textsOf(document: InvoiceDocument): string[] {
  const { issuer, customer, facts, lines, totals, state, note, memo, tax_note } = document;
  return [
    `Invoice Billed to Description Units Price Amount Page of continued 0123456789 ·${CUT}`,
    initialOf(issuer.name),
    document.number,
    issuer.name,
    ...issuer.lines,
    customer.name,
    ...customer.lines,
    ...facts.flat(),
    state?.label ?? "",
    note,
    ...lines.flatMap(({ title, details, parts, units, rate, amount }) => [
      title,
      ...details,
      units,
      rate,
      amount,
      ...parts.flatMap((part) => [part.text, part.amount]),
    ]),
    ...document.sections.flatMap(({ heading, parts, subtotal }) => [
      ...(heading === undefined ? [] : [heading.title, heading.detail]),
      ...parts.map(({ title }) => title),
      ...(subtotal === undefined ? [] : [subtotal.label, subtotal.amount]),
    ]),
    ...totals.flatMap(({ label, amount }) => [label, amount]),
    "Credit note Credited to How to pay Questions? VOID",
    memo,
    tax_note,
    document.pay?.label ?? "",
    document.footer,
    document.payment_instructions,
    document.support_email,
    ...document.lists.flatMap(({ title, rows }) => [
      title,
      ...rows.flatMap(({ date, text, amount }) => [date, text, amount]),
    ]),
  ];
}

async function draw(sheet: Sheet, document: InvoiceDocument): Promise<void> {
  drawHeader(sheet, document);
  drawParties(sheet, document);
  const { memo } = document;
  if (memo !== "") {
    sheet.as("P", () => sheet.flow(memo, STYLES.body));
    sheet.y += GAP * 2;
  }
  const ends = new Ends(sheet, document);
  await new Table(sheet, { ...document, totals_height: ends.totalsHeight }).draw();
  ends.draw();
  if (isVoid(document)) sheet.stamp("VOID", TONES.bad);
  sheet.footers(document.number, document.issuer.name);
  sheet.tags.end();
}

function drawHeader(sheet: Sheet, { kind, issuer, state }: InvoiceDocument): void {
  const { y: top, page } = sheet;
  const box = 30;
  sheet.shape(() => sheet.doc.roundedRect(sheet.left, top, box, box, 8).fill(issuer.color));
  const style = { size: 15, weight: 700, color: textColorOn(issuer.color) } as const;
  sheet.centered(initialOf(issuer.name), sheet.left, top + 20.5, box, style);
  const x = sheet.left + box + 11;
  const width = sheet.width * 0.58 - box;
  sheet.y = top + 1;
  const right = { x: sheet.right - 200, width: 200 };
  sheet.as("H1", () => {
    sheet.typesetter.line(kind, { ...right, y: top + 18 }, STYLES.title, "right");
  });
  if (state !== undefined) {
    const tone = { ...STYLES.bold, color: TONES[state.tone] };
    sheet.as("P", () => {
      sheet.typesetter.line(state.label, { ...right, y: top + 34 }, tone, "right");
    });
  }
  sheet.as("P", () => sheet.paragraph(issuer.name, x, width, STYLES.name));
  for (const line of issuer.lines) {
    sheet.as("P", () => sheet.paragraph(line, x, width, STYLES.soft));
  }
  sheet.y = (sheet.page === page ? Math.max(sheet.y, top + 44) : sheet.y) + GAP * 2;
}

function drawParties(sheet: Sheet, { kind, customer, facts }: InvoiceDocument): void {
  const x = sheet.right - SIDE.width;
  const column = { x: x + SIDE.label, width: SIDE.width - SIDE.label };
  const rows = facts.reduce((sum, [, value]) => sum + Math.ceil(value.length / NARROW_LINE), 0);
  sheet.makeRoom(Typesetter.height(STYLES.label) + rows * Typesetter.height(STYLES.body));
  const { y: top, page } = sheet;
  const half = sheet.width / 2 - GAP;
  const title = kind === "Invoice" ? "Billed to" : "Credited to";
  sheet.as("H2", () => sheet.paragraph(title, sheet.left, half, STYLES.label));
  sheet.as("P", () => sheet.paragraph(customer.name, sheet.left, half, STYLES.bold));
  for (const line of customer.lines) {
    sheet.as("P", () => sheet.paragraph(line, sheet.left, half, STYLES.soft));
  }
  // The facts start on the line of "Billed to", which stands on their left.
  const first = top + Typesetter.height(STYLES.label) - Typesetter.height(STYLES.body);
  let bottom = 0;
  sheet.beside(page, first, () => {
    for (const fact of facts) drawFact(sheet, fact, { x, column });
    bottom = sheet.y;
  });
  sheet.y = (sheet.page === page ? Math.max(sheet.y, bottom) : sheet.y) + GAP * 2;
}

function drawFact(
  sheet: Sheet,
  [label, value]: InvoiceDocument["facts"][number],
  { x, column }: { readonly x: number; readonly column: Column },
): void {
  sheet.y += Typesetter.height(STYLES.body);
  sheet.as("P", () => {
    sheet.typesetter.line(label, { x, y: sheet.y, width: SIDE.label }, STYLES.soft, "left");
    valueLines(sheet, value, column).forEach((line, i) => {
      if (i > 0) sheet.y += Typesetter.height(STYLES.body);
      sheet.typesetter.line(line, { ...column, y: sheet.y }, STYLES.body, "right");
    });
  });
}

/** A value on one line, set smaller if need be; in several where it would be too small to read. */
function valueLines(sheet: Sheet, value: string, { width }: Column): readonly string[] {
  const { body } = STYLES;
  const smallest = (sheet.typesetter.width(value, body) * SIZE_MIN) / body.size;
  return smallest > width ? sheet.typesetter.lines(value, width, body) : [value];
}
