// The typefaces of PDF documents: Noto Sans from packages that hold it in slices by range of
// characters, so that names in all common scripts can be written. Only needed slices are loaded.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { create, type Font } from "fontkit";

export type Weight = 400 | 700;

/** A loaded slice at one weight. Its name is unique, as pdfkit tells fonts apart by name. */
export type Face = { readonly name: string; readonly font: Font; readonly rtl: boolean };

export type Family = {
  readonly id: string;
  readonly package: string;
  /** Slices at fixed weights come as woff, those with a weight axis as woff2. */
  readonly kind: "fixed" | "variable";
  readonly rtl: boolean;
  readonly slices: RegExp;
};

const CJK = { kind: "variable", rtl: false, slices: /^\[\d+\]$/ } as const;
const FAMILIES: readonly Family[] = [
  {
    id: "noto-sans",
    package: "@fontsource/noto-sans",
    kind: "fixed",
    rtl: false,
    slices: /./,
  },
  {
    id: "noto-sans-arabic",
    package: "@fontsource/noto-sans-arabic",
    kind: "fixed",
    rtl: true,
    slices: /^arabic$/,
  },
  {
    id: "noto-sans-hebrew",
    package: "@fontsource/noto-sans-hebrew",
    kind: "fixed",
    rtl: true,
    slices: /^hebrew$/,
  },
  { id: "noto-sans-sc", package: "@fontsource-variable/noto-sans-sc", ...CJK },
  { id: "noto-sans-jp", package: "@fontsource-variable/noto-sans-jp", ...CJK },
  { id: "noto-sans-kr", package: "@fontsource-variable/noto-sans-kr", ...CJK },
];

const WEIGHTS: readonly Weight[] = [400, 700];
/** A slice takes about 200 KB. When there are so many, all are dropped and loaded as needed. */
const LOADED_MAX = 128;

const require = createRequire(import.meta.url);
const { resolve } = require;
/** wawoff2 brings no types of its own. */
const { decompress } = require("wawoff2") as {
  decompress(font: Uint8Array): Promise<Uint8Array>;
};
const coverage = new Map<string, Promise<ReadonlyMap<number, string>>>();
const loaded = new Map<string, Promise<Face>>();

/** The faces of given texts: loaded once, then chosen without waiting. */
export class Faces {
  readonly #slices = new Map<string, ReadonlyMap<number, string>>();
  readonly #faces = new Map<string, Face>();

  static async of(texts: readonly string[]): Promise<Faces> {
    const faces = new Faces();
    for (const text of new Set(texts)) {
      const families = familiesFor(text);
      for (const family of families) {
        if (!faces.#slices.has(family.id)) faces.#slices.set(family.id, await coverageOf(family));
      }
      for (const char of new Set(text)) await faces.#load(char, families);
    }
    return faces;
  }

  /** Undefined when no face has the character. */
  faceFor(char: string, families: readonly Family[], weight: Weight): Face | undefined {
    const found = this.#find(char, families);
    return found && this.#faces.get(nameOf(found.family, found.slice, weight));
  }

  async #load(char: string, families: readonly Family[]): Promise<void> {
    const found = this.#find(char, families);
    if (found === undefined) return;
    const { family, slice } = found;
    for (const weight of WEIGHTS) {
      const name = nameOf(family, slice, weight);
      if (!this.#faces.has(name)) this.#faces.set(name, await load(family, slice, weight));
    }
  }

  #find(char: string, families: readonly Family[]) {
    const code = char.codePointAt(0) ?? 0;
    for (const family of families) {
      const slice = this.#slices.get(family.id)?.get(code);
      if (slice !== undefined) return { family, slice };
    }
    return undefined;
  }
}

const EUROPEAN = FAMILIES.slice(0, 1);

/**
 * Chinese characters have other forms in Japanese and Korean: kana or hangul in the text tell which
 * family to take first.
 */
export function familiesFor(text: string): readonly Family[] {
  if (!/[\u0530-\u1dff\u2100-\u{10ffff}]/u.test(text)) return EUROPEAN;
  const first = /[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)
    ? "noto-sans-jp"
    : /\p{Script=Hangul}/u.test(text)
      ? "noto-sans-kr"
      : undefined;
  if (first === undefined) return FAMILIES;
  const isCjk = (family: Family) => family.kind === "variable";
  const wanted = FAMILIES.filter(({ id }) => id === first);
  return [...FAMILIES.filter((family) => !isCjk(family)), ...wanted, ...FAMILIES.filter(isCjk)];
}

function nameOf(family: Family, slice: string, weight: Weight): string {
  return `${family.id}-${slice.replace(/\W/g, "")}-${weight}`;
}

/** The slice of each code point that the family has. */
function coverageOf(family: Family): Promise<ReadonlyMap<number, string>> {
  const known = coverage.get(family.id);
  if (known !== undefined) return known;
  const reading = readCoverage(family);
  coverage.set(family.id, reading);
  reading.catch(() => coverage.delete(family.id));
  return reading;
}

async function readCoverage(family: Family): Promise<ReadonlyMap<number, string>> {
  const file = await readFile(resolve(`${family.package}/unicode.json`), "utf8");
  const slices = new Map<number, string>();
  for (const [slice, ranges] of Object.entries(JSON.parse(file) as Record<string, string>)) {
    if (!family.slices.test(slice)) continue;
    for (const range of ranges.split(",")) {
      const [from = "", to = from] = range.replace(/^U\+/i, "").split("-");
      const last = Number.parseInt(to, 16);
      for (let code = Number.parseInt(from, 16); code <= last; code++) slices.set(code, slice);
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
  return { name, font, rtl: family.rtl };
}

async function readFont(family: Family, slice: string, weight: Weight): Promise<Font> {
  const { id, kind } = family;
  const file =
    kind === "fixed" ? `${id}-${slice}-${weight}-normal.woff` : `${id}-${slice}-wght-normal.woff2`;
  const bytes = await readFile(resolve(`${family.package}/files/${file}`));
  if (kind === "fixed") return create(bytes) as Font;
  // From woff2, fontkit can neither embed glyphs nor make a weight: it needs the plain form.
  const plain = create(Buffer.from(await decompress(bytes))) as Font;
  return atWeight(plain, weight);
}

const ON_CURVE = 1;
const HEADER_BYTES = 10;
const ALIGNMENT = 4;
/** Offsets of 32 bits in the `loca` table: many large glyphs need more than those of 16. */
const LONG_OFFSETS = 1;

type Outline = {
  readonly commands: readonly { readonly command: string; readonly args: readonly number[] }[];
};

type Internals = Omit<Font, "createSubset"> & {
  readonly loca: { version: number };
  createSubset(): { glyphEncoder: { encodeSimple(outline: Outline): Buffer } };
};

/**
 * A variable font at one weight, ready to be embedded. fontkit computes the outlines, but its own
 * encoder of such glyphs throws: it uses an interface that its stream library no longer has.
 */
function atWeight(variable: Font, wght: number): Font {
  const font = variable.getVariation({ wght }) as unknown as Internals;
  const createSubset = font.createSubset.bind(font);
  font.loca.version = LONG_OFFSETS;
  font.createSubset = () => {
    const subset = createSubset();
    subset.glyphEncoder.encodeSimple = encodeGlyph;
    return subset;
  };
  return font as unknown as Font;
}

type Point = { readonly x: number; readonly y: number; readonly flag: number };

/** A simple glyph of the `glyf` table, each point in full: no flags repeated, no short vectors. */
function encodeGlyph(outline: Outline): Buffer {
  const points: Point[] = [];
  const ends: number[] = [];
  for (const { command, args } of outline.commands) {
    if (command === "closePath") ends.push(points.length - 1);
    for (let i = 0; i < args.length; i += 2) {
      const isControl = command === "quadraticCurveTo" && i === 0;
      const [x = 0, y = 0] = [args[i], args[i + 1]].map((each) => Math.round(each ?? 0));
      points.push({ x, y, flag: isControl ? 0 : ON_CURVE });
    }
  }
  if (points.length > 0 && ends.at(-1) !== points.length - 1) ends.push(points.length - 1);
  return glyphBytes(points, ends);
}

function glyphBytes(points: readonly Point[], ends: readonly number[]): Buffer {
  const size = HEADER_BYTES + ends.length * 2 + 2 + points.length * 5;
  const bytes = Buffer.alloc(Math.ceil(size / ALIGNMENT) * ALIGNMENT);
  let at = bytes.writeInt16BE(ends.length, 0);
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  const box = [least(xs), least(ys), greatest(xs), greatest(ys)];
  for (const side of box) at = bytes.writeInt16BE(side, at);
  for (const end of ends) at = bytes.writeUInt16BE(end, at);
  at = bytes.writeUInt16BE(0, at);
  for (const { flag } of points) at = bytes.writeUInt8(flag, at);
  for (const line of [xs, ys]) {
    line.forEach((value, i) => {
      at = bytes.writeInt16BE(value - (line[i - 1] ?? 0), at);
    });
  }
  return bytes;
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), values[0] ?? 0);
}

function greatest(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), values[0] ?? 0);
}
