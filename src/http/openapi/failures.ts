// What refusals look like in the document: the meaning of each error code, and the responses of an
// operation with just the codes that it can answer.

import { STATUS_CODES } from "node:http";
import { groupBy } from "../../domain/group-by.ts";
import { ERROR_CODES, type ErrorCode, refuse } from "../../errors.ts";
import type { ErrorDescription, Reference, Response, SchemaObject } from "../../schema/openapi.ts";

const DESCRIPTIONS: Readonly<Record<ErrorCode, string>> = {
  invalid_json: "The body is not valid JSON.",
  missing_project: "The header X-Project-Id is needed and was not sent.",
  bad_request: "The request cannot be read as HTTP.",
  unauthorized: "The token is missing, unknown, expired or revoked.",
  forbidden: "The token lacks the scope that this call needs.",
  not_found: "There is no such record in this project, or no such path.",
  method_not_allowed: "The path exists, with other methods: see the Allow header.",
  already_exists: "The code, slug or external_id is taken; `details` names the existing id.",
  payment_conflict: "The provider's payment was recorded before, with other terms.",
  refund_conflict: "The provider's refund was recorded before, with other terms.",
  idempotency_conflict: "The Idempotency-Key was used with another request.",
  idempotency_in_flight: "A request with this Idempotency-Key is still running.",
  live_project: "The clock of a live project cannot be moved.",
  clock_conflict: "The project's clock does not move that way.",
  payload_too_large: "The body is larger than this call takes.",
  unsupported_media_type: "The body is not sent as application/json, or it is compressed.",
  validation_error: "A field is missing or malformed; `details` names each one.",
  has_active_subscriptions: "The plan has active subscriptions.",
  has_dependencies: "Something live still refers to this record.",
  currency_mismatch: "Two amounts that belong together are in different currencies.",
  plan_archived: "The plan is archived.",
  amount_exceeds_due: "The payment is larger than what is due.",
  invoice_already_paid: "Nothing is due on the invoice any more.",
  invoice_voided: "The invoice is voided.",
  not_started: "The subscription is pending: status active starts it, terminate ends it.",
  subscription_ended: "The subscription has ended: make it active again first.",
  too_far_behind: "More than 24 periods have ended: look at the clocks, then have it catch up.",
  unbilled_periods: "A period that has ended cannot be billed; details say why.",
  has_credit_notes: "The invoice has credit notes.",
  coupon_expired: "The coupon can no longer be applied.",
  coupon_exhausted: "The coupon has been applied as often as it may be.",
  amount_exceeds_creditable: "More than is left of the invoice, the fee or the grant.",
  amount_exceeds_refundable: "More than was paid, or than is left of it.",
  grant_not_active: "The grant has nothing that could be taken back.",
  wrong_invoice_type: "Not for an invoice of this type.",
  document_incomplete: "Something that the document needs is missing; the message names it.",
  limit_exceeded:
    "There are as many of these as there may be, of combinations of dimensions 200 in a period, or a sum is beyond what is billed.",
  rate_limited: "Too many requests; Retry-After says when to try again.",
  internal_error: "Something went wrong on our side.",
  unavailable: "The service or its database is away for a moment.",
};

/** Codes that still make a good name for a response that operations share. */
const NAMED_CODES_MAX = 2;

/** Collects the responses that are shared; `error` is the schema of every refusal. */
export class Failures {
  readonly #error: SchemaObject;
  readonly #shared = new Map<string, Response>();

  constructor(error: SchemaObject) {
    this.#error = error;
  }

  /** The shared responses in alphabetical order: that of routes does not change the document. */
  get components(): Record<string, Response> {
    return Object.fromEntries([...this.#shared].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The responses by status. A short set of codes is a component, a long one is written out. */
  of(errors: readonly ErrorCode[]): Record<string, Response | Reference> {
    const byStatus = groupBy(errors, (code) => describeError(code).status);
    return Object.fromEntries(
      [...byStatus].map(([status, codes]) => [String(status), this.#refer(status, codes)]),
    );
  }

  #refer(status: number, codes: readonly ErrorCode[]): Response | Reference {
    const response = this.#response(status, codes);
    if (codes.length > NAMED_CODES_MAX) return response;
    const name = codes.map(pascal).join("Or");
    this.#shared.set(name, response);
    return { $ref: `#/components/responses/${name}` };
  }

  #response(status: number, codes: readonly ErrorCode[]): Response {
    const list = codes.map((code) => `\`${code}\``).join(", ");
    return {
      description: `${STATUS_CODES[status] ?? "Error"}: ${list}.`,
      content: { "application/json": { schema: this.#error } },
      "x-codes": codes,
    };
  }
}

function pascal(code: string): string {
  return code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function describeError(code: ErrorCode): ErrorDescription {
  const { status, retryable } = refuse(code, "");
  return { status, retryable, description: DESCRIPTIONS[code] };
}

/** What the document says of every code under `x-error-codes`. */
export function describeErrors(): Record<string, ErrorDescription> {
  return Object.fromEntries(ERROR_CODES.map((code) => [code, describeError(code)]));
}
