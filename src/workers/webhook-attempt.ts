// One attempt to deliver a webhook: the request's deadline, and what is kept of the response. The
// receiver is not trusted: at most 16 KiB of its response are read and 1,024 characters are kept.

import type { Dispatcher } from "undici";
import { monotonicMs } from "../clock.ts";
import { ATTEMPT_MAX_MS } from "../domain/webhooks.ts";

const BODY_BYTES_MAX = 16 * 1024;
const BODY_MS = 250;
const EXCERPT_CHARS = 1_024;
const NO_CONTENT = 204;
/** Durations are rounded, so that their timing does not tell which internal hosts exist. */
const DURATION_STEP_MS = 10;

export type AttemptError =
  | "timeout"
  | "dns"
  | "tls"
  | "connection"
  | "blocked_address"
  /** Nothing was sent: the endpoint's secret could not be read. */
  | "signing";

export type AttemptOutcome = {
  readonly http_status: number | null;
  readonly error: AttemptError | null;
  readonly duration_ms: number;
  readonly response_excerpt: string | null;
  readonly retry_after: string | null;
};

/** The reason given to undici for an abort. Never reported: the attempt has ended before. */
const ABORTED = new Error("The attempt has ended.");

/**
 * undici's handler of one request. The attempt ends once, by the first of: the whole response, an
 * error, the deadline, BODY_MS after the status, or BODY_BYTES_MAX of body. Calls after that are
 * ignored.
 */
export class WebhookAttempt implements Dispatcher.DispatchHandler {
  readonly #started_ms = monotonicMs();
  readonly #deadline: NodeJS.Timeout;
  readonly #onEnd: (outcome: AttemptOutcome) => void;
  #bodyDeadline: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #ended = false;
  #status: number | null = null;
  #duration_ms = 0;
  #retry_after: string | null = null;
  #chunks: Buffer[] | undefined;
  #size = 0;

  constructor(onEnd: (outcome: AttemptOutcome) => void) {
    this.#onEnd = onEnd;
    this.#deadline = setTimeout(() => this.#giveUp(), ATTEMPT_MAX_MS);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The deadline passed while the request waited for a connection: nothing is sent.
    if (this.#ended) controller.abort(ABORTED);
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: { "retry-after"?: string | string[]; "content-length"?: string | string[] },
  ): void {
    // 1xx responses precede the final one.
    if (status < 200) return;
    const { "retry-after": retry_after, "content-length": length } = headers;
    this.#status = status;
    this.#duration_ms = roundedMsSince(this.#started_ms);
    this.#retry_after = typeof retry_after === "string" ? retry_after : null;
    // Most receivers send no body: then no timer is needed.
    if (status === NO_CONTENT || length === "0") return;
    this.#bodyDeadline = setTimeout(() => this.#stopReading(), BODY_MS);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#chunks ??= [];
    this.#chunks.push(chunk.subarray(0, BODY_BYTES_MAX - this.#size));
    this.#size += chunk.length;
    if (this.#size >= BODY_BYTES_MAX) this.#stopReading();
  }

  onResponseEnd(): void {
    this.#end(null);
  }

  /** Once the status has been received, how the body ends changes nothing. */
  onResponseError(_: Dispatcher.DispatchController, error: unknown): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    this.#end(errorOf(error));
  }

  /** Enough of the body was read: the status has been received, so the attempt has its outcome. */
  #stopReading(): void {
    this.#end(null);
    this.#controller?.abort(ABORTED);
  }

  #giveUp(): void {
    this.#end("timeout");
    this.#controller?.abort(ABORTED);
  }

  #end(error: AttemptError | null): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    if (this.#bodyDeadline !== undefined) clearTimeout(this.#bodyDeadline);
    const answered = this.#status !== null;
    this.#onEnd({
      http_status: this.#status,
      error: answered ? null : (error ?? "connection"),
      duration_ms: answered ? this.#duration_ms : roundedMsSince(this.#started_ms),
      response_excerpt: this.#chunks === undefined ? null : excerptOf(this.#chunks),
      retry_after: this.#retry_after,
    });
  }
}

function roundedMsSince(started: number): number {
  return Math.round((monotonicMs() - started) / DURATION_STEP_MS) * DURATION_STEP_MS;
}

/** The start of the body for people to read, without control characters other than \n and \t. */
function excerptOf(chunks: readonly Buffer[]): string | null {
  const text = Buffer.concat(chunks).toString("utf8");
  const printable = text.replace(/\p{Cc}/gu, (char) =>
    char === "\n" || char === "\t" ? char : "",
  );
  const excerpt = printable.slice(0, EXCERPT_CHARS);
  return excerpt === "" ? null : excerpt.toWellFormed();
}

const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_|EPROTO)/;

function errorOf(error: unknown): AttemptError {
  const { code = "" } = error as { code?: string };
  if (code === "BLOCKED_ADDRESS") return "blocked_address";
  if (code === "UNRESOLVED") return "dns";
  if (/_TIMEOUT$/.test(code) || code === "ETIMEDOUT") return "timeout";
  if (TLS_CODE.test(code)) return "tls";
  return "connection";
}
