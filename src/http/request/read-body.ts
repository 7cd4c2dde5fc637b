// Reads the body of an HTTP request: bounded in bytes, with all others too, JSON only, strict.

import type { IncomingMessage } from "node:http";
import { allRead } from "../../all-read.ts";
import { BODY_BYTES_MAX } from "../../domain/json-values.ts";
import { refuse } from "../../errors.ts";
import type { BodyRoom, Held, Sender } from "../admission/body-room.ts";
import type { RequestBody, Route } from "../route.ts";
import { parseJson, parseLargeJson } from "./json.ts";

const JSON_CONTENT = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i;
const NO_BODY: RequestBody = { json: undefined };
const EMPTY = Buffer.alloc(0);
const WITHOUT_BODY: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"]);

export async function readBody(
  route: Route,
  message: IncomingMessage,
  room: BodyRoom,
  sender: Sender | undefined,
): Promise<RequestBody> {
  const has = hasBody(message);
  const max_bytes = route.body_max ?? BODY_BYTES_MAX;
  if (has && announcedBytes(message) > max_bytes) throw tooLarge();
  await allRead();
  if (!has) return NO_BODY;
  // Most bodies come in one piece with their headers. Without the events of a stream they take 4 µs
  // less, and they need no room: large ones that come slowly must not keep them out.
  if (message.complete) return parsed(route, whole(message, max_bytes));
  // What it announces is held before any of it is read: of 80 bodies of 7 MB at once, those
  // without room then get their answer first.
  const held = room.hold(announcedBytes(message), sender);
  try {
    const bytes = await collect(message, max_bytes, held);
    const turn = room.turn(bytes.length, sender);
    return turn === undefined ? parsed(route, bytes) : await parsedLarge(route, bytes, await turn);
  } finally {
    held.end();
  }
}

function parsed(route: Route, bytes: Buffer): RequestBody {
  if (route.unparsed) return { json: undefined, bytes };
  return bytes.length === 0 ? NO_BODY : { json: parseJson(bytes, route.apart) };
}

/** Parses a large body, whose turn ends with its request, or here when it cannot be read. */
async function parsedLarge(route: Route, bytes: Buffer, release: () => void): Promise<RequestBody> {
  if (route.unparsed) return { json: undefined, bytes, release };
  try {
    return { json: await parseLargeJson(bytes, route.apart), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Whether a body is sent. Throws 415 for one that is not plain JSON. */
function hasBody(message: IncomingMessage): boolean {
  if (WITHOUT_BODY.has(message.method)) return false;
  const isEmpty = announcesNothing(message);
  if (!isEmpty || message.headers["content-type"] !== undefined) requireJson(message);
  if (isEmpty) return false;
  requirePlain(message);
  return true;
}

function announcesNothing({ headers }: IncomingMessage): boolean {
  const { "content-length": length = "0", "transfer-encoding": coding } = headers;
  return coding === undefined && length === "0";
}

function requireJson({ headers: { "content-type": type = "" } }: IncomingMessage): void {
  if (JSON_CONTENT.test(type)) return;
  throw refuse(
    "unsupported_media_type",
    "Send JSON, with the header content-type: application/json.",
  );
}

/** Refuses packed bodies: a few KB can unpack to gigabytes, which would pass every bound. */
function requirePlain({ headers: { "content-encoding": coding = "identity" } }: IncomingMessage) {
  if (coding.trim().toLowerCase() === "identity") return;
  throw refuse(
    "unsupported_media_type",
    "Send the body as it is, without Content-Encoding: compressed bodies are not taken.",
  );
}

function announcedBytes({ headers }: IncomingMessage): number {
  return Number(headers["content-length"] ?? 0);
}

function whole(message: IncomingMessage, max_bytes: number): Buffer {
  const bytes: Buffer = message.read() ?? EMPTY;
  if (bytes.length > max_bytes) throw tooLarge();
  return bytes;
}

/** Reads a body that is still coming. Without an announcement it holds what has come. */
async function collect(message: IncomingMessage, max_bytes: number, held: Held): Promise<Buffer> {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (error: unknown) => {
      message.removeAllListeners("data");
      reject(error);
    };
    // Nobody is left to read this refusal; it ends the request without an error in the log.
    const onClose = () => {
      if (!message.readableEnded) fail(refuse("bad_request", "The body broke off."));
    };
    if (message.destroyed) return onClose();
    message.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > max_bytes) return fail(tooLarge());
      try {
        held.grow(size);
      } catch (error) {
        return fail(error);
      }
      chunks.push(chunk);
    });
    message.on("end", () => resolve(joined(chunks)));
    message.on("close", onClose);
  });
  await allRead();
  return bytes;
}

/** Most bodies are one chunk, which need not be copied. */
function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
}

/** Refuses a body whose rest is not read, so that the connection cannot be used again. */
function tooLarge() {
  return refuse("payload_too_large", "The body is larger than this call takes.", {
    headers: { connection: "close" },
  });
}
