// The instants that callers send: when usage, a payment or a refund happened, and any other.

import { refuseField } from "../errors.ts";
import { DAY_MS, parseTimestamp } from "./dates.ts";

/** How far ahead such an instant may lie: clocks differ, and time zones do. */
export const AHEAD_MAX_MS = DAY_MS;

/** The instant that a field says. Its schema has let nothing else through, as a rule. */
export function instant(text: string, field: string): Date;
export function instant(text: string | null | undefined, field: string): Date | null;
export function instant(text: string | null | undefined, field: string): Date | null {
  if (text === null || text === undefined) return null;
  const at = parseTimestamp(text);
  if (at === undefined) throw refuseField(field, "format", `${field} must be a timestamp.`);
  return at;
}

/** The instant at which something is said to have happened; now where nothing is said. */
export function reportedAt(field: string, text: string | undefined, now: Date): Date {
  const at = text === undefined ? now : (parseTimestamp(text) ?? now);
  if (at.getTime() <= now.getTime() + AHEAD_MAX_MS) return at;
  const message = `${field} must not lie more than 24 hours in the future.`;
  throw refuseField(field, "maximum", message);
}
