// Reads and writes the plainest HTTP there is: one whole request in one piece, as clients that
// keep their connection send them. Node's own parser can read everything, and takes three times as
// long. What is not plain to the last byte is not read here at all.

import { type IncomingHttpHeaders, STATUS_CODES } from "node:http";
import { wallMs } from "../clock.ts";

type PlainRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
};
type PlainMessage = { readonly request: PlainRequest; readonly body: Buffer | undefined };
export type Fields = Readonly<Record<string, string | number>>;

const HEAD_BYTES_MAX = 8 * 1024;
const HEADERS_MAX = 50;
const HEAD_END = "\r\n\r\n";
const START = /^(GET|POST) (\/[\w/:.@-]*) HTTP\/1\.1$/;
/** Single spaces and visible characters only: no folding, no tabs, nothing above ASCII. */
const HEADER = /^([A-Za-z][\w-]*): ([!-~](?:[ -~]*[!-~])?)$/;
const LENGTH = /^(?:0|[1-9]\d{0,8})$/;
/** These change where a message ends, or what its connection is for. */
const NOT_PLAIN = new Set(["transfer-encoding", "expect", "upgrade", "trailer", "te"]);

/** A head that was read, with the bytes it was read from. */
type Head = { readonly bytes: Buffer; readonly request: PlainRequest };

/** Reads the requests of one connection, whose heads are mostly the same to the byte. */
export class PlainReader {
  #last: Head | undefined;

  /** Undefined unless the bytes are exactly one plain request, from its first to its last. */
  read(bytes: Buffer): PlainMessage | undefined {
    const head = this.#lastIfSame(bytes) ?? readHead(bytes);
    if (head === undefined) return undefined;
    this.#last = head;
    const { request } = head;
    const body = bytes.subarray(head.bytes.length);
    const { "content-length": length = "0" } = request.headers;
    if (!LENGTH.test(length) || body.length !== Number(length)) return undefined;
    return { request, body: body.length === 0 ? undefined : body };
  }

  #lastIfSame(bytes: Buffer): Head | undefined {
    const last = this.#last;
    const end = last?.bytes.length ?? 0;
    if (last === undefined || bytes.length < end) return undefined;
    return last.bytes.compare(bytes, 0, end) === 0 ? last : undefined;
  }
}

function readHead(bytes: Buffer): Head | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0 || end > HEAD_BYTES_MAX) return undefined;
  const request = parseHead(bytes.toString("latin1", 0, end));
  // A copy: what came from the socket is a slice of something large.
  return request && { request, bytes: Buffer.from(bytes.subarray(0, end + HEAD_END.length)) };
}

function parseHead(text: string): PlainRequest | undefined {
  const lines = text.split("\r\n");
  const start = START.exec(lines[0] ?? "");
  if (start === null || lines.length > HEADERS_MAX) return undefined;
  const headers: Record<string, string> = {};
  for (let i = 1; i < lines.length; i++) {
    const line = HEADER.exec(lines[i] ?? "");
    if (line === null) return undefined;
    const name = (line[1] ?? "").toLowerCase();
    if (name in headers || NOT_PLAIN.has(name)) return undefined;
    headers[name] = line[2] ?? "";
  }
  const { connection = "keep-alive" } = headers;
  if (connection.toLowerCase() !== "keep-alive") return undefined;
  return { method: start[1] ?? "", url: start[2] ?? "", headers };
}

/** The connection is kept that long when nothing comes; 0 says that this was the last answer. */
export function writePlain(status: number, fields: Fields, body: string, keep_ms: number): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (const name in fields) head += `${name}: ${fields[name]}\r\n`;
  const connection =
    keep_ms === 0
      ? "Connection: close\r\n"
      : `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keep_ms / 1_000)}\r\n`;
  return `${head}Date: ${httpDate()}\r\n${connection}\r\n${body}`;
}

let dateSecond = 0;
let dateText = "";

function httpDate(): string {
  const second = Math.floor(wallMs() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1_000).toUTCString();
  }
  return dateText;
}
