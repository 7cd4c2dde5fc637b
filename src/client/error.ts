// What a refused call throws: the API's error, as an Error.

import type { ErrorCode } from "./types.ts";

export type ErrorDetail = {
  readonly field: string;
  readonly code: string;
  readonly message?: string;
  readonly existing_id?: string;
};

/** The codes of the API, and two kinds that are not its answers. */
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

/** An answer that is not the API's, where it answers so: safe to ask again if the call is. */
export function foreignAnswer(status: number, url: string, retryable = true): DuesError {
  const message = `${url} answered ${status} and not as the API does: is this its address?`;
  return new DuesError({ status, code: `http_${status}`, message, retryable });
}

/** Reads the API's error body. Another body is not the API's: a proxy, or a wrong address. */
export function errorOf(
  status: number,
  text: string,
  url: string,
  location: string | null = null,
): DuesError {
  const error = parse(text)?.error;
  if (error === undefined || typeof error.code !== "string") {
    // A browser hides the status of a redirect: it is 0 there.
    const redirects = status === 0 || (status >= 300 && status < 400);
    if (redirects) return redirectError(status, url, location);
    return foreignAnswer(status, url, [429, 502, 503, 504].includes(status));
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

/** Not followed: the token goes to no other address than the one that was named. */
function redirectError(status: number, url: string, location: string | null): DuesError {
  const where = location === null ? "elsewhere" : `to ${withoutPassword(resolved(location, url))}`;
  const message = `${url} redirects ${where}: is this its address?`;
  return new DuesError({ status, code: `http_${status}`, message, retryable: false });
}

function resolved(location: string, url: string): string {
  try {
    return new URL(location, url).href;
  } catch {
    return location;
  }
}

/** An address as it may be shown. */
export function withoutPassword(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/?#]*@/i, (_, scheme = "") => `${scheme}…@`);
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
