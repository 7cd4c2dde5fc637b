// Sets lines of text in any script: chooses a face for each character, orders right-to-left runs by
// the Unicode bidirectional algorithm and breaks long texts. text-run.ts draws each run.

import { createRequire } from "node:module";
import { type Face, Faces, type Order, orderFor, REPLACEMENT, type Weight } from "./fonts.ts";
import type { Rise } from "./substitutes.ts";
import { Tags } from "./tags.ts";
import { advanceOf, drawRun, type Run } from "./text-run.ts";

export type Style = { readonly size: number; readonly weight: Weight; readonly color: string };
export type Align = "left" | "right";

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
export const SIZE_MIN = 5;
const LINE_HEIGHT = 1.36;
/** Widths are measured for all sizes at once. */
const UNSEEN: Style = { size: 100, weight: 400, color: "#000000" };
const RISES: Readonly<Record<Rise, Pick<Run, "scale" | "rise">>> = {
  on: { scale: 1, rise: 0 },
  above: { scale: 0.62, rise: 0.34 },
  below: { scale: 0.62, rise: -0.12 },
};

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
    return new Typesetter(doc, await Faces.of(texts.map(plain)));
  }

  /** `y` is the base line. */
  line(text: string, at: { x: number; y: number; width: number }, style: Style, align: Align) {
    const fitted = this.#fitted(plain(text), at.width, style);
    const runs = this.#runs(plain(text), fitted.weight);
    if (runs.length === 0) return;
    let x = align === "left" ? at.x : at.x + at.width - this.#width(runs, fitted);
    this.tags.mark(() => {
      for (const run of runs) {
        drawRun(this.#use(run.face, fitted), run, { x, y: at.y }, fitted.size);
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
  #advance(run: Run): number {
    const key = `${run.face.name} ${run.scale} ${run.text}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      width = advanceOf(this.#use(run.face, UNSEEN), run);
      this.#widths.set(key, width);
    }
    return width;
  }

  #runs(text: string, weight: Weight): readonly Run[] {
    const key = `${weight} ${text}`;
    const known = this.#runsOf.get(key);
    if (known !== undefined) return known;
    const order = orderFor(text);
    const runs = inVisualOrder(levelRuns(text)).flatMap(({ from, to, level }) => {
      const byFace = this.#byFace(text.slice(from, to), order, weight);
      return level % 2 === 1 ? byFace.reverse().map(reversed) : byFace;
    });
    this.#runsOf.set(key, runs);
    return runs;
  }

  #byFace(part: string, order: Order, weight: Weight): Run[] {
    const runs: Run[] = [];
    for (const char of part) {
      const last = runs.at(-1);
      const keepsFace = last !== undefined && /[\s\p{M}]/u.test(char) && has(last.face, char);
      const face = keepsFace ? last.face : this.#faces.faceFor(char, order, weight);
      if (face === undefined) runs.push(...this.#standingFor(char, order, weight));
      else if (last?.face !== face || last.meant !== undefined) runs.push(runOf(face, char));
      else runs[runs.length - 1] = runOf(face, last.text + char);
    }
    return runs;
  }

  /** The first of them is read as the character, the others as nothing. */
  #standingFor(char: string, order: Order, weight: Weight): Run[] {
    const shown = this.#faces.substitutesFor(char, order) ?? [{ char: REPLACEMENT, rise: "on" }];
    const meant = this.#faces.substitutesFor(char, order) === undefined ? REPLACEMENT : char;
    return shown.map((each, i) => {
      const face = this.#faces.faceFor(each.char, order, weight) as Face;
      return { ...runOf(face, each.char), ...RISES[each.rise], meant: i === 0 ? meant : "" };
    });
  }
}

function runOf(face: Face, text: string): Run {
  return { face, text, isReversed: false, ...RISES.on };
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
  if (run.face.rtl) return { ...run, isReversed: true };
  if (run.meant !== undefined) return run;
  const chars = [...run.text].reverse().map((char) => bidi.getMirroredCharacter(char) ?? char);
  return { ...run, text: chars.join("") };
}

function has(face: Face, char: string): boolean {
  return face.font.hasGlyphForCodePoint(char.codePointAt(0) ?? 0);
}
