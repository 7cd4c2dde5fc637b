// Guesses what was meant by a word that is not known.

/** The known word at an edit distance of at most two. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const close = known
    .map((each) => ({ each, off: distance(word.toLowerCase(), each) }))
    .filter(({ each, off }) => off <= 2 && off < each.length)
    .toSorted((a, b) => a.off - b.off);
  return close[0]?.each;
}

/** Levenshtein distance: how many letters to change, add or drop. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const change = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
