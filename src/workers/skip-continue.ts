// Reads past `100 Continue`, which some receivers send before their answer: undici, not asking for
// it, takes it for a broken answer and ends the connection.

import type { Socket } from "node:net";

const NONE: Buffer = Buffer.alloc(0);
const CONTINUE = [Buffer.from("HTTP/1.1 100"), Buffer.from("HTTP/1.0 100")];
const HEAD_END = "\r\n\r\n";
/** A longer head is handed on, to be refused. */
const HEAD_BYTES_MAX = 16 * 1024;

/** Mends a connection with one request at a time: what is written begins it, the answer follows. */
export function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  let answer_begins = false;
  let held = NONE;
  socket.write = (...given: unknown[]) => {
    answer_begins = true;
    return write(...given);
  };
  socket.read = (size?: number) => {
    for (;;) {
      const chunk = read(size);
      if (!answer_begins || chunk === null) return chunk;
      held = skipped(held.length === 0 ? chunk : Buffer.concat([held, chunk]));
      if (held.length === 0 || isHeadOfContinue(held)) continue;
      const answer = held;
      answer_begins = false;
      held = NONE;
      return answer;
    }
  };
}

/** What follows any whole heads of `100 Continue`. */
function skipped(bytes: Buffer): Buffer {
  let rest = bytes;
  while (isHeadOfContinue(rest)) {
    const end = rest.indexOf(HEAD_END);
    if (end < 0) break;
    rest = rest.subarray(end + HEAD_END.length);
  }
  return rest;
}

/** Whether it begins with such a head, or may as more comes in. */
function isHeadOfContinue(bytes: Buffer): boolean {
  if (bytes.length === 0 || bytes.length > HEAD_BYTES_MAX) return false;
  return CONTINUE.some((line) => {
    const length = Math.min(line.length, bytes.length);
    return line.compare(bytes, 0, length, 0, length) === 0;
  });
}
