// Sends one call over fetch: sets headers and a deadline, and retries where that is safe.

import { wallMs } from "../clock.ts";
import type { AnswerKind, ApiCall, CallOptions } from "./call.ts";
import { DuesError, errorOf, foreignAnswer, withoutPassword } from "./error.ts";

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
    const shown = withoutPassword(options.base_url);
    if (!/^https?:\/\//.test(options.base_url)) {
      throw new TypeError(`base_url must start with http:// or https://: "${shown}"`);
    }
    // The token is what is sent: a second secret would be sent nowhere, and be shown in errors.
    if (shown !== options.base_url) {
      throw new TypeError(`base_url must not hold a user name or password: "${shown}"`);
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
        return (await this.#attempt(url, request, call, options)) as Reply;
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
    const key = options.idempotency_key ?? (isNamed(call) ? undefined : crypto.randomUUID());
    if (isKeyed(call) && key !== undefined) headers["idempotency-key"] = key;
    if (call.body === undefined) return { method: call.method, headers };
    headers["content-type"] = "application/json";
    return { method: call.method, headers, body: JSON.stringify(call.body) };
  }

  async #attempt(
    url: string,
    request: RequestInit,
    call: ApiCall,
    { signal, timeout_ms = this.#options.timeout_ms ?? TIMEOUT_MS }: CallOptions,
  ): Promise<unknown> {
    const send = this.#options.fetch ?? fetch;
    const deadline = AbortSignal.timeout(timeout_ms);
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    let response: Response;
    let body: ArrayBuffer;
    try {
      // The token goes to no other address. Not "error": some edge runtimes do not know it.
      response = await send(url, { ...request, signal: either, redirect: "manual" });
      body = await response.arrayBuffer();
    } catch (cause) {
      throw new NoAnswer(networkError(this.#base, cause));
    }
    const { ok, status, headers } = response;
    const type = headers.get("content-type") ?? "";
    if (ok) {
      const read = readAs(call.answer ?? "json", status, body, type);
      if (read !== NOT_OF_THE_API) return read;
      throw new NoAnswer(foreignAnswer(status, url));
    }
    const error = errorOf(status, textOf(body), url, headers.get("location"));
    throw new ErrorAnswer(error, headers.get("retry-after"));
  }
}

/** A page of a proxy that is in maintenance, or whatever answers at a wrong address. */
const NOT_OF_THE_API = Symbol("not of the API");

function readAs(answer: AnswerKind, status: number, body: ArrayBuffer, type: string): unknown {
  const isEmpty = body.byteLength === 0;
  if (answer === "none") return isEmpty && status === 204 ? undefined : NOT_OF_THE_API;
  if (answer === "json or none" && isEmpty && status === 202) return undefined;
  if (isEmpty) return NOT_OF_THE_API;
  if (answer === "document") return documentOf(body, type);
  return type.startsWith(JSON_TYPE) ? jsonOf(textOf(body)) : NOT_OF_THE_API;
}

const JSON_TYPE = "application/json";

/** Text is a string, anything else (a PDF) is bytes. */
function documentOf(body: ArrayBuffer, type: string): unknown {
  if (type.startsWith(JSON_TYPE)) return NOT_OF_THE_API;
  return type.startsWith("text/") ? textOf(body) : new Uint8Array(body);
}

function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : NOT_OF_THE_API;
  } catch {
    return NOT_OF_THE_API;
  }
}

function textOf(body: ArrayBuffer): string {
  return new TextDecoder().decode(body);
}

/** None came, or none of the API's: the call may or may not have had its effect. */
class NoAnswer extends Error {
  readonly error: DuesError;
  constructor(error: DuesError) {
    super("no answer");
    this.error = error;
  }
}

function networkError(base: string, cause: unknown): DuesError {
  const message = `No answer from ${base}: ${reasonOf(cause)}`;
  return new DuesError({ status: 0, code: "network_error", message, retryable: true, cause });
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

/** Whether a call may be sent again when no answer came. */
function isRepeatable(call: ApiCall): boolean {
  return isKeyed(call) || call.method === "GET" || isNamed(call);
}

/** By their transaction_id events count once: a key that is made up would be kept for nothing. */
function isNamed({ path }: ApiCall): boolean {
  return path.startsWith("/v1/events");
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
