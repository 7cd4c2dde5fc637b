// What comments say: that they have a subject, so that they help before the code below is read.

import { type Fault, fault, type Source } from "./files.ts";
import { GENERATED } from "./shape.ts";

/** First words that make a comment half a sentence, whose noun is the code. */
const HALF_SENTENCE = /^(?:\/\/|\/\*+)[\s*]*(Of|Whose|Those|That|Else)\b/;

/** A comment below the head of a file begins with what it is about, unless a script wrote it. */
export function subjectFaults(source: Source): Fault[] {
  if (GENERATED.test(source.text)) return [];
  return blocksOf(source).flatMap((at) => {
    const [, word] = HALF_SENTENCE.exec(source.text.slice(at)) ?? [];
    if (word === undefined) return [];
    return [fault(source, at, `"${word}": begin the comment with what it is about.`)];
  });
}

/** Where comments begin, without the head; lines of `//` that follow one another are one. */
function blocksOf({ text, comments }: Source): number[] {
  let before = 0;
  return comments.flatMap(({ start, end }, i) => {
    const between = text.slice(before, start);
    const goesOn = text.startsWith("//", start) && /^[ \t]*\n[ \t]*$/.test(between);
    before = end;
    return i === 0 || goesOn ? [] : [start];
  });
}
