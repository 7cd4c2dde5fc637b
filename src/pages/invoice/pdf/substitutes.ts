// What is drawn for characters that no face has: hyphens that look as the plain one, small figures
// above and below the line, fractions made of them, and other forms of plain characters.

export type Rise = "above" | "below" | "on";
/** A character on the line, or a small one above or below it. */
export type Shown = { readonly char: string; readonly rise: Rise };

const ALIKE: Readonly<Record<string, string>> = {
  "\u2010": "-",
  "\u2011": "-",
  "\u2012": "-",
  "\u2015": "\u2014",
  "\u2027": "\u00b7",
};
const ABOVE = /[\u2070-\u207f\u02b0-\u02b8\u1d2c-\u1d6a]/;
const BELOW = /[\u2080-\u209c]/;
const SLASH = "\u2044";
const PARTS_MAX = 8;

/** What is drawn for a character; undefined where there is nothing that means the same. */
export function substitutesFor(char: string): readonly Shown[] | undefined {
  const alike = ALIKE[char];
  if (alike !== undefined) return [{ char: alike, rise: "on" }];
  const plain = char.normalize("NFKD");
  if (plain === char || plain.length > PARTS_MAX) return undefined;
  if (ABOVE.test(char)) return [...plain].map((each) => ({ char: each, rise: "above" }));
  if (BELOW.test(char)) return [...plain].map((each) => ({ char: each, rise: "below" }));
  const slash = plain.indexOf(SLASH);
  return [...plain].map((each, i): Shown => {
    if (slash < 0 || i === slash) return { char: each === SLASH ? "/" : each, rise: "on" };
    return { char: each, rise: i < slash ? "above" : "below" };
  });
}
