// What stands below the lines of a document in a PDF: totals, what is to be known, the button to
// pay, lists of payments and the like, and the footer of the project.

import type { DocumentList, InvoiceDocument } from "../../../domain/documents/document.ts";
import type { DocumentRow } from "../../../domain/documents/totals.ts";
import { textColorOn } from "../../page.ts";
import { type Column, GAP, INK, RULE, type Sheet, STYLES } from "./sheet.ts";
import { NOTE_HEIGHT } from "./table.ts";
import type { Tag } from "./tags.ts";
import { type Align, type Style, Typesetter } from "./typesetter.ts";

/** The column on the right, for facts and totals. */
export const SIDE = { width: 250, label: 110 } as const;
/** The column of totals with long labels. */
const WIDE_SIDE = { width: 320, label: 214 } as const;
/** How many letters of a label fit the narrow column. Measuring it would leave a trace. */
const SHORT_LABEL = 20;
const TOTAL_HEIGHT = 17;
/** Measures of a list; `kept` is how many of its rows are not parted from its title. */
const LIST = { date: 74, amount: 110, row: 15, kept: 6 } as const;
const BUTTON = { height: 26, padding: 14, radius: 6 } as const;

/** The box of a link, and what it says to who has it read out. */
type LinkBox = Readonly<Record<"top" | "width" | "height", number>> & { readonly label: string };

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
      this.#sheet.as("P", () => this.#sheet.flow(tax_note, STYLES.bold));
      this.#sheet.y += GAP / 2;
    }
    if (note !== "") {
      this.#sheet.makeRoom(NOTE_HEIGHT);
      this.#sheet.as("P", () => {
        this.#sheet.paragraph(note, this.#sheet.left, this.#sheet.width, STYLES.soft);
      });
    }
    if (pay !== undefined) this.#button(pay);
    this.#howToPay();
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
    const { tags } = this.#sheet;
    const table = tags.begin("Table");
    for (const { lines, amount, isLast, style, side, height } of rows) {
      const tr = tags.begin("TR", table);
      const x = this.#sheet.right - side.width;
      this.#sheet.makeRoom(height);
      if (isLast) {
        this.#sheet.y += 8;
        this.#sheet.rule(INK, 1, x);
      }
      this.#sheet.y += TOTAL_HEIGHT;
      const { y } = this.#sheet;
      tags.within(tags.begin("TH", tr, "Row"), () => {
        lines.forEach((line, i) => {
          const at = { x, y: y + i * Typesetter.height(style), width: side.label };
          this.#typesetter.line(line, at, style, "left");
        });
      });
      const at = { x: x + side.label, y, width: side.width - side.label };
      this.#sheet.as("TD", () => this.#typesetter.line(amount, at, style, "right"), tr);
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
    const { height, radius } = BUTTON;
    this.#sheet.shape(() => doc.roundedRect(left, top, width, height, radius).fill(color));
    this.#link(url, { top, width, height, label }, () => {
      this.#sheet.centered(label, left, top + 16.5, width, style);
    });
    this.#sheet.y = top + height;
  }

  /** Draws a text that leads to an address when it is pressed anywhere in the box. */
  #link(url: string, { top, width, height, label }: LinkBox, draw: () => void): void {
    const { doc, left, tags } = this.#sheet;
    const tag = tags.begin("Link", tags.begin("P"));
    tags.within(tag, draw);
    // To pdfkit a plain string is a name of the format; only an object is text.
    const Contents = new String(label) as string;
    const options = { structParent: tag.element, Contents };
    doc.link(left, top, width, height, url, options);
    // Ended here: where the link is, is taken from the page that is written on now.
    tag.element.end();
  }

  /** Draws where to pay, and whom to ask. */
  #howToPay(): void {
    const { payment_instructions: how, support_email: email } = this.#document;
    const sheet = this.#sheet;
    if (how !== "") {
      sheet.makeRoom(GAP + 3 * Typesetter.height(STYLES.body));
      sheet.y += GAP;
      sheet.as("H2", () => sheet.paragraph("How to pay", sheet.left, sheet.width, STYLES.label));
      sheet.y += 2;
      sheet.as("P", () => sheet.flow(how, STYLES.body));
    }
    if (email === "") return;
    const height = Typesetter.height(STYLES.soft);
    sheet.makeRoom(GAP / 2 + height);
    sheet.y += GAP / 2;
    const label = `Questions? ${email}`;
    const at = { top: sheet.y, width: this.#typesetter.width(label, STYLES.soft), height, label };
    this.#link(`mailto:${email}`, at, () => {
      sheet.paragraph(label, sheet.left, sheet.width, STYLES.soft);
    });
  }

  #list({ title, rows }: DocumentList): void {
    const sheet = this.#sheet;
    const kept = Math.min(rows.length, LIST.kept);
    sheet.makeRoom(2 * GAP + (1 + kept) * LIST.row);
    sheet.y += 2 * GAP;
    sheet.as("H2", () => sheet.paragraph(title, sheet.left, sheet.width, STYLES.label));
    sheet.y += 2;
    const table = sheet.tags.begin("Table");
    const hasDates = rows.some(({ date }) => date !== "");
    for (const row of rows) this.#listRow(row, hasDates, table);
  }

  /** Draws a row: date and amount stand on the first line of its text. */
  #listRow(row: DocumentList["rows"][number], hasDates: boolean, table: Tag): void {
    const { left, right, width, tags } = this.#sheet;
    const indent = hasDates ? LIST.date : 0;
    const text = { x: left + indent, width: width - indent - LIST.amount };
    const amount = { x: right - LIST.amount, width: LIST.amount };
    const tr = tags.begin("TR", table);
    const [dateCell, textCell, amountCell] = [
      tags.begin("TD", tr),
      tags.begin("TD", tr),
      tags.begin("TD", tr),
    ];
    const draw = (cell: Tag, line: string, at: Column, style: Style, align: Align) =>
      tags.within(cell, () => {
        this.#typesetter.line(line, { ...at, y: this.#sheet.y }, style, align);
      });
    this.#typesetter.lines(row.text, text.width, STYLES.body).forEach((line, i) => {
      this.#sheet.makeRoom(LIST.row);
      this.#sheet.y += LIST.row;
      draw(textCell, line, text, STYLES.body, "left");
      if (i > 0) return;
      draw(dateCell, row.date, { x: left, width: LIST.date }, STYLES.soft, "left");
      draw(amountCell, row.amount, amount, STYLES.body, "right");
    });
  }

  #footer(text: string): void {
    this.#sheet.makeRoom(2 * GAP + Typesetter.height(STYLES.soft));
    this.#sheet.y += 2 * GAP;
    this.#sheet.rule(RULE, 0.5);
    this.#sheet.y += 4;
    this.#sheet.as("P", () => this.#sheet.flow(text, STYLES.soft));
  }
}
