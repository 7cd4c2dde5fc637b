// Receivers that mean no good: each takes a connection and misbehaves in its own way.

import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";
import { generate } from "selfsigned";

export type Hostile = { readonly name: string; readonly url: string };

const OK = "HTTP/1.1 200 OK\r\n";
const DRIP_MS = 200;
/** Made beforehand, so that its making is not taken for the memory of who receives it. */
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));

type Behaviour = (socket: Socket) => void;

/** Acts once the whole head of the request has come in. */
function afterRequest(act: Behaviour): Behaviour {
  return (socket) => socket.once("data", () => act(socket));
}

function drip(socket: Socket, first: string, piece: () => string): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(piece()), DRIP_MS);
  socket.once("close", () => clearInterval(timer));
}

/** As fast as the other side reads. */
function pour(socket: Socket, chunk: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
}

export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  hang: () => {},
  reset: afterRequest((socket) => socket.resetAndDestroy()),
  "early end": afterRequest((socket) => socket.end("HTTP/1.1 20")),
  "dripping headers": afterRequest((socket) =>
    drip(socket, OK, () => `x-${Math.random()}: drip\r\n`),
  ),
  "dripping body": afterRequest((socket) =>
    drip(socket, `${OK}content-length: 1000000\r\n\r\n`, () => "a"),
  ),
  "endless body": afterRequest((socket) => {
    socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`);
    const size = 64 * 1024;
    pour(socket, Buffer.from(`${size.toString(16)}\r\n${"a".repeat(size)}\r\n`));
  }),
  "gzip bomb": afterRequest((socket) => {
    socket.write(`${OK}content-encoding: gzip\r\ncontent-length: ${BOMB.length}\r\n\r\n`);
    socket.end(BOMB);
  }),
  "huge header": afterRequest((socket) => {
    socket.write(OK);
    pour(socket, Buffer.from(`x-huge: ${"a".repeat(64 * 1024)}\r\n`));
  }),
  "status 500": afterRequest((socket) =>
    socket.end("HTTP/1.1 500 No\r\ncontent-length: 4\r\n\r\nno\u0000!"),
  ),
  nonsense: afterRequest((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n")),
};

export class HostileReceivers {
  readonly all: Hostile[] = [];
  /** Connections to where a redirect points. */
  trespasses = 0;
  /** Certificate, as PEM, of the authority that two of the certificates are from. */
  authority = "";
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  static async start(): Promise<HostileReceivers> {
    const made = new HostileReceivers();
    for (const [name, act] of Object.entries(BEHAVIOURS)) {
      await made.#add(name, "http", createServer(act));
    }
    const inside = createServer(() => {
      made.trespasses += 1;
    });
    const port = await made.#listen(inside);
    const away = `HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:${port}/\r\ncontent-length: 0\r\n\r\n`;
    const redirect = afterRequest((socket) => socket.end(away));
    await made.#add("redirect to loopback", "http", createServer(redirect));
    const answer = afterRequest((socket) => socket.end(`${OK}content-length: 0\r\n\r\n`));
    for (const [name, { key, cert }] of Object.entries(await made.#certificates())) {
      await made.#add(name, "https", createTlsServer({ key, cert }, answer));
    }
    await made.#add(
      "stalled handshake",
      "https",
      createServer(() => {}),
    );
    return made;
  }

  /** All three are for the address they are used at: one fault each, and one without. */
  async #certificates() {
    const authority = await certificate("a test authority", { extensions: [CAN_SIGN] });
    this.authority = authority.cert;
    const ca = authority;
    return {
      "trusted certificate": await certificate("127.0.0.1", { ca, extensions: [FOR_LOOPBACK] }),
      "expired certificate": await certificate("127.0.0.1", {
        ca,
        extensions: [FOR_LOOPBACK],
        notBeforeDate: new Date("2020-01-01T00:00:00Z"),
        notAfterDate: new Date("2021-01-01T00:00:00Z"),
      }),
      "self-signed certificate": await certificate("127.0.0.1", { extensions: [FOR_LOOPBACK] }),
    };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(
      this.#servers.map((server) => new Promise((resolve) => server.close(resolve))),
    );
  }

  async #add(name: string, scheme: string, server: Server): Promise<void> {
    const port = await this.#listen(server);
    this.all.push({ name, url: `${scheme}://127.0.0.1:${port}/${encodeURIComponent(name)}` });
  }

  async #listen(server: Server): Promise<number> {
    this.#servers.push(server);
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("tlsClientError", () => {});
    server.on("secureConnection", (socket: Socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }
}

const CAN_SIGN = { name: "basicConstraints" as const, cA: true, critical: true };
const FOR_LOOPBACK = {
  name: "subjectAltName" as const,
  altNames: [{ type: 7 as const, ip: "127.0.0.1" }],
};

/** Valid from yesterday for a year unless the terms say otherwise. */
async function certificate(name: string, terms: NonNullable<Parameters<typeof generate>[1]>) {
  const made = await generate([{ name: "commonName", value: name }], { keySize: 2048, ...terms });
  return { key: made.private, cert: made.cert };
}
