// How many columns of a terminal a text takes, and where it is cut. Letters of Latin scripts take
// one each; for all others there is a library, which is loaded with the first text that needs it.

/** ASCII and Latin letters: one column each. */
const NARROW = /^[\x20-\x7e\u00c0-\u024f…–−]*$/;

export type Measure = (text: string) => number;

/** A measure that fits these texts, and every part of them. */
export async function measureFor(texts: Iterable<string>): Promise<Measure> {
  for (const text of texts) {
    if (NARROW.test(text)) continue;
    const { default: stringWidth } = await import("string-width");
    return stringWidth;
  }
  return (text) => text.length;
}

/** Lines of at most so many columns, broken at spaces where there are some. */
export function wrap(text: string, columns: number, measure: Measure): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last === undefined || measure(longer) > columns) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** The text in at most so many columns, with … where something is left out. */
export function cut(text: string, columns: number, measure: Measure): string {
  if (measure(text) <= columns) return text;
  if (columns < 1) return "";
  let [kept, taken] = ["", 1];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += measure(segment);
    if (taken > columns) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}
