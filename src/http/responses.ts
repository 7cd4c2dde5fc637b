// What every response has in common: the request's id, the error envelope, the log line. The only
// renderer of errors.

import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { FastifyError } from "fastify";
import type { Context } from "../context.ts";
import { type ErrorCode, OutOfRange, Refusal, refuse } from "../errors.ts";
import { observe } from "./prometheus.ts";

export const JSON_TYPE = "application/json; charset=utf-8";
const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
const SLOW_MS = 1_000;

/**
 * Uses the caller's X-Request-Id if valid, else a random UUID (a third of the cost of an ordered
 * id).
 */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}

const FASTIFY_CODES: Readonly<Record<string, [ErrorCode, string]>> = {
  FST_ERR_BAD_URL: ["not_found", "The path is not a valid URL."],
  FST_ERR_MAX_PARAM_LENGTH: ["not_found", "There is nothing at this path."],
};

/** What went wrong as the caller is told it. Our own failures go to the log with their cause. */
export function asRefusal(
  context: Context,
  error: unknown,
  request_id: string,
  route: string | undefined,
): Refusal {
  const refusal =
    knownRefusal(error) ?? refuse("internal_error", "Something went wrong on our side.");
  if (refusal.status >= 500) {
    const cause = refusal === error ? (refusal as { cause?: unknown }).cause : error;
    // What a bound refuses has no cause: it is counted, and a storm must not fill the log.
    const level = cause === undefined ? "debug" : "error";
    context.log[level]({ err: cause, request_id, route }, refusal.code);
  }
  return refusal;
}

/** The refusal that the caller can know of; undefined for a failure of ours. */
function knownRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof OutOfRange) {
    return refuse("limit_exceeded", `${error.message} A JSON number cannot show it exactly.`);
  }
  const { code = "", statusCode = 500 } = error as Partial<FastifyError>;
  const known = FASTIFY_CODES[code];
  if (known !== undefined) return refuse(known[0], known[1]);
  if (code.startsWith("FST_") && statusCode >= 400 && statusCode < 500) {
    return refuse("bad_request", "The request cannot be read.");
  }
  return undefined;
}

export function envelope(refusal: Refusal, request_id: string): string {
  const { code, message, retryable, details } = refusal;
  return JSON.stringify({
    error: { code, message, retryable, ...(details === undefined ? {} : { details }), request_id },
  });
}

/** Answers bytes that are no HTTP at all with the envelope too. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const message =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "The headers are too large."
      : "The request cannot be read.";
  const body = envelope(refuse("bad_request", message), randomUUID());
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: ${JSON_TYPE}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

type RequestLog = {
  readonly request_id: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  readonly token_id: string | undefined;
  readonly project_id: string | undefined;
};

/** Counts every answer; the log has all at debug, slow ones where an operator looks. */
export function noteAnswer(context: Context, request: RequestLog): void {
  observe(request);
  const slow = request.ms >= SLOW_MS;
  if (!slow && !context.log.isLevelEnabled("debug")) return;
  const line = { ...request, ms: Math.round(request.ms) };
  if (slow) context.log.warn(line, "slow request");
  else context.log.debug(line, "request");
}
