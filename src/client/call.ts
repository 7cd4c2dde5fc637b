// The shape of a call: what the generated methods (operations.ts) hand to the transport.

/** What the user of the client may say of a single call. */
export type CallOptions = {
  /** Makes the call safe to repeat. A write without one gets a random key, but for events. */
  readonly idempotency_key?: string;
  /** Sent instead of the client's own project. */
  readonly project_id?: string;
  readonly signal?: AbortSignal;
  /** How long one attempt may take, instead of the client's own time. */
  readonly timeout_ms?: number;
};

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What the generated method says of its call, besides method and path. */
export type CallParts = {
  readonly query?: object | undefined;
  readonly body?: unknown;
  /** Where it is not JSON, which is the default. */
  readonly answer?: AnswerKind;
  /** Whether X-Project-Id is sent; true by default. */
  readonly project?: boolean;
  /** Whether it takes an Idempotency-Key; by default every method but GET does. */
  readonly keyed?: boolean;
};

/** What an answer of the API to the call is; `none` has no body. */
export type AnswerKind = "json" | "json or none" | "none" | "document";

export type ApiCall = CallParts & { readonly method: Method; readonly path: string };

/**
 * Base of the generated methods, which take the path's parameters, body or query, and options.
 * `Dues` implements `call` with the transport.
 */
export abstract class Calls {
  protected abstract call<Reply>(
    method: Method,
    path: string,
    options?: CallOptions,
    parts?: CallParts,
  ): Promise<Reply>;
}

/** A template tag for paths: escapes the values that are put into the text. */
export function path(text: TemplateStringsArray, ...parts: readonly string[]): string {
  return String.raw({ raw: text }, ...parts.map((part) => encodeURIComponent(part)));
}
