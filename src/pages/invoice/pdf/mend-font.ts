// What fontkit does wrong with a font that several texts are set in, mended on the font itself.

import type { Font, Glyph } from "fontkit";

type Anchor = object | null;
type Internals = {
  getGlyph(id: number, letters?: readonly number[]): Glyph | null;
  readonly _layoutEngine?: { readonly engine?: { readonly GPOSProcessor?: Positions } };
};
type Positions = {
  applyAnchor(mark: { readonly markAnchor: Anchor }, base: Anchor, index: number): void;
};

export function mendFont(font: Font): void {
  const internals = font as unknown as Internals;
  keepLetters(internals);
  skipEmptyAnchors(internals._layoutEngine?.engine?.GPOSProcessor);
}

/**
 * It keeps one glyph of an id for the life of the font, with the letters of the text that came
 * first, or none where it was a part of another: each place gets a glyph with its own letters, on
 * top of the one that is kept, as an outline is slow to read.
 */
function keepLetters(font: Internals): void {
  const getGlyph = font.getGlyph.bind(font);
  font.getGlyph = (id, letters) => {
    const kept = getGlyph(id, letters);
    if (letters === undefined || kept === null || isSame(kept.codePoints, letters)) return kept;
    // Read now, so that it is kept with the glyph below.
    void kept.advanceWidth;
    return Object.create(kept, {
      codePoints: { value: letters },
      isMark: { value: letters.length > 0 && letters.every(isMark) },
      isLigature: { value: letters.length > 1 },
    });
  };
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((letter, i) => letter === b[i]);
}

function isMark(letter: number): boolean {
  return /\p{M}/u.test(String.fromCodePoint(letter));
}

/** A mark that has no place on a letter stays where it is; looking for the place would throw. */
function skipEmptyAnchors(positions: Positions | undefined): void {
  if (positions === undefined) return;
  const applyAnchor = positions.applyAnchor.bind(positions);
  positions.applyAnchor = (mark, base, index) => {
    if (mark.markAnchor !== null && base !== null) applyAnchor(mark, base, index);
  };
}
