// Sends one call over fetch: sets headers and a deadline, and retries where that is safe.

import { wallMs } from "../clock.ts";
import type { ApiCall, CallOptions } from "./call.ts";
import { DuesError, errorOf } from "./error.ts";

export type DuesOptions = {
  /** Such as `http://127.0.0.1:8080`, without `/v1`. */
  readonly base_url: string;
  readonly token: string;
  /** Sent as X-Project-Id with every call that is about a project. */
  readonly project_id?: string | undefined;
  /** Replaces the global fetch, for tests and proxies. */
  readonly fetch?: typeof fetch;
  /** How often a failed call is repeated; 0 turns it off. */
  readonly retries?: number;
  /** How long one attempt may take. */
  readonly timeout_ms?: number;
};

const RETRIES = 4;
const TIMEOUT_MS = 60_000;
const FIRST_WAIT_MS = 250;
const WAIT_MS_MAX = 8_000;
/** A longer Retry-After is not waited for: the call fails at once. */
const RETRY_AFTER_MS_MAX = 60_000;

export class Transport {
  readonly #options: DuesOptions;
  readonly #base: string;

  constructor(options: DuesOptions) {
    if (!/^https?:\/\//.test(options.base_url)) {
      throw new TypeError(`base_url must start with http:// or https://: "${options.base_url}"`);
    }
    this.#options = options;
    this.#base = options.base_url.replace(/\/+$/, "");
  }

  async send<Reply>(call: ApiCall, options: CallOptions = {}): Promise<Reply> {
    const request = this.#request(call, options);
    const url = `${this.#base}${call.path}${queryText(call.query)}`;
    const retries = this.#options.retries ?? RETRIES;
    for (let attempt = 0; ; attempt++) {
      try {
        return (await this.#attempt(url, request, options.signal)) as Reply;
      } catch (error) {
        const wait = attempt < retries ? waitFor(error, call, attempt) : undefined;
        if (wait === undefined || options.signal?.aborted) throw publicError(error);
        await delay(wait, options.signal);
      }
    }
  }

  #request(call: ApiCall, options: CallOptions): RequestInit {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#options.token}` };
    const project = options.project_id ?? this.#options.project_id;
    if (call.project !== false && project !== undefined) headers["x-project-id"] = project;
    // All attempts of a call send the same key, so that its effect happens once.
    if (isKeyed(call)) {
      headers["idempotency-key"] = options.idempotency_key ?? crypto.randomUUID();
    }
    if (call.body === undefined) return { method: call.method, headers };
    headers["content-type"] = "application/json";
    return { method: call.method, headers, body: JSON.stringify(call.body) };
  }

  async #attempt(
    url: string,
    request: RequestInit,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const send = this.#options.fetch ?? fetch;
    const deadline = AbortSignal.timeout(this.#options.timeout_ms ?? TIMEOUT_MS);
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    let response: Response;
    let body: ArrayBuffer;
    try {
      // The token goes to no other address. Not "error": some edge runtimes do not know it.
      response = await send(url, { ...request, signal: either, redirect: "manual" });
      body = await response.arrayBuffer();
    } catch (cause) {
      throw new NoAnswer(this.#base, cause);
    }
    const { ok, status, headers } = response;
    if (ok) return readAs(body, headers.get("content-type") ?? "");
    throw new ErrorAnswer(errorOf(status, textOf(body), url), headers.get("retry-after"));
  }
}

/** JSON is parsed, other text is a string, and anything else (a PDF) is bytes. */
function readAs(body: ArrayBuffer, type: string): unknown {
  if (body.byteLength === 0) return undefined;
  if (type.startsWith("application/json")) return JSON.parse(textOf(body));
  return type.startsWith("text/") ? textOf(body) : new Uint8Array(body);
}

function textOf(body: ArrayBuffer): string {
  return new TextDecoder().decode(body);
}

/** No answer came: the call may or may not have had its effect. */
class NoAnswer extends Error {
  readonly error: DuesError;
  constructor(base: string, cause: unknown) {
    super("no answer");
    const message = `No answer from ${base}: ${reasonOf(cause)}`;
    const code = "network_error";
    this.error = new DuesError({ status: 0, code, message, retryable: true, cause });
  }
}

/** The server answered with an error, and perhaps with a Retry-After. */
class ErrorAnswer extends Error {
  readonly error: DuesError;
  readonly retry_after: string | null;
  constructor(error: DuesError, retry_after: string | null) {
    super("error answer");
    this.error = error;
    this.retry_after = retry_after;
  }
}

function publicError(error: unknown): unknown {
  return error instanceof NoAnswer || error instanceof ErrorAnswer ? error.error : error;
}

function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  if (!(inner instanceof Error)) return String(inner);
  const { code } = inner as { code?: string };
  return inner.message !== "" ? inner.message : (code ?? inner.name);
}

/** Milliseconds to wait before the next attempt; undefined when there should be none. */
function waitFor(error: unknown, call: ApiCall, attempt: number): number | undefined {
  const backoff = Math.min(FIRST_WAIT_MS * 2 ** attempt, WAIT_MS_MAX);
  // Half of the wait is random, so that many clients do not retry at the same moment.
  const jittered = backoff / 2 + (Math.random() * backoff) / 2;
  if (error instanceof NoAnswer) return isRepeatable(call) ? jittered : undefined;
  if (!(error instanceof ErrorAnswer) || !error.error.retryable) return undefined;
  const asked = retryAfterMs(error.retry_after);
  if (asked === undefined) return jittered;
  return asked > RETRY_AFTER_MS_MAX ? undefined : Math.max(asked, 1);
}

/** Whether a call may be sent again when no answer came: events carry a transaction_id. */
function isRepeatable(call: ApiCall): boolean {
  const { method, path } = call;
  return isKeyed(call) || method === "GET" || method === "PUT" || path.startsWith("/v1/events");
}

function isKeyed({ method, keyed = method !== "GET" }: ApiCall): boolean {
  return keyed;
}

function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - wallMs());
}

function queryText(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
}

function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}
