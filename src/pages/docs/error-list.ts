// The errors that a call of the reference lists as its own.

import type { OpenApiDocument, Operation } from "../../schema/openapi.ts";
import { type Html, html } from "../html.ts";

/** The errors of every call: the introduction lists them, the single calls do not. */
const EVERY_CALL = new Set([
  "invalid_json",
  "missing_project",
  "unauthorized",
  "forbidden",
  "not_found",
  "idempotency_conflict",
  "idempotency_in_flight",
  "payload_too_large",
  "unsupported_media_type",
  "validation_error",
  "rate_limited",
  "internal_error",
  "unavailable",
]);

/** The errors of a call, each with a link to what it means, which is told once for all calls. */
export function errorList(operation: Operation, document: OpenApiDocument): Html {
  const own = operation["x-errors"].flatMap((code) => {
    const error = document["x-error-codes"][code];
    if (error === undefined || EVERY_CALL.has(code)) return [];
    return html` <a href="#error-${code}"><code>${code}</code></a> ${error.status}`;
  });
  if (own.length === 0) return html``;
  return html`<p class="err">Errors${own.map((each, i) => html`${i > 0 && ","}${each}`)}</p>`;
}
