// The table of all errors that callers can get: code, status, and whether repeating the request is
// safe. http/responses.ts renders them.

const TABLE = {
  invalid_json: { status: 400, retryable: false },
  missing_project: { status: 400, retryable: false },
  bad_request: { status: 400, retryable: false },
  unauthorized: { status: 401, retryable: false },
  forbidden: { status: 403, retryable: false },
  not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  already_exists: { status: 409, retryable: false },
  payment_conflict: { status: 409, retryable: false },
  refund_conflict: { status: 409, retryable: false },
  idempotency_conflict: { status: 409, retryable: false },
  idempotency_in_flight: { status: 409, retryable: true },
  live_project: { status: 409, retryable: false },
  clock_conflict: { status: 409, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  validation_error: { status: 422, retryable: false },
  has_active_subscriptions: { status: 422, retryable: false },
  has_dependencies: { status: 422, retryable: false },
  currency_mismatch: { status: 422, retryable: false },
  plan_archived: { status: 422, retryable: false },
  amount_exceeds_due: { status: 422, retryable: false },
  invoice_already_paid: { status: 422, retryable: false },
  invoice_voided: { status: 422, retryable: false },
  not_started: { status: 422, retryable: false },
  subscription_ended: { status: 422, retryable: false },
  too_far_behind: { status: 422, retryable: false },
  unbilled_periods: { status: 422, retryable: false },
  has_credit_notes: { status: 422, retryable: false },
  coupon_expired: { status: 422, retryable: false },
  coupon_exhausted: { status: 422, retryable: false },
  amount_exceeds_creditable: { status: 422, retryable: false },
  amount_exceeds_refundable: { status: 422, retryable: false },
  grant_not_active: { status: 422, retryable: false },
  wrong_invoice_type: { status: 422, retryable: false },
  document_incomplete: { status: 422, retryable: false },
  limit_exceeded: { status: 422, retryable: false },
  rate_limited: { status: 429, retryable: true },
  internal_error: { status: 500, retryable: true },
  unavailable: { status: 503, retryable: true },
} as const;

export type ErrorCode = keyof typeof TABLE;
export const ERROR_CODES = Object.keys(TABLE) as ErrorCode[];

/** A fault in the request, by the name of the caller's field. */
export type ErrorDetail = {
  readonly field: string;
  readonly code: string;
  readonly message?: string;
  readonly existing_id?: string;
};

export type RefusalExtra = {
  readonly details?: readonly ErrorDetail[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether repeating is safe, where it is not as the table says. */
  readonly retryable?: boolean;
};

/** An error meant for the caller, who gets its code and message. Anything else thrown is a bug. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(code: ErrorCode, message: string, extra: RefusalExtra = {}) {
    super(message);
    this.code = code;
    this.status = TABLE[code].status;
    this.retryable = extra.retryable ?? TABLE[code].retryable;
    this.details = extra.details;
    this.headers = extra.headers;
  }
}

/** The database was lost while it committed: what was asked may have been done. */
export class UnknownOutcome extends Refusal {}

/** A number that JSON cannot carry exactly, or beyond what is billed. Its message is for people. */
export class OutOfRange extends RangeError {}

/** Use as `throw refuse("plan_archived", "The plan is archived.")`. */
export function refuse(code: ErrorCode, message: string, extra?: RefusalExtra): Refusal {
  return new Refusal(code, message, extra);
}

/**
 * What was named is not there: "No tax has this id.", or "tax_code: no tax has this code." where
 * `field` of a body or query named it.
 */
export function notFound(
  noun: string,
  { by = "id", field }: { readonly by?: string; readonly field?: string | undefined } = {},
): Refusal {
  const sentence = `o ${noun} has this ${by}.`;
  return refuse("not_found", field === undefined ? `N${sentence}` : `${field}: n${sentence}`);
}

/** A fault of one named field: 422 with the field in `details`. */
export function refuseField(field: string, code: string, message: string): Refusal {
  return new Refusal("validation_error", message, { details: [{ field, code, message }] });
}
