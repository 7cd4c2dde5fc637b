// What a refused call throws: the API's error, as an Error.

import type { ErrorCode } from "./types.ts";

export type ErrorDetail = {
  readonly field: string;
  readonly code: string;
  readonly message?: string;
  readonly existing_id?: string;
};

/** Those of the API, and two kinds that are not its answers. */
export type DuesErrorCode =
  | ErrorCode
  /** No answer came. */
  | "network_error"
  /** An answer with this status that is not the API's: of a proxy, or of a wrong address. */
  | `http_${number}`;

export type ErrorParts = {
  readonly status: number;
  readonly code: DuesErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: readonly ErrorDetail[] | undefined;
  readonly request_id?: string | undefined;
  readonly cause?: unknown;
};

/** Status 0 and the code `network_error` when no answer came. */
export class DuesError extends Error {
  readonly status: number;
  readonly code: DuesErrorCode;
  readonly retryable: boolean;
  readonly details: readonly ErrorDetail[];
  readonly request_id: string | undefined;

  constructor(parts: ErrorParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.name = "DuesError";
    this.status = parts.status;
    this.code = parts.code;
    this.retryable = parts.retryable;
    this.details = parts.details ?? [];
    this.request_id = parts.request_id;
  }
}

/** Reads the API's error body. Another body is not the API's: a proxy, or a wrong address. */
export function errorOf(status: number, text: string, url: string): DuesError {
  const error = parse(text)?.error;
  if (error === undefined || typeof error.code !== "string") {
    // A browser hides the status of a redirect: it is 0 there.
    const redirects = status === 0 || (status >= 300 && status < 400);
    const answer = redirects ? "redirects elsewhere" : `answered ${status} and not as the API does`;
    const message = `${url} ${answer}: is this its address?`;
    const retryable = status === 429 || status === 502 || status === 503 || status === 504;
    return new DuesError({ status, code: `http_${status}`, message, retryable });
  }
  return new DuesError({
    status,
    code: error.code,
    message: error.message ?? error.code,
    retryable: error.retryable === true,
    details: error.details,
    request_id: error.request_id,
  });
}

type Body = { readonly error?: Partial<ErrorParts> };

function parse(text: string): Body | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? (body as Body) : undefined;
  } catch {
    return undefined;
  }
}
