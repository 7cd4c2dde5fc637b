// Reads the body of an HTTP request: bounded in bytes, JSON only, strict.

import type { IncomingMessage } from "node:http";
import { refuse } from "../errors.ts";
import { parseJson } from "./json.ts";
import type { RequestBody, Route } from "./route.ts";

const BODY_BYTES_MAX = 1024 * 1024;
const JSON_CONTENT = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i;
const NO_BODY: RequestBody = { json: undefined };
const WITHOUT_BODY: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"]);

export async function readBody(route: Route, message: IncomingMessage): Promise<RequestBody> {
  if (WITHOUT_BODY.has(message.method)) return NO_BODY;
  const isEmpty = announcesNothing(message);
  if (!isEmpty || message.headers["content-type"] !== undefined) requireJson(message);
  if (isEmpty) return NO_BODY;
  const bytes = await collect(message, route.body_max ?? BODY_BYTES_MAX);
  if (route.unparsed) return { json: undefined, bytes };
  return bytes.length === 0 ? NO_BODY : { json: parseJson(bytes) };
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

function collect(message: IncomingMessage, max_bytes: number): Promise<Buffer> {
  const length = Number(message.headers["content-length"] ?? 0);
  if (length > max_bytes) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    message.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= max_bytes) chunks.push(chunk);
      else {
        message.removeAllListeners("data");
        reject(tooLarge());
      }
    });
    message.on("end", () => resolve(Buffer.concat(chunks)));
    // Nobody is left to read this refusal; it ends the request without an error in the log.
    const broken = () => reject(refuse("bad_request", "The body broke off."));
    message.on("error", broken);
    message.on("close", () => message.readableEnded || broken());
  });
}

/** The rest of the body is not read, so the connection cannot be used again. */
function tooLarge() {
  return refuse("payload_too_large", "The body is larger than this call takes.", {
    headers: { connection: "close" },
  });
}
