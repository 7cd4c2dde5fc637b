// Sends one call over fetch: headers, deadline, and repeats where repeating is safe.

import { wallMs } from "../clock.ts";
import type { CallOptions, Wanted } from "./call.ts";
import { DuesError, errorOf } from "./error.ts";

export type DuesOptions = {
  /** Such as `http://127.0.0.1:8080`, without `/v1`. */
  readonly base_url: string;
  readonly token: string;
  /** Goes as X-Project-Id with every call that is about a project. */
  readonly project_id?: string | undefined;
  /** Any function of the same shape, for tests and proxies. */
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
/** A server that asks for more than this is not waited for. */
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

  async send<Reply>(wanted: Wanted, options: CallOptions = {}): Promise<Reply> {
    const request = this.#request(wanted, options);
    const url = `${this.#base}${wanted.path}${queryText(wanted.query)}`;
    const retries = this.#options.retries ?? RETRIES;
    for (let attempt = 0; ; attempt++) {
      try {
        return (await this.#attempt(url, request, options.signal)) as Reply;
      } catch (error) {
        const wait = attempt < retries ? waitFor(error, wanted, attempt) : undefined;
        if (wait === undefined || options.signal?.aborted) throw plain(error);
        await delay(wait, options.signal);
      }
    }
  }

  #request(wanted: Wanted, options: CallOptions): RequestInit {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#options.token}` };
    const project = options.project_id ?? this.#options.project_id;
    if (wanted.project !== false && project !== undefined) headers["x-project-id"] = project;
    // One key for the call, whatever the number of attempts: the effect happens once.
    if (isKeyed(wanted)) {
      headers["idempotency-key"] = options.idempotency_key ?? crypto.randomUUID();
    }
    if (wanted.body === undefined) return { method: wanted.method, headers };
    headers["content-type"] = "application/json";
    return { method: wanted.method, headers, body: JSON.stringify(wanted.body) };
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
      response = await send(url, { ...request, signal: either, redirect: "error" });
      body = await response.arrayBuffer();
    } catch (cause) {
      throw new Unanswered(this.#base, cause);
    }
    const { ok, status, headers } = response;
    if (ok) return readAs(body, headers.get("content-type") ?? "");
    throw new Answered(errorOf(status, textOf(body), url), headers.get("retry-after"));
  }
}

/** Records as they are; a page as its text, and a PDF as its bytes. */
function readAs(body: ArrayBuffer, type: string): unknown {
  if (body.byteLength === 0) return undefined;
  if (type.startsWith("application/json")) return JSON.parse(textOf(body));
  return type.startsWith("text/") ? textOf(body) : new Uint8Array(body);
}

function textOf(body: ArrayBuffer): string {
  return new TextDecoder().decode(body);
}

/** No answer: the call may or may not have had its effect. */
class Unanswered extends Error {
  readonly error: DuesError;
  constructor(base: string, cause: unknown) {
    super("unanswered");
    const message = `No answer from ${base}: ${reasonOf(cause)}`;
    const code = "network_error";
    this.error = new DuesError({ status: 0, code, message, retryable: true, cause });
  }
}

class Answered extends Error {
  readonly error: DuesError;
  readonly retry_after: string | null;
  constructor(error: DuesError, retry_after: string | null) {
    super("answered");
    this.error = error;
    this.retry_after = retry_after;
  }
}

function plain(error: unknown): unknown {
  return error instanceof Unanswered || error instanceof Answered ? error.error : error;
}

function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  if (!(inner instanceof Error)) return String(inner);
  const { code } = inner as { code?: string };
  return inner.message !== "" ? inner.message : (code ?? inner.name);
}

/** Milliseconds to wait before the next attempt; undefined when there should be none. */
function waitFor(error: unknown, wanted: Wanted, attempt: number): number | undefined {
  const backoff = Math.min(FIRST_WAIT_MS * 2 ** attempt, WAIT_MS_MAX);
  // Half of it at random, so that many callers do not come back together.
  const spread = backoff / 2 + (Math.random() * backoff) / 2;
  if (error instanceof Unanswered) return isRepeatable(wanted) ? spread : undefined;
  if (!(error instanceof Answered) || !error.error.retryable) return undefined;
  const asked = retryAfterMs(error.retry_after);
  if (asked === undefined) return spread;
  return asked > RETRY_AFTER_MS_MAX ? undefined : Math.max(asked, 1);
}

/** Reads, keyed writes, PUT, and events, which carry their own transaction_id. */
function isRepeatable(wanted: Wanted): boolean {
  const { method, path } = wanted;
  return isKeyed(wanted) || method === "GET" || method === "PUT" || path.startsWith("/v1/events");
}

function isKeyed({ method, keyed = method !== "GET" }: Wanted): boolean {
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
