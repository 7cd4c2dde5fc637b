// The typefaces of PDF documents: Noto Sans from packages that hold it in slices by range of
// characters, so that names in all common scripts can be written. Only needed slices are loaded.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { create, type Font } from "fontkit";
import { mendFont } from "./mend-font.ts";
import { type Shown, substitutesFor } from "./substitutes.ts";
import { unpackFont } from "./unpack-font.ts";
import { atWeight } from "./variable-font.ts";

export type Weight = 400 | 700;

/** A loaded slice at one weight. Its name is unique, as pdfkit tells fonts apart by name. */
export type Face = { readonly name: string; readonly font: Font; readonly rtl: boolean };

type Family = {
  readonly id: string;
  readonly package: string;
  /** Slices at fixed weights come as woff, those with a weight axis as woff2. */
  readonly kind: "fixed" | "variable";
  readonly rtl: boolean;
  readonly slices: RegExp;
  /** The weights that it has, where it has not all. */
  readonly weights?: readonly Weight[];
};

const variable = (id: string, slices: RegExp): Family => {
  return { id, package: `@fontsource-variable/${id}`, kind: "variable", rtl: false, slices };
};
const fixed = (id: string, slices: RegExp, rtl = false): Family => {
  return { id, package: `@fontsource/${id}`, kind: "fixed", rtl, slices };
};

/** Scripts with a font of their own, of which the slice of that name alone is taken. */
const SCRIPTS = [
  "armenian",
  "bengali",
  "ethiopic",
  "georgian",
  "gujarati",
  "gurmukhi",
  "kannada",
  "khmer",
  "lao",
  "malayalam",
  "myanmar",
  "sinhala",
  "tamil",
  "telugu",
  "thai",
];
const NUMBERED = /^\[\d+\]$/;
const CHINESE = variable("noto-sans-sc", NUMBERED);
const JAPANESE = variable("noto-sans-jp", NUMBERED);
const KOREAN = variable("noto-sans-kr", NUMBERED);
const OTHERS: readonly Family[] = [
  fixed("noto-sans", /./),
  fixed("noto-sans-arabic", /^arabic$/, true),
  fixed("noto-sans-hebrew", /^hebrew$/, true),
  ...SCRIPTS.map((script) => variable(`noto-sans-${script}`, new RegExp(`^${script}$`))),
];
const SYMBOLS: Family = { ...fixed("noto-sans-symbols-2", /^symbols$/), weights: [400] };

/** Chinese characters have other forms in Japanese and Korean: one of the three comes first. */
const ORDERS = {
  zh: [...OTHERS, CHINESE, JAPANESE, KOREAN, SYMBOLS],
  ja: [...OTHERS, JAPANESE, CHINESE, KOREAN, SYMBOLS],
  ko: [...OTHERS, KOREAN, CHINESE, JAPANESE, SYMBOLS],
} as const;
export type Order = keyof typeof ORDERS;

/** Kana or hangul in a text tell what its Chinese characters are. */
export function orderFor(text: string): Order {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  return /\p{Script=Hangul}/u.test(text) ? "ko" : "zh";
}

const ALL_ORDERS = Object.keys(ORDERS) as Order[];

/** The sign for characters that no face has. */
export const REPLACEMENT = "\ufffd";
/** Characters that are always loaded: all that ASCII can print, and the sign for others. */
const PLAIN = [REPLACEMENT, ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))];
const WEIGHTS: readonly Weight[] = [400, 700];
/** A slice takes about 200 KB. When there are so many, all are dropped and loaded as needed. */
const LOADED_MAX = 128;

const require = createRequire(import.meta.url);
const { resolve } = require;
/** wawoff2 brings no types of its own. */
const { decompress } = require("wawoff2") as {
  decompress(font: Uint8Array): Promise<Uint8Array>;
};
const coverage = new Map<string, Promise<ReadonlyMap<number, readonly string[]>>>();
const loaded = new Map<string, Promise<Face>>();

type Both = Readonly<Record<Weight, Face>>;

/** The faces of given texts: loaded once, then chosen without waiting. */
export class Faces {
  /** The faces by order and character; undefined where none has it. */
  readonly #faces = new Map<string, Both | undefined>();

  static async of(texts: readonly string[]): Promise<Faces> {
    const faces = new Faces();
    for (const char of PLAIN) await faces.#load(char, "zh");
    for (const text of new Set(texts)) {
      const order = orderFor(text);
      for (const char of new Set(text)) await faces.#load(char, order);
    }
    return faces;
  }

  /** The face of a character; undefined when none has it. */
  faceFor(char: string, order: Order, weight: Weight): Face | undefined {
    return this.#find(char, order)?.[weight];
  }

  /** What stands for a character that no face has; undefined: nothing does. */
  substitutesFor(char: string, order: Order): readonly Shown[] | undefined {
    const shown = substitutesFor(char);
    const has = (each: Shown) => this.#find(each.char, order) !== undefined;
    return shown?.every(has) ? shown : undefined;
  }

  /** The faces of a character. A line of a text may look as if of another order than the whole. */
  #find(char: string, order: Order): Both | undefined {
    const own = this.#faces.get(`${order} ${char}`);
    if (own !== undefined) return own;
    return ALL_ORDERS.map((other) => this.#faces.get(`${other} ${char}`)).find(Boolean);
  }

  async #load(char: string, order: Order): Promise<void> {
    const key = `${order} ${char}`;
    if (this.#faces.has(key)) return;
    const found = await find(char, order);
    this.#faces.set(key, found);
    if (found !== undefined) return;
    for (const each of substitutesFor(char) ?? []) await this.#load(each.char, order);
  }
}

/** The first face that has a glyph: the published ranges name characters that their font lacks. */
async function find(char: string, order: Order): Promise<Both | undefined> {
  const code = char.codePointAt(0) ?? 0;
  for (const family of ORDERS[order]) {
    for (const slice of (await coverageOf(family)).get(code) ?? []) {
      const plain = await load(family, slice, 400);
      if (!plain.font.hasGlyphForCodePoint(code)) continue;
      const hasBold = (family.weights ?? WEIGHTS).includes(700);
      return { 400: plain, 700: hasBold ? await load(family, slice, 700) : plain };
    }
  }
  return undefined;
}

function nameOf(family: Family, slice: string, weight: Weight): string {
  return `${family.id}-${slice.replace(/\W/g, "")}-${weight}`;
}

/** The slices that say they have a code point. */
function coverageOf(family: Family): Promise<ReadonlyMap<number, readonly string[]>> {
  const known = coverage.get(family.id);
  if (known !== undefined) return known;
  const reading = readCoverage(family);
  coverage.set(family.id, reading);
  reading.catch(() => coverage.delete(family.id));
  return reading;
}

async function readCoverage(family: Family): Promise<ReadonlyMap<number, readonly string[]>> {
  const file = await readFile(resolve(`${family.package}/unicode.json`), "utf8");
  const slices = new Map<number, string[]>();
  for (const [slice, ranges] of Object.entries(JSON.parse(file) as Record<string, string>)) {
    if (!family.slices.test(slice)) continue;
    for (const range of ranges.split(",")) {
      const [from = "", to = from] = range.replace(/^U\+/i, "").split("-");
      const last = Number.parseInt(to, 16);
      for (let code = Number.parseInt(from, 16); code <= last; code++) {
        slices.set(code, [slice, ...(slices.get(code) ?? [])]);
      }
    }
  }
  return slices;
}

function load(family: Family, slice: string, weight: Weight): Promise<Face> {
  const name = nameOf(family, slice, weight);
  const known = loaded.get(name);
  if (known !== undefined) return known;
  if (loaded.size >= LOADED_MAX) loaded.clear();
  const reading = readFace(family, slice, weight);
  loaded.set(name, reading);
  reading.catch(() => loaded.delete(name));
  return reading;
}

async function readFace(family: Family, slice: string, weight: Weight): Promise<Face> {
  const name = nameOf(family, slice, weight);
  const font = await readFont(
    family,
    slice.replace(/\W/g, (char) => (char === "-" ? char : "")),
    weight,
  );
  Object.defineProperty(font, "postscriptName", { value: name });
  mendFont(font);
  return { name, font, rtl: family.rtl };
}

async function readFont(family: Family, slice: string, weight: Weight): Promise<Font> {
  const { id, kind } = family;
  const file =
    kind === "fixed" ? `${id}-${slice}-${weight}-normal.woff` : `${id}-${slice}-wght-normal.woff2`;
  const bytes = await readFile(resolve(`${family.package}/files/${file}`));
  if (kind === "fixed") return create(unpackFont(bytes)) as Font;
  // From woff2, fontkit can neither embed glyphs nor make a weight: it needs the plain form.
  const plain = create(Buffer.from(await decompress(bytes))) as Font;
  return atWeight(plain, weight);
}
