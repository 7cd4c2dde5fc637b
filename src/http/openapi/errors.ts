// Which error codes a route can answer: those that follow from how it is declared, and those that
// it names itself.

import { ERROR_CODES, type ErrorCode } from "../../errors.ts";
import { isReplayable, type Route } from "../route.ts";

/** What an answer can say, in the order of the table of errors. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set([...errorsByShape(route), ...(route.errors ?? [])]);
  return ERROR_CODES.filter((code) => codes.has(code));
}

/**
 * What any route of this shape can answer before its handler runs, whatever the handler does. The
 * answers that no route gives are left out: 400 for what is not HTTP, 404 and 405 for a path or a
 * method that there is not.
 */
export function errorsByShape(route: Route): ErrorCode[] {
  const needsToken = route.scope !== "public";
  const takesProject = route.project !== "none";
  const hasParams = route.path.includes("/:");
  // A body that is sent is read, also where none is asked for.
  const readsBody = route.method !== "GET";
  const may: Partial<Record<ErrorCode, boolean>> = {
    invalid_json: readsBody && route.unparsed !== true,
    missing_project: route.project === "required",
    unauthorized: needsToken,
    forbidden: needsToken,
    not_found: hasParams || takesProject,
    idempotency_conflict: isReplayable(route),
    idempotency_in_flight: isReplayable(route),
    payload_too_large: readsBody,
    unsupported_media_type: readsBody,
    // Any query may hold text that PostgreSQL cannot store.
    validation_error: true,
    // Tokens have a rate, and finding one needs the database.
    rate_limited: needsToken,
    internal_error: true,
    unavailable: needsToken,
  };
  return ERROR_CODES.filter((code) => may[code] === true);
}
