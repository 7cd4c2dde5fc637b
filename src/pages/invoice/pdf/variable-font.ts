// A variable font at one weight, in a form that can be embedded.

import type { Font } from "fontkit";

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
export function atWeight(variable: Font, wght: number): Font {
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
