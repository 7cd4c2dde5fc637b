// One post and what comes back: ends by its deadline whatever the other side does. What the
// receiver answers is untrusted: little of it is read and less is kept.

import type { Dispatcher } from "undici";
import { monotonicMs } from "../clock.ts";

export const DEADLINE_MS = 10_000;
const BODY_BYTES_MAX = 16 * 1024;
const BODY_MS = 250;
const EXCERPT_CHARS = 1_024;
const NO_CONTENT = 204;
/** What internal networks answer how fast is nobody's business. */
const DURATION_STEP_MS = 10;

export type SendError = "timeout" | "dns" | "tls" | "connection" | "blocked_address";

export type SendResult = {
  readonly http_status: number | null;
  readonly error: SendError | null;
  readonly duration_ms: number;
  readonly response_excerpt: string | null;
  readonly retry_after: string | null;
};

/** Why an exchange was cut off; nobody is told. */
const ENOUGH = new Error("Enough was read.");

/** What the client calls as things happen. The first end counts; what comes later is ignored. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #started_ms = monotonicMs();
  readonly #deadline: NodeJS.Timeout;
  readonly #onEnd: (result: SendResult) => void;
  #body: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #ended = false;
  #status: number | null = null;
  #duration_ms = 0;
  #retry_after: string | null = null;
  #chunks: Buffer[] | undefined;
  #size = 0;

  constructor(onEnd: (result: SendResult) => void) {
    this.#onEnd = onEnd;
    this.#deadline = setTimeout(() => this.#cut("timeout"), DEADLINE_MS);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It waited for a connection beyond its deadline: not a byte of it is sent any more.
    if (this.#ended) controller.abort(ENOUGH);
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: { "retry-after"?: string | string[]; "content-length"?: string | string[] },
  ): void {
    // Informational answers come before the real one.
    if (status < 200) return;
    const { "retry-after": retry_after, "content-length": length } = headers;
    this.#status = status;
    this.#duration_ms = since(this.#started_ms);
    this.#retry_after = typeof retry_after === "string" ? retry_after : null;
    // Most receivers say nothing more: then there is nothing to wait for or to keep.
    if (status === NO_CONTENT || length === "0") return;
    this.#body = setTimeout(() => this.#cut("timeout"), BODY_MS);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#chunks ??= [];
    this.#chunks.push(chunk.subarray(0, BODY_BYTES_MAX - this.#size));
    this.#size += chunk.length;
    if (this.#size >= BODY_BYTES_MAX) this.#cut("timeout");
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

  #cut(error: SendError): void {
    this.#end(error);
    this.#controller?.abort(ENOUGH);
  }

  #end(error: SendError | null): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    if (this.#body !== undefined) clearTimeout(this.#body);
    const answered = this.#status !== null;
    this.#onEnd({
      http_status: this.#status,
      error: answered ? null : (error ?? "connection"),
      duration_ms: answered ? this.#duration_ms : since(this.#started_ms),
      response_excerpt: this.#chunks === undefined ? null : excerptOf(this.#chunks),
      retry_after: this.#retry_after,
    });
  }
}

function since(started: number): number {
  return Math.round((monotonicMs() - started) / DURATION_STEP_MS) * DURATION_STEP_MS;
}

/** A little of the answer, for people, without control characters, which a log must not carry. */
function excerptOf(chunks: readonly Buffer[]): string | null {
  const text = Buffer.concat(chunks).toString("utf8");
  const printable = text.replace(/\p{Cc}/gu, (char) =>
    char === "\n" || char === "\t" ? char : "",
  );
  const excerpt = printable.slice(0, EXCERPT_CHARS);
  return excerpt === "" ? null : excerpt.toWellFormed();
}

const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_|EPROTO)/;

function errorOf(error: unknown): SendError {
  const { code = "" } = error as { code?: string };
  if (code === "BLOCKED_ADDRESS") return "blocked_address";
  if (code === "UNRESOLVED") return "dns";
  if (/_TIMEOUT$/.test(code) || code === "ETIMEDOUT") return "timeout";
  if (TLS_CODE.test(code)) return "tls";
  return "connection";
}
