// A PDF that is written from top to bottom: where the next line goes, new pages, rules, paragraphs
// and what stands at the foot of every page.

import type { Tag, Tags } from "./tags.ts";
import { type Style, Typesetter } from "./typesetter.ts";

export const MARGIN = 48;
const FOOTER_HEIGHT = 36;
export const GAP = 14;
export const INK = "#171c26";
export const SOFT = "#545d6e";
export const RULE = "#dfe3ea";
export const CUT = "…";
const STAMP = { size: 150, degrees: -24, opacity: 0.13 } as const;

export const STYLES = {
  body: { size: 9.5, weight: 400, color: INK },
  bold: { size: 9.5, weight: 700, color: INK },
  soft: { size: 8.5, weight: 400, color: SOFT },
  label: { size: 8, weight: 700, color: SOFT },
  title: { size: 20, weight: 700, color: INK },
  name: { size: 11.5, weight: 700, color: INK },
  due: { size: 12.5, weight: 700, color: INK },
} as const satisfies Record<string, Style>;

/** Where a text stands across the page. */
export type Column = { readonly x: number; readonly width: number };

export class Sheet {
  readonly doc: PDFKit.PDFDocument;
  readonly typesetter: Typesetter;
  readonly left = MARGIN;
  readonly right: number;
  readonly bottom: number;
  /** Where the last line stands. */
  y = MARGIN;
  readonly #continued: string;

  /** `continued` heads each page but the first. */
  constructor(doc: PDFKit.PDFDocument, typesetter: Typesetter, continued: string) {
    this.doc = doc;
    this.typesetter = typesetter;
    this.#continued = continued;
    this.right = doc.page.width - MARGIN;
    this.bottom = doc.page.height - MARGIN - FOOTER_HEIGHT;
  }

  get tags(): Tags {
    return this.typesetter.tags;
  }

  /** Draws an element of its own: a paragraph, a heading, a cell. */
  as(type: string, draw: () => void, parent?: Tag): void {
    this.tags.within(this.tags.begin(type, parent), draw);
  }

  get width(): number {
    return this.right - this.left;
  }

  /** The page that is being drawn; all before it are drawn. */
  get page(): number {
    const { start, count } = this.doc.bufferedPageRange();
    return start + count - 1;
  }

  /** Draws on a former page, from `y` down, and comes back to where it was. */
  beside(page: number, y: number, draw: () => void): void {
    const back = { page: this.page, y: this.y };
    this.doc.switchToPage(page);
    this.y = y;
    draw();
    this.doc.switchToPage(back.page);
    this.y = back.y;
  }

  nextPage(): void {
    this.doc.addPage();
    this.y = MARGIN;
    this.tags.apart(() => {
      this.paragraph(this.#continued, this.left, this.width, STYLES.soft);
    });
    this.y += GAP / 2;
  }

  /** Starts a new page unless this height is left on the present one. */
  makeRoom(height: number): void {
    if (this.y + height > this.bottom) this.nextPage();
  }

  /** Draws a text in lines, which go on at the top of the next page where they must. */
  paragraph(text: string, x: number, width: number, style: Style): void {
    for (const line of this.typesetter.lines(text, width, style)) {
      this.makeRoom(Typesetter.height(style));
      this.y += Typesetter.height(style);
      this.typesetter.line(line, { x, y: this.y, width }, style, "left");
    }
  }

  /** Draws a text with lines of its own, over as many pages as it takes. */
  flow(text: string, style: Style): void {
    for (const part of text.split(/\r?\n/)) this.paragraph(part, this.left, this.width, style);
  }

  centered(text: string, x: number, y: number, width: number, style: Style): void {
    const inner = this.typesetter.width(text, style);
    this.typesetter.line(text, { x: x + (width - inner) / 2, y, width: inner + 1 }, style, "left");
  }

  rule(color: string, width: number, from = this.left): void {
    const { doc, y, right } = this;
    this.shape(() =>
      doc.moveTo(from, y).lineTo(right, y).lineWidth(width).strokeColor(color).stroke(),
    );
  }

  /** Draws what is no text, which says nothing to who has the document read out. */
  shape(draw: () => void): void {
    this.tags.apart(() => this.tags.mark(draw));
  }

  /** Draws a word across every page, light enough to read through. */
  stamp(word: string, color: string): void {
    const { doc, typesetter } = this;
    const style = { size: STAMP.size, weight: 700, color } as const;
    const width = typesetter.width(word, style);
    const [x, y] = [doc.page.width / 2, doc.page.height / 2];
    this.#onEachPage(() => {
      doc
        .save()
        .rotate(STAMP.degrees, { origin: [x, y] })
        .fillOpacity(STAMP.opacity);
      const at = { x: x - width / 2, y: y + STAMP.size / 3, width: width + 1 };
      typesetter.line(word, at, style, "left");
      doc.restore();
    });
  }

  #onEachPage(draw: (i: number, count: number) => void): void {
    const { start, count } = this.doc.bufferedPageRange();
    for (let i = 0; i < count; i++) {
      this.doc.switchToPage(start + i);
      draw(i, count);
    }
  }

  /** The part of a text that a line holds, with a mark where it goes on. */
  #cut(text: string, width: number, style: Style): string {
    const [first = "", ...rest] = this.typesetter.lines(text, width, style);
    if (rest.length === 0) return first;
    const room = width - this.typesetter.width(CUT, style);
    const [line = ""] = this.typesetter.lines(text, room, style);
    return line + CUT;
  }

  /** Draws the footer of every page; last, because it tells how many pages there are. */
  footers(number: string, issuer: string): void {
    const y = this.doc.page.height - MARGIN;
    this.#onEachPage((i, count) => {
      const half = this.width / 2 - GAP;
      const left = { x: this.left, y, width: half };
      const right = { x: this.right - half, y, width: half };
      const name = this.#cut(issuer, half - 100, STYLES.soft);
      this.typesetter.line(`${number} · ${name}`, left, STYLES.soft, "left");
      this.typesetter.line(`Page ${i + 1} of ${count}`, right, STYLES.soft, "right");
    });
  }
}
