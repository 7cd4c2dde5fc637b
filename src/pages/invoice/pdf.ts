// An invoice as PDF: the head of the table is repeated on each page, and the totals stay together.

import { setImmediate as nextTurn } from "node:timers/promises";
import PDFDocument from "pdfkit";
import type { InvoiceDocument } from "../../domain/documents.ts";
import type { DocumentLine } from "../../domain/documents-lines.ts";
import { textColorOn } from "../page.ts";
import type { PaperSize } from "./html.ts";
import { type Style, Typesetter } from "./typesetter.ts";

const MARGIN = 48;
const FOOTER_HEIGHT = 36;
const GAP = 14;
const COLUMN = { units: 84, rate: 92, amount: 96 } as const;
const CELL_GAP = 10;
/** The column on the right for facts and totals. */
const SIDE = { width: 250, label: 110 } as const;
const TOTAL_HEIGHT = 17;
/** So many rows move to the next page with totals that do not fit. */
const ROWS_WITH_TOTALS = 2;
/** How far the parts of a row stand in. */
const PART_INDENT = 10;
const CONTINUED_WIDTH = 50;
const PADDING = { above: 4, part: 2, below: 5 } as const;
/** After so many rows other requests get a turn. */
const ROWS_AT_ONCE = 10;
const INK = "#171c26";
const SOFT = "#545d6e";
const RULE = "#dfe3ea";
const TONES = { good: "#136c43", warn: "#8a5200", bad: "#b01e30", mute: SOFT } as const;

const STYLES = {
  body: { size: 9.5, weight: 400, color: INK },
  bold: { size: 9.5, weight: 700, color: INK },
  soft: { size: 8.5, weight: 400, color: SOFT },
  label: { size: 8, weight: 700, color: SOFT },
  title: { size: 20, weight: 700, color: INK },
  name: { size: 11.5, weight: 700, color: INK },
  due: { size: 12.5, weight: 700, color: INK },
} as const satisfies Record<string, Style>;

const NOTE_HEIGHT = Typesetter.height(STYLES.soft) * 3;

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
    lang: "en",
    displayTitle: true,
    info: {
      Title: `Invoice ${document.number}`,
      Author: document.issuer.name,
      // The invoice's date instead of now: the same invoice gives the same bytes.
      CreationDate: document.created_at,
      ModDate: document.created_at,
    },
  });
  const chunks: Buffer[] = [];
  doc.on("data", (chunk: Buffer) => chunks.push(chunk));
  const done = new Promise<void>((resolve, reject) => {
    doc.once("end", resolve);
    doc.once("error", reject);
  });
  const typesetter = await Typesetter.for(doc, textsOf(document));
  await new InvoiceLayout(doc, typesetter, document).draw();
  doc.end();
  await done;
  return Buffer.concat(chunks);
}

/** All texts that may be drawn: their faces are loaded before. */
function textsOf(document: InvoiceDocument): string[] {
  const { issuer, customer, facts, lines, totals, state, note } = document;
  return [
    "Invoice Billed to Description Units Price Amount Page of continued 0123456789 ·",
    issuer.name.trim().slice(0, 2).toUpperCase(),
    ...[document.number, issuer.name, ...issuer.lines, customer.name, ...customer.lines],
    ...[...facts.flat(), state.label, note],
    ...lines.flatMap(({ title, details, parts, units, rate, amount }) => [
      ...[title, ...details, units, rate, amount],
      ...parts.flatMap((part) => [part.text, part.amount]),
    ]),
    ...totals.flatMap(({ label, amount }) => [label, amount]),
  ];
}

/** What is never broken over two pages: a row as such, or one of its parts. */
type Block = {
  readonly line: DocumentLine;
  readonly part?: DocumentLine["parts"][number];
  /** Of its row. */
  readonly isLast: boolean;
};

function blocksOf(line: DocumentLine): Block[] {
  const last = line.parts.length - 1;
  const parts = line.parts.map((part, i) => ({ line, part, isLast: i === last }));
  return [{ line, isLast: parts.length === 0 }, ...parts];
}

type Wrapped = { readonly titles: readonly string[]; readonly details: readonly string[] };

class InvoiceLayout {
  readonly #doc: PDFKit.PDFDocument;
  readonly #typesetter: Typesetter;
  readonly #document: InvoiceDocument;
  readonly #left = MARGIN;
  readonly #right: number;
  readonly #bottom: number;
  readonly #wraps = new Map<DocumentLine, Wrapped>();
  #y = MARGIN;

  constructor(doc: PDFKit.PDFDocument, typesetter: Typesetter, document: InvoiceDocument) {
    this.#doc = doc;
    this.#typesetter = typesetter;
    this.#document = document;
    this.#right = doc.page.width - MARGIN;
    this.#bottom = doc.page.height - MARGIN - FOOTER_HEIGHT;
  }

  async draw(): Promise<void> {
    this.#header();
    this.#parties();
    this.#tableHead();
    const blocks = this.#document.lines.flatMap(blocksOf);
    for (const [i, block] of blocks.entries()) {
      const rest = blocks.slice(i, i + ROWS_WITH_TOTALS);
      if (i > 0 && isBeforeTotals(blocks, i)) this.#keepWithTotals(rest);
      this.#makeRoomFor(block, rest[1]);
      this.#draw(block);
      // A long invoice must not keep other requests waiting until it is drawn.
      if (i % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await nextTurn();
    }
    this.#totals();
    this.#y += GAP;
    const { note } = this.#document;
    this.#makeRoom(NOTE_HEIGHT);
    this.#paragraph(note, this.#left, this.#right - this.#left, STYLES.soft);
    this.#footers();
  }

  get #width(): number {
    return this.#right - this.#left;
  }

  #header(): void {
    const { issuer, state } = this.#document;
    const top = this.#y;
    const box = 30;
    this.#doc.roundedRect(this.#left, top, box, box, 8).fill(issuer.color);
    const [first = ""] = issuer.name.trim();
    const style = { size: 15, weight: 700, color: textColorOn(issuer.color) } as const;
    const initial = first.toUpperCase();
    this.#centered(initial, this.#left, top + 20.5, box, style);
    const x = this.#left + box + 11;
    const width = this.#width * 0.58 - box;
    this.#y = top + 1;
    this.#paragraph(issuer.name, x, width, STYLES.name);
    for (const line of issuer.lines) this.#paragraph(line, x, width, STYLES.soft);
    const right = { x: this.#right - 200, width: 200 };
    this.#typesetter.line("Invoice", { ...right, y: top + 18 }, STYLES.title, "right");
    const tone = { ...STYLES.bold, color: TONES[state.tone] };
    this.#typesetter.line(state.label, { ...right, y: top + 34 }, tone, "right");
    this.#y = Math.max(this.#y, top + 44) + GAP * 2;
  }

  #parties(): void {
    const { customer, facts } = this.#document;
    const top = this.#y;
    const half = this.#width / 2 - GAP;
    this.#paragraph("Billed to", this.#left, half, STYLES.label);
    this.#paragraph(customer.name, this.#left, half, STYLES.bold);
    for (const line of customer.lines) this.#paragraph(line, this.#left, half, STYLES.soft);
    const after = this.#y;
    // The facts start on the line of "Billed to", which stands on their left.
    this.#y = top + Typesetter.height(STYLES.label) - Typesetter.height(STYLES.body);
    const x = this.#right - SIDE.width;
    for (const [label, value] of facts) {
      this.#y += Typesetter.height(STYLES.body);
      this.#typesetter.line(label, { x, y: this.#y, width: SIDE.label }, STYLES.soft, "left");
      const at = { x: x + SIDE.label, y: this.#y, width: SIDE.width - SIDE.label };
      this.#typesetter.line(value, at, STYLES.body, "right");
    }
    this.#y = Math.max(after, this.#y) + GAP * 2;
  }

  #columns() {
    const amount = { x: this.#right - COLUMN.amount, width: COLUMN.amount };
    const rate = { x: amount.x - CELL_GAP - COLUMN.rate, width: COLUMN.rate };
    const units = { x: rate.x - CELL_GAP - COLUMN.units, width: COLUMN.units };
    const title = { x: this.#left, width: units.x - CELL_GAP - this.#left };
    return { title, units, rate, amount };
  }

  #tableHead(): void {
    const { title, units, rate, amount } = this.#columns();
    this.#y += Typesetter.height(STYLES.label);
    const at = { y: this.#y };
    this.#typesetter.line("Description", { ...title, ...at }, STYLES.label, "left");
    this.#typesetter.line("Units", { ...units, ...at }, STYLES.label, "right");
    this.#typesetter.line("Price", { ...rate, ...at }, STYLES.label, "right");
    this.#typesetter.line("Amount", { ...amount, ...at }, STYLES.label, "right");
    this.#y += 6;
    this.#rule(INK, 1);
  }

  #draw({ line, part, isLast }: Block): void {
    if (part === undefined) this.#row(line);
    else this.#part(part);
    if (!isLast) return;
    this.#y += PADDING.below;
    this.#rule(RULE, 0.5);
  }

  #row(line: DocumentLine): void {
    const { title, units, rate, amount } = this.#columns();
    const { titles, details } = this.#wrapped(line);
    this.#y += PADDING.above;
    const first = this.#y + Typesetter.height(STYLES.body) - 2;
    this.#typesetter.line(line.units, { ...units, y: first }, STYLES.body, "right");
    this.#typesetter.line(line.rate, { ...rate, y: first }, STYLES.body, "right");
    this.#typesetter.line(line.amount, { ...amount, y: first }, STYLES.body, "right");
    for (const [lines, style] of [
      [titles, STYLES.body] as const,
      [details, STYLES.soft] as const,
    ]) {
      for (const text of lines) {
        this.#y += Typesetter.height(style);
        this.#typesetter.line(text, { ...title, y: this.#y - 2 }, style, "left");
      }
    }
  }

  /** As wide as the columns before the amount, so that most stand on one line. */
  #part({ text, amount }: NonNullable<Block["part"]>): void {
    const { x, width } = this.#partColumn();
    this.#y += PADDING.part;
    this.#partLines(text).forEach((line, i) => {
      this.#y += Typesetter.height(STYLES.soft);
      this.#typesetter.line(line, { x, width, y: this.#y - 2 }, STYLES.soft, "left");
      const at = { ...this.#columns().amount, y: this.#y - 2 };
      if (i === 0) this.#typesetter.line(amount, at, STYLES.soft, "right");
    });
  }

  #partColumn() {
    const x = this.#left + PART_INDENT;
    return { x, width: this.#columns().amount.x - CELL_GAP - x };
  }

  #partLines(text: string): string[] {
    return this.#typesetter.lines(text, this.#partColumn().width, STYLES.soft);
  }

  /** Kept: each row is measured before it is drawn, and breaking lines is slow. */
  #wrapped(line: DocumentLine): Wrapped {
    const known = this.#wraps.get(line);
    if (known !== undefined) return known;
    const { width } = this.#columns().title;
    const lines = (text: string, style: Style) => this.#typesetter.lines(text, width, style);
    const titles = lines(line.title, STYLES.body);
    const details = line.details.flatMap((detail) => lines(detail, STYLES.soft));
    this.#wraps.set(line, { titles, details });
    return { titles, details };
  }

  #heightOf({ line, part, isLast }: Block): number {
    const below = isLast ? PADDING.below : 0;
    const soft = Typesetter.height(STYLES.soft);
    if (part !== undefined) return PADDING.part + this.#partLines(part.text).length * soft + below;
    const { titles, details } = this.#wrapped(line);
    const text = titles.length * Typesetter.height(STYLES.body) + details.length * soft;
    return PADDING.above + text + below;
  }

  /** A row has its first part on its page. */
  #makeRoomFor(block: Block, next: Block | undefined): void {
    const follows = block.part === undefined && next?.part !== undefined;
    const height = this.#heightOf(block) + (follows ? this.#heightOf(next) : 0);
    if (this.#y + height > this.#bottom) this.#nextPageFor(block);
  }

  /** Moves the last blocks to the next page with the totals, so that these do not stand alone. */
  #keepWithTotals(blocks: readonly Block[]): void {
    const height = blocks.reduce((sum, block) => sum + this.#heightOf(block), this.#totalsHeight);
    const isFull = this.#y + height + GAP + NOTE_HEIGHT > this.#bottom;
    const [first] = blocks;
    if (isFull && height < this.#bottom / 2 && first !== undefined) this.#nextPageFor(first);
  }

  /** Where a row goes on, it is named again. */
  #nextPageFor({ line, part }: Block): void {
    this.#nextPageOfTable();
    if (part === undefined) return;
    this.#y += PADDING.above;
    const { x, width } = this.#columns().title;
    const [name = ""] = this.#typesetter.lines(line.title, width - CONTINUED_WIDTH, STYLES.soft);
    this.#paragraph(`${name}, continued`, x, width, STYLES.soft);
  }

  get #totalsHeight(): number {
    return this.#document.totals.length * TOTAL_HEIGHT + 12 + GAP;
  }

  #totals(): void {
    const { totals } = this.#document;
    this.#makeRoom(this.#totalsHeight);
    this.#y += 4;
    const x = this.#right - SIDE.width;
    totals.forEach(({ label, amount, strong }, i) => {
      const isLast = i === totals.length - 1;
      const style = isLast ? STYLES.due : strong ? STYLES.bold : STYLES.body;
      if (isLast) {
        this.#y += 8;
        this.#rule(INK, 1, x);
      }
      this.#y += TOTAL_HEIGHT;
      this.#typesetter.line(label, { x, y: this.#y, width: SIDE.label }, style, "left");
      const at = { x: x + SIDE.label, y: this.#y, width: SIDE.width - SIDE.label };
      this.#typesetter.line(amount, at, style, "right");
    });
    this.#y += GAP;
  }

  #nextPage(): void {
    this.#doc.addPage();
    this.#y = MARGIN;
    const text = `Invoice ${this.#document.number}, continued`;
    this.#paragraph(text, this.#left, this.#width, STYLES.soft);
    this.#y += GAP / 2;
  }

  #nextPageOfTable(): void {
    this.#nextPage();
    this.#tableHead();
  }

  /** Starts a new page unless this height is left on the present one. */
  #makeRoom(height: number): void {
    if (this.#y + height > this.#bottom) this.#nextPage();
  }

  /** The footer of every page, drawn last: it tells how many pages there are. */
  #footers(): void {
    const { start, count } = this.#doc.bufferedPageRange();
    const { number, issuer } = this.#document;
    const y = this.#doc.page.height - MARGIN;
    for (let i = 0; i < count; i++) {
      this.#doc.switchToPage(start + i);
      const half = this.#width / 2 - GAP;
      const left = { x: this.#left, y, width: half };
      const right = { x: this.#right - half, y, width: half };
      const [name = ""] = this.#typesetter.lines(issuer.name, half - 100, STYLES.soft);
      this.#typesetter.line(`${number} · ${name}`, left, STYLES.soft, "left");
      this.#typesetter.line(`Page ${i + 1} of ${count}`, right, STYLES.soft, "right");
    }
  }

  #paragraph(text: string, x: number, width: number, style: Style): void {
    for (const line of this.#typesetter.lines(text, width, style)) {
      this.#y += Typesetter.height(style);
      this.#typesetter.line(line, { x, y: this.#y, width }, style, "left");
    }
  }

  #centered(text: string, x: number, y: number, width: number, style: Style): void {
    const inner = this.#typesetter.width(text, style);
    this.#typesetter.line(text, { x: x + (width - inner) / 2, y, width: inner + 1 }, style, "left");
  }

  #rule(color: string, width: number, from = this.#left): void {
    this.#doc
      .moveTo(from, this.#y)
      .lineTo(this.#right, this.#y)
      .lineWidth(width)
      .strokeColor(color)
      .stroke();
  }
}

/** The last rows are not parted from the totals; the last part of one alone is not moved. */
function isBeforeTotals(blocks: readonly Block[], i: number): boolean {
  const [first, second] = blocks.slice(-ROWS_WITH_TOTALS);
  const isTorn = first?.part !== undefined && second?.part === undefined;
  return i === blocks.length - (isTorn ? 1 : ROWS_WITH_TOTALS);
}
