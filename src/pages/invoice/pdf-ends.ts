// What stands below the lines of a document in a PDF: totals, what is to be known, the button to
// pay, lists of payments and the like, and the footer of the project.

import type { DocumentList, InvoiceDocument } from "../../domain/documents.ts";
import type { DocumentRow } from "../../domain/documents-totals.ts";
import { textColorOn } from "../page.ts";
import { NOTE_HEIGHT } from "./pdf-table.ts";
import { GAP, INK, RULE, type Sheet, STYLES } from "./sheet.ts";
import { Typesetter } from "./typesetter.ts";

/** The column on the right for facts and totals; the wide one is for labels that are long. */
export const SIDE = { width: 250, label: 110 } as const;
const WIDE_SIDE = { width: 320, label: 214 } as const;
/** Labels of so many letters fit the narrow column. They are not measured: that leaves a trace. */
const SHORT_LABEL = 20;
const TOTAL_HEIGHT = 17;
/** So many rows of a list are not parted from its title. */
const LIST = { date: 74, amount: 110, row: 15, kept: 6 } as const;
const BUTTON = { height: 26, padding: 14, radius: 6 } as const;

export class Ends {
  readonly #sheet: Sheet;
  readonly #typesetter: Typesetter;
  readonly #document: InvoiceDocument;

  constructor(sheet: Sheet, document: InvoiceDocument) {
    this.#sheet = sheet;
    this.#typesetter = sheet.typesetter;
    this.#document = document;
  }

  draw(): void {
    this.#totals();
    this.#sheet.y += GAP;
    const { tax_note, note, pay, lists, footer } = this.#document;
    if (tax_note !== "") {
      this.#sheet.flow(tax_note, STYLES.bold);
      this.#sheet.y += GAP / 2;
    }
    if (note !== "") {
      this.#sheet.makeRoom(NOTE_HEIGHT);
      this.#sheet.paragraph(note, this.#sheet.left, this.#sheet.width, STYLES.soft);
    }
    if (pay !== undefined) this.#button(pay);
    for (const list of lists) this.#list(list);
    if (footer !== "") this.#footer(footer);
  }

  get totalsHeight(): number {
    return this.#rows().reduce((sum, { height }) => sum + height, 12 + GAP);
  }

  #rows() {
    const { totals } = this.#document;
    const isShort = ({ label }: DocumentRow) => label.length <= SHORT_LABEL;
    const side = totals.every(isShort) ? SIDE : WIDE_SIDE;
    return totals.map((row, i) => {
      const { label, amount, strong } = row;
      const isLast = i === totals.length - 1;
      const style = isLast ? STYLES.due : strong ? STYLES.bold : STYLES.body;
      const lines = isShort(row) ? [label] : this.#typesetter.lines(label, side.label, style);
      const height = TOTAL_HEIGHT + (lines.length - 1) * Typesetter.height(style);
      return { lines, amount, isLast, style, side, height };
    });
  }

  #totals(): void {
    const rows = this.#rows();
    this.#sheet.makeRoom(this.totalsHeight);
    this.#sheet.y += 4;
    for (const { lines, amount, isLast, style, side, height } of rows) {
      const x = this.#sheet.right - side.width;
      this.#sheet.makeRoom(height);
      if (isLast) {
        this.#sheet.y += 8;
        this.#sheet.rule(INK, 1, x);
      }
      this.#sheet.y += TOTAL_HEIGHT;
      const { y } = this.#sheet;
      lines.forEach((line, i) => {
        const at = { x, y: y + i * Typesetter.height(style), width: side.label };
        this.#typesetter.line(line, at, style, "left");
      });
      const at = { x: x + side.label, y, width: side.width - side.label };
      this.#typesetter.line(amount, at, style, "right");
      this.#sheet.y += height - TOTAL_HEIGHT;
    }
    this.#sheet.y += GAP;
  }

  #button({ label, url }: NonNullable<InvoiceDocument["pay"]>): void {
    const { color } = this.#document.issuer;
    const style = { ...STYLES.bold, color: textColorOn(color) };
    const width = this.#typesetter.width(label, style) + 2 * BUTTON.padding;
    this.#sheet.makeRoom(BUTTON.height + GAP);
    const { doc, left } = this.#sheet;
    const top = this.#sheet.y + GAP;
    doc.roundedRect(left, top, width, BUTTON.height, BUTTON.radius).fill(color);
    this.#sheet.centered(label, left, top + 16.5, width, style);
    doc.link(left, top, width, BUTTON.height, url);
    this.#sheet.y = top + BUTTON.height;
  }

  #list({ title, rows }: DocumentList): void {
    const { left, right, width } = this.#sheet;
    const hasDates = rows.some(({ date }) => date !== "");
    const text = { x: left + (hasDates ? LIST.date : 0) };
    const room = width - LIST.amount - (text.x - left);
    const kept = Math.min(rows.length, LIST.kept);
    this.#sheet.makeRoom(2 * GAP + (1 + kept) * LIST.row);
    this.#sheet.y += 2 * GAP;
    this.#sheet.paragraph(title, left, width, STYLES.label);
    this.#sheet.y += 2;
    for (const row of rows) {
      const lines = this.#typesetter.lines(row.text, room, STYLES.body);
      lines.forEach((line, i) => {
        this.#sheet.makeRoom(LIST.row);
        this.#sheet.y += LIST.row;
        const { y } = this.#sheet;
        this.#typesetter.line(line, { ...text, y, width: room }, STYLES.body, "left");
        if (i > 0) return;
        const date = { x: left, y, width: LIST.date };
        this.#typesetter.line(row.date, date, STYLES.soft, "left");
        const amount = { x: right - LIST.amount, y, width: LIST.amount };
        this.#typesetter.line(row.amount, amount, STYLES.body, "right");
      });
    }
  }

  #footer(text: string): void {
    this.#sheet.makeRoom(2 * GAP + Typesetter.height(STYLES.soft));
    this.#sheet.y += 2 * GAP;
    this.#sheet.rule(RULE, 0.5);
    this.#sheet.y += 4;
    this.#sheet.flow(text, STYLES.soft);
  }
}
