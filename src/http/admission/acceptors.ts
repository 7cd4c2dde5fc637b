// Lets a server accept several connections in one turn of the event loop. Node accepts one per turn
// and listening socket, and under load a turn takes 2 to 10 ms: 1,500 new callers then waited for
// up to 5 s before anything of theirs was read, be it only to be refused.

import { fork, type SendHandle } from "node:child_process";
import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import { ENTRIES } from "../../built.ts";

const COPIES = 15;
const COPYING_MS = 10_000;
/** What Node's HTTP server asks of its own socket. */
const AS_HTTP = { allowHalfOpen: true, noDelay: true };

export class Acceptors {
  readonly #server: Server;
  readonly #backlog: number;
  readonly #more: NetServer[] = [];
  #closed = false;

  constructor(server: Server, backlog: number) {
    this.#server = server;
    this.#backlog = backlog;
  }

  /** The server must listen. Its socket is copied, which in Node takes a process for a moment. */
  async add(): Promise<void> {
    const child = fork(ENTRIES.copy_handle, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      execArgv: [],
    });
    const timer = setTimeout(() => child.kill(), COPYING_MS);
    let come = 0;
    child.on("message", (_, handle) => {
      this.#listen(handle);
      come += 1;
      if (come === COPIES) child.kill();
    });
    await new Promise<void>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", () => resolve());
      const { _handle } = this.#server as unknown as { _handle: SendHandle };
      child.send(COPIES, _handle, (error) => error && reject(error));
    }).finally(() => clearTimeout(timer));
  }

  get count(): number {
    return this.#more.length;
  }

  close(): void {
    this.#closed = true;
    for (const one of this.#more.splice(0)) one.close();
  }

  #listen(handle: SendHandle): void {
    const one = new NetServer(AS_HTTP, (socket) => this.#server.emit("connection", socket));
    one.on("error", () => one.close());
    one.listen(handle, this.#backlog);
    if (this.#closed) one.close();
    else this.#more.push(one);
  }
}
