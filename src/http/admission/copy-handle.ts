// The process of acceptors.ts: sends the listening socket that it is sent back, so many times. Each
// time the system makes a descriptor of its own for the same socket.

import type { SendHandle } from "node:child_process";

// The listener stays, because without one the process would end while sockets wait to be sent.
process.on("message", (copies: number, handle: SendHandle) => {
  for (let i = 0; i < copies; i++) process.send?.("copy", handle);
});
