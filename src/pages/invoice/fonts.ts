// The faces of PDF documents: Noto Sans in slices by range of characters, from packages, so that a
// name in any common script is written in letters and not in boxes. Only needed slices are loaded.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { create, type Font } from "fontkit";
import { atWeight } from "./glyphs.ts";

export type Weight = 400 | 700;

/** A loaded slice at one weight, under a name of its own: pdfkit tells fonts apart by name. */
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
/** A slice takes about 200 KB; what is beyond this many is loaded again when needed. */
const LOADED_MAX = 128;

const require = createRequire(import.meta.url);
const { resolve } = require;
/** wawoff2 brings no types of its own. */
const { decompress } = require("wawoff2") as {
  decompress(font: Uint8Array): Promise<Uint8Array>;
};
const coverage = new Map<string, Promise<ReadonlyMap<number, string>>>();
const loaded = new Map<string, Promise<Face>>();

/** The faces of some texts: loaded once, then chosen without waiting. */
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

/** Chinese characters look different in Japanese and Korean: the other letters tell which it is. */
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

/** Which slice has a character, by its code point. */
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
  // fontkit embeds no glyphs of woff2, and no weights of it: both need the plain form.
  const plain = create(Buffer.from(await decompress(bytes))) as Font;
  return atWeight(plain, weight);
}
