// A font that is unpacked is the one that was packed: what it shows, letter by letter, is the same.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { create, type Font } from "fontkit";
import { describe, expect, test } from "vitest";
import { unpackFont } from "../../../../src/pages/invoice/pdf/unpack-font.ts";

const { resolve } = createRequire(import.meta.url);
const PACKAGES = ["noto-sans", "noto-sans-arabic", "noto-sans-hebrew", "noto-sans-symbols-2"];
const WRITTEN = /-(latin|arabic|hebrew|symbols)-400-normal\.woff$/;

const fonts = PACKAGES.flatMap((name) => {
  const folder = join(dirname(resolve(`@fontsource/${name}/unicode.json`)), "files");
  const files = readdirSync(folder).filter((file) => WRITTEN.test(file));
  return files.map((file) => [file, readFileSync(join(folder, file))] as const);
});

function shownBy(font: Font) {
  return font.characterSet.slice(0, 12).map((code) => {
    const { id, advanceWidth, path } = font.glyphForCodePoint(code);
    return [code, id, advanceWidth, path.toSVG()];
  });
}

test("there are fonts to look at", () => {
  expect(fonts.length).toBeGreaterThanOrEqual(PACKAGES.length);
});

describe.each(fonts)("%s", (_file, woff) => {
  const plain = unpackFont(woff);

  test("letters have their outlines and widths", () => {
    expect(shownBy(create(plain) as Font)).toEqual(shownBy(create(woff) as Font));
  });

  test("each table has the sum of its bytes that the file says it has", () => {
    for (let i = 0; i < plain.readUInt16BE(4); i++) {
      const [tag, said, at, length] = [0, 4, 8, 12].map((field) =>
        plain.readUInt32BE(12 + i * 16 + field),
      ) as [number, number, number, number];
      let sum = 0;
      // The sum of the first table is of the file without the field in it that adds up all.
      const isHead = tag === Buffer.from("head").readUInt32BE();
      for (let byte = 0; byte < length; byte += 4) {
        if (!(isHead && byte === 8)) sum = (sum + plain.readUInt32BE(at + byte)) >>> 0;
      }
      expect([tag, sum]).toEqual([tag, said]);
    }
  });
});
