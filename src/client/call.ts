// What every method of the client makes: one call, by method and path, and what goes with it.

export type CallOptions = {
  /** Makes the call safe to repeat. Every write gets a random one unless told otherwise. */
  readonly idempotency_key?: string;
  /** Another project than the client's. */
  readonly project_id?: string;
  readonly signal?: AbortSignal;
};

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What goes with a call, and how the door treats it where that is not as usual. */
export type Sent = {
  readonly query?: object | undefined;
  readonly body?: unknown;
  /** Whether X-Project-Id goes along; true by default. */
  readonly project?: boolean;
  /** Whether the answer is kept under an Idempotency-Key; by default that of all but GET is. */
  readonly keyed?: boolean;
};

export type Wanted = Sent & { readonly method: Method; readonly path: string };

/** Methods take what stands in the path, then the body or the query, then the call's options. */
export abstract class Calls {
  protected abstract call<Reply>(
    method: Method,
    path: string,
    options?: CallOptions,
    sent?: Sent,
  ): Promise<Reply>;
}

/** Tags the text of a path, and escapes what is put into it. */
export function path(text: TemplateStringsArray, ...parts: readonly string[]): string {
  return String.raw({ raw: text }, ...parts.map((part) => encodeURIComponent(part)));
}
