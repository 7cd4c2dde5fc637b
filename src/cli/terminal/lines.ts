// Text that comes in pieces, line by line.

import { StringDecoder } from "node:string_decoder";

export const LINE_MAX = 128 * 1024;

/**
 * Lines without their ends, parted by line feeds alone: the other ends that Unicode has may stand
 * in a text. A line that is longer than `most` characters is cut, to bound memory, but not to that
 * length or less: whoever reads it sees that it is too long.
 */
export async function* linesOf(
  input: AsyncIterable<Buffer | string>,
  most = LINE_MAX,
): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of input) {
    const parts = (rest + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split("\n");
    rest = (parts.pop() ?? "").slice(0, most + 1);
    for (const part of parts) yield part.endsWith("\r") ? part.slice(0, -1) : part;
  }
  rest += decoder.end();
  if (rest !== "") yield rest;
}
