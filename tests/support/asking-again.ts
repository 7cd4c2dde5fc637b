// Asking for documents as callers do who are told to try again.

import type { Answer } from "./app.ts";

/** Who is told that a PDF is still being made, on a machine with much to do, asks again. */
export async function madeInTheEnd(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
  }
}
