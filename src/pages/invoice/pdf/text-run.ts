// Draws runs of text so that they can be found, copied and read out: where the letters that a glyph
// is known by are not those that it stands for here, it is told beside it (ActualText).

import type { Glyph } from "fontkit";
import type { Face } from "./fonts.ts";

/** Characters of one face that are drawn in one direction, in the order in which they are drawn. */
export type Run = {
  readonly face: Face;
  readonly text: string;
  /** What it stands for where that is not its text: a hyphen, a small figure. */
  readonly meant?: string;
  /** The face's own right-to-left order; digits among such letters have none. */
  readonly isReversed: boolean;
  /** Its part of the size; `rise` is how far above the line, in parts of the size. */
  readonly scale: number;
  readonly rise: number;
};

/** In thousandths of the size; `advanceWidth` is the glyph's own, without kerning. */
type Position = Readonly<Record<"xAdvance" | "advanceWidth" | "xOffset" | "yOffset", number>>;
/** Glyphs that are told together: a word, or one letter where they run from the right. */
type Piece = {
  readonly glyphs: readonly Glyph[];
  readonly positions: readonly Position[];
  readonly text: string;
};
type Shaped = { readonly glyphs: readonly Glyph[]; readonly positions: readonly Position[] };

/** What is used of a font that pdfkit embeds; its types do not know it. */
type Embedded = {
  readonly id: string;
  readonly scale: number;
  readonly subset: { includeGlyph(id: number): number };
  readonly widths: number[];
  /** The letters that a reader takes a glyph for: those of its first use. */
  readonly unicode: (readonly number[] | undefined)[];
  ref(): unknown;
  layout(text: string): Shaped;
};
type Internals = {
  readonly _font: Embedded;
  readonly page: { readonly height: number; readonly fonts: Record<string, unknown> };
  addContent(line: string): void;
};

const THOUSAND = 1_000;
const NOWHERE: Position = { xAdvance: 0, advanceWidth: 0, xOffset: 0, yOffset: 0 };

/** Draws a run in the font and colour that are set; `y` is the base line. */
export function drawRun(
  doc: PDFKit.PDFDocument,
  run: Run,
  at: { readonly x: number; readonly y: number },
  size: number,
): void {
  const internals = doc as unknown as Internals;
  const { _font: font, page } = internals;
  doc.save();
  doc.transform(1, 0, 0, -1, 0, page.height);
  page.fonts[font.id] ??= font.ref();
  internals.addContent("BT");
  const line = new Line(internals, at.x, page.height - at.y + run.rise * size, size * run.scale);
  for (const piece of piecesOf(font, run)) line.add(piece);
  line.end();
  internals.addContent("ET");
  doc.restore();
}

/** How wide it is at size 1. */
export function advanceOf(doc: PDFKit.PDFDocument, run: Run): number {
  const { _font: font } = doc as unknown as Internals;
  const positions = piecesOf(font, run).flatMap((piece) => piece.positions);
  return (positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0) * run.scale) / THOUSAND;
}

function piecesOf(font: Embedded, { face, text, meant, isReversed }: Run): Piece[] {
  if (meant !== undefined) return [{ ...font.layout(text), text: meant }];
  if (!face.rtl) return wordsOf(text).map((word) => ({ ...font.layout(word), text: word }));
  const { glyphs, positions } = laidOut(font, face, text, isReversed);
  return glyphs.map((glyph, i) => ({
    glyphs: [glyph],
    positions: positions.slice(i, i + 1),
    text: String.fromCodePoint(...glyph.codePoints),
  }));
}

/** The words of a text, each with the blank behind it. */
function wordsOf(text: string): readonly string[] {
  return text.match(/[^ ]* |[^ ]+$/g) ?? [];
}

function laidOut(font: Embedded, { font: own }: Face, text: string, isReversed: boolean): Shaped {
  const direction = isReversed ? "rtl" : "ltr";
  const { glyphs, positions } = own.layout(text, [], undefined, undefined, direction);
  const scaled = positions.map((position, i) => ({
    xAdvance: position.xAdvance * font.scale,
    xOffset: position.xOffset * font.scale,
    yOffset: position.yOffset * font.scale,
    advanceWidth: (glyphs[i]?.advanceWidth ?? 0) * font.scale,
  }));
  return { glyphs, positions: scaled };
}

/** Writes pieces one behind the other. */
class Line {
  readonly #doc: Internals;
  readonly #size: number;
  readonly #y: number;
  #x: number;
  /** Whether the last glyph stood beside its place, so that the next has to be told its own. */
  #isMoved = true;
  /** What is not written yet: glyphs, and the room between them. */
  #shown: string[] = [];
  #codes = "";

  constructor(doc: Internals, x: number, y: number, size: number) {
    this.#doc = doc;
    this.#x = x;
    this.#y = y;
    this.#size = size;
    doc.addContent(`/${doc._font.id} ${short(size)} Tf`);
  }

  add({ glyphs, positions, text }: Piece): void {
    const codes = glyphs.map((glyph) => encode(this.#doc._font, glyph));
    const letters = codes.map((code) => this.#lettersOf(code)).join("");
    // Where glyphs stand beside their place, readers see gaps between words.
    const isKnown = letters === text && !positions.some(isMoved);
    if (!isKnown) this.#write(`/Span <</ActualText <${utf16(text)}>>> BDC`);
    codes.forEach((code, i) => {
      this.#show(code, positions[i] ?? NOWHERE);
    });
    if (!isKnown) this.#write("EMC");
  }

  end(): void {
    this.#gather();
    if (this.#shown.length > 0) this.#doc.addContent(`[${this.#shown.join(" ")}] TJ`);
    this.#shown = [];
  }

  #write(operator: string): void {
    this.end();
    this.#doc.addContent(operator);
  }

  #lettersOf(code: number): string {
    return String.fromCodePoint(...(this.#doc._font.unicode[code] ?? []));
  }

  #show(code: number, position: Position): void {
    const { xAdvance, advanceWidth, xOffset, yOffset } = position;
    if (this.#isMoved || isMoved(position)) {
      const x = this.#x + this.#inPoints(xOffset);
      this.#write(`1 0 0 1 ${short(x)} ${short(this.#y + this.#inPoints(yOffset))} Tm`);
      this.#isMoved = isMoved(position);
    }
    this.#codes += hex(code);
    const more = short(advanceWidth - xAdvance);
    if (more !== "0") this.#gather(more);
    this.#x += this.#inPoints(xAdvance);
  }

  #gather(...more: readonly string[]): void {
    if (this.#codes !== "") this.#shown.push(`<${this.#codes}>`, ...more);
    this.#codes = "";
  }

  #inPoints(thousandths: number): number {
    return (thousandths * this.#size) / THOUSAND;
  }
}

function isMoved({ xOffset, yOffset }: Position): boolean {
  return xOffset !== 0 || yOffset !== 0;
}

function encode(font: Embedded, glyph: Glyph): number {
  const code = font.subset.includeGlyph(glyph.id);
  font.widths[code] ??= glyph.advanceWidth * font.scale;
  font.unicode[code] ??= glyph.codePoints;
  return code;
}

function hex(code: number): string {
  return code.toString(16).padStart(4, "0");
}

/** A text in UTF-16, with the mark that says so. */
function utf16(text: string): string {
  return ["\ufeff", ...text.split("")].map((unit) => hex(unit.charCodeAt(0))).join("");
}

/** A number in six digits after the point at most, which is how pdfkit writes it. */
function short(value: number): string {
  return String(Math.round(value * 1e6) / 1e6);
}
