// Sets lines of text in any script: chooses a face for each character, orders right-to-left runs by
// the Unicode bidirectional algorithm and breaks long texts. pdfkit draws each run.

import { createRequire } from "node:module";
import { type Face, Faces, type Family, familiesFor, type Weight } from "./fonts.ts";
import { Tags } from "./tags.ts";

export type Style = { readonly size: number; readonly weight: Weight; readonly color: string };
export type Align = "left" | "right";

/** Adjacent characters of one face, in the order in which they are drawn. */
type Run = { readonly text: string; readonly face: Face };
/** Adjacent characters of one embedding level; odd levels are right-to-left. */
type LevelRun = { readonly from: number; readonly to: number; readonly level: number };

/** bidi-js brings no types of its own. */
type Bidi = {
  getEmbeddingLevels(text: string, base: "ltr" | "rtl" | "auto"): { levels: Uint8Array };
  getMirroredCharacter(char: string): string | null;
};
const bidi = (createRequire(import.meta.url)("bidi-js") as () => Bidi)();
const words = new Intl.Segmenter("en", { granularity: "word" });
const letters = new Intl.Segmenter("en", { granularity: "grapheme" });
/** The blocks of Hebrew, Arabic and related scripts, with their presentation forms. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]/;
/** Stands for characters that no face has. */
const REPLACEMENT = "\ufffd";
export const SIZE_MIN = 5;
const LINE_HEIGHT = 1.36;

export class Typesetter {
  readonly tags: Tags;
  readonly #doc: PDFKit.PDFDocument;
  readonly #faces: Faces;
  readonly #registered = new Set<string>();
  readonly #widths = new Map<string, number>();
  readonly #runsOf = new Map<string, readonly Run[]>();

  private constructor(doc: PDFKit.PDFDocument, faces: Faces) {
    this.#doc = doc;
    this.#faces = faces;
    this.tags = new Tags(doc);
  }

  /** Loads the faces of `texts`, which are all that will be drawn. */
  static async for(doc: PDFKit.PDFDocument, texts: readonly string[]): Promise<Typesetter> {
    return new Typesetter(doc, await Faces.of([REPLACEMENT, ...texts.map(plain)]));
  }

  /** `y` is the base line. */
  line(text: string, at: { x: number; y: number; width: number }, style: Style, align: Align) {
    const fitted = this.#fitted(plain(text), at.width, style);
    const runs = this.#runs(plain(text), fitted.weight);
    if (runs.length === 0) return;
    let x = align === "left" ? at.x : at.x + at.width - this.#width(runs, fitted);
    this.tags.mark(() => {
      for (const run of runs) {
        const options = { lineBreak: false, baseline: "alphabetic", ...shaping(run.face) } as const;
        this.#use(run.face, fitted).text(run.text, x, at.y, options);
        x += this.#width([run], fitted);
      }
    });
  }

  /** The text in lines that fit, broken between words, or inside one that is too long. */
  lines(text: string, width: number, style: Style): string[] {
    const lines: string[] = [];
    let line = "";
    let used = 0;
    for (const piece of pieces(plain(text))) {
      const fits = this.width(piece.trim(), style) <= width;
      for (const part of fits ? [piece] : graphemes(piece)) {
        if (line !== "" && used + this.width(part.trimEnd(), style) > width) {
          lines.push(line.trimEnd());
          line = "";
          used = 0;
        }
        const kept = line === "" ? part.trimStart() : part;
        line += kept;
        used += this.width(kept, style);
      }
    }
    if (line.trim() !== "" || lines.length === 0) lines.push(line.trimEnd());
    return lines;
  }

  width(text: string, style: Style): number {
    return this.#width(this.#runs(plain(text), style.weight), style);
  }

  static height(style: Style): number {
    return style.size * LINE_HEIGHT;
  }

  /** Text that is too wide for its column is set smaller, never cut: it may be an amount. */
  #fitted(text: string, width: number, style: Style): Style {
    const needed = this.#width(this.#runs(text, style.weight), style);
    if (needed <= width) return style;
    return { ...style, size: Math.max(SIZE_MIN, (style.size * width) / needed) };
  }

  #use(face: Face, style: Style): PDFKit.PDFDocument {
    if (!this.#registered.has(face.name)) {
      // A fontkit font is taken as it is; the types only know files and bytes.
      this.#doc.registerFont(face.name, face.font as unknown as Buffer);
      this.#registered.add(face.name);
    }
    return this.#doc.font(face.name).fontSize(style.size).fillColor(style.color);
  }

  #width(runs: readonly Run[], style: Style): number {
    return runs.reduce((sum, run) => sum + this.#advance(run) * style.size, 0);
  }

  /** The width at size 1. Kept, because shaping is slow and invoices repeat their words. */
  #advance({ face, text }: Run): number {
    const key = `${face.name} ${text}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      const style = { size: 100, weight: 400, color: "#000000" } as const;
      width = this.#use(face, style).widthOfString(text, shaping(face)) / style.size;
      this.#widths.set(key, width);
    }
    return width;
  }

  #runs(text: string, weight: Weight): readonly Run[] {
    const key = `${weight} ${text}`;
    const known = this.#runsOf.get(key);
    if (known !== undefined) return known;
    const families = familiesFor(text);
    const runs = inVisualOrder(levelRuns(text)).flatMap(({ from, to, level }) => {
      const byFace = this.#byFace(text.slice(from, to), families, weight);
      return level % 2 === 1 ? byFace.reverse().map(reversed) : byFace;
    });
    this.#runsOf.set(key, runs);
    return runs;
  }

  #byFace(part: string, families: readonly Family[], weight: Weight): Run[] {
    const runs: Run[] = [];
    for (const char of part) {
      const last = runs.at(-1);
      const keepsFace = last !== undefined && /[\s\p{M}]/u.test(char) && has(last.face, char);
      const face = keepsFace ? last.face : this.#faces.faceFor(char, families, weight);
      const shown = face === undefined ? REPLACEMENT : char;
      const used = face ?? (this.#faces.faceFor(REPLACEMENT, families, weight) as Face);
      if (last?.face === used) runs[runs.length - 1] = { face: used, text: last.text + shown };
      else runs.push({ face: used, text: shown });
    }
    return runs;
  }
}

/**
 * With features given, pdfkit shapes a text as a whole, as right-to-left scripts need it; without,
 * it shapes word by word and remembers the words.
 */
function shaping(face: Face): { features?: PDFKit.Mixins.OpenTypeFeatures[] } {
  return face.rtl ? { features: [] } : {};
}

/** Composed (NFC), on one line, and without characters that control the direction of text. */
function plain(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\u00ad]/g, "")
    .replace(/[\p{Cc}\u2028\u2029\u00a0\u202f]+/gu, " ");
}

function pieces(text: string): string[] {
  const found: string[] = [];
  for (const { segment, isWordLike } of words.segment(text)) {
    // Marks and spaces stay with the word before them.
    if (isWordLike === true || found.length === 0) found.push(segment);
    else found[found.length - 1] += segment;
  }
  return found;
}

function graphemes(text: string): string[] {
  return [...letters.segment(text)].map(({ segment }) => segment);
}

function levelRuns(text: string): LevelRun[] {
  if (text === "") return [];
  if (!RIGHT_TO_LEFT.test(text)) return [{ from: 0, to: text.length, level: 0 }];
  const { levels } = bidi.getEmbeddingLevels(text, "auto");
  const found: LevelRun[] = [];
  for (let i = 0; i < text.length; i++) {
    const level = levels[i] ?? 0;
    const last = found.at(-1);
    if (last?.level === level) found[found.length - 1] = { ...last, to: i + 1 };
    else found.push({ from: i, to: i + 1, level });
  }
  return found;
}

/** Rule L2 of the bidirectional algorithm, on level runs. */
function inVisualOrder(found: LevelRun[]): LevelRun[] {
  const ordered = [...found];
  const deepest = Math.max(0, ...ordered.map(({ level }) => level));
  for (let level = deepest; level >= 1; level--) {
    for (let start = 0; start < ordered.length; start++) {
      let end = start;
      while ((ordered[end]?.level ?? -1) >= level) end++;
      if (end > start) {
        ordered.splice(start, end - start, ...ordered.slice(start, end).reverse());
        start = end;
      }
    }
  }
  return ordered;
}

/** fontkit reverses runs of right-to-left scripts itself; other characters are reversed here. */
function reversed(run: Run): Run {
  if (run.face.rtl) return run;
  const chars = [...run.text].reverse().map((char) => bidi.getMirroredCharacter(char) ?? char);
  return { ...run, text: chars.join("") };
}

function has(face: Face, char: string): boolean {
  return face.font.hasGlyphForCodePoint(char.codePointAt(0) ?? 0);
}
