// A PDF that is written from top to bottom: where the next line goes, new pages, rules, paragraphs
// and what stands at the foot of every page.

import { type Style, Typesetter } from "./typesetter.ts";

export const MARGIN = 48;
const FOOTER_HEIGHT = 36;
export const GAP = 14;
export const INK = "#171c26";
export const SOFT = "#545d6e";
export const RULE = "#dfe3ea";

export const STYLES = {
  body: { size: 9.5, weight: 400, color: INK },
  bold: { size: 9.5, weight: 700, color: INK },
  soft: { size: 8.5, weight: 400, color: SOFT },
  label: { size: 8, weight: 700, color: SOFT },
  title: { size: 20, weight: 700, color: INK },
  name: { size: 11.5, weight: 700, color: INK },
  due: { size: 12.5, weight: 700, color: INK },
} as const satisfies Record<string, Style>;

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

  get width(): number {
    return this.right - this.left;
  }

  nextPage(): void {
    this.doc.addPage();
    this.y = MARGIN;
    this.paragraph(this.#continued, this.left, this.width, STYLES.soft);
    this.y += GAP / 2;
  }

  /** Starts a new page unless this height is left on the present one. */
  makeRoom(height: number): void {
    if (this.y + height > this.bottom) this.nextPage();
  }

  paragraph(text: string, x: number, width: number, style: Style): void {
    for (const line of this.typesetter.lines(text, width, style)) {
      this.y += Typesetter.height(style);
      this.typesetter.line(line, { x, y: this.y, width }, style, "left");
    }
  }

  /** A text in its own lines, over as many pages as it takes. */
  flow(text: string, style: Style): void {
    for (const part of text.split(/\r?\n/)) {
      for (const line of this.typesetter.lines(part, this.width, style)) {
        this.makeRoom(Typesetter.height(style));
        this.y += Typesetter.height(style);
        const at = { x: this.left, y: this.y, width: this.width };
        this.typesetter.line(line, at, style, "left");
      }
    }
  }

  centered(text: string, x: number, y: number, width: number, style: Style): void {
    const inner = this.typesetter.width(text, style);
    this.typesetter.line(text, { x: x + (width - inner) / 2, y, width: inner + 1 }, style, "left");
  }

  rule(color: string, width: number, from = this.left): void {
    this.doc
      .moveTo(from, this.y)
      .lineTo(this.right, this.y)
      .lineWidth(width)
      .strokeColor(color)
      .stroke();
  }

  /** The footer of every page, drawn last: it tells how many pages there are. */
  footers(number: string, issuer: string): void {
    const { start, count } = this.doc.bufferedPageRange();
    const y = this.doc.page.height - MARGIN;
    for (let i = 0; i < count; i++) {
      this.doc.switchToPage(start + i);
      const half = this.width / 2 - GAP;
      const left = { x: this.left, y, width: half };
      const right = { x: this.right - half, y, width: half };
      const [name = ""] = this.typesetter.lines(issuer, half - 100, STYLES.soft);
      this.typesetter.line(`${number} · ${name}`, left, STYLES.soft, "left");
      this.typesetter.line(`Page ${i + 1} of ${count}`, right, STYLES.soft, "right");
    }
  }
}
