// The body of a webhook, its signatures and its retries. Sending is elsewhere.

import { createHmac } from "node:crypto";

/** How long an attempt may take, from the name of the receiver to the last byte of its answer. */
export const ATTEMPT_MAX_MS = 10_000;
/** Retries after the first attempt. */
export const RETRIES_MAX = 12;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const FIRST_RETRY_MS = 5 * MINUTE_MS;
const RETRY_MS_MAX = 12 * HOUR_MS;
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;
const SECRET_PREFIX = "whsec_";
/** An HTTP date, as in `Sun, 06 Nov 1994 08:49:37 GMT`. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The body, rendered once: every attempt sends these bytes. */
export function envelope(event: string, created_at: Date, data: unknown): string {
  return JSON.stringify({ event, created_at: created_at.toISOString(), data });
}

/** `X-Service-Signature`: keyed with the whole secret string, prefix included. */
export function sign(secret: string, body: string): string {
  return createHmac("sha256", secret).update(body).digest("hex");
}

/** The `webhook-signature` of Standard Webhooks; one part per secret while one is rotated. */
export function standardSignature(
  secrets: readonly string[],
  message: { readonly id: string; readonly timestamp_s: number; readonly body: string },
): string {
  const content = `${message.id}.${message.timestamp_s}.${message.body}`;
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
      return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
    })
    .join(" ");
}

/** The wait before retry n: doubles from 5 minutes to 12 hours; `jitter` in [-1, 1] is ±10 %. */
export function retryDelayMs(retry_no: number, jitter: number): number {
  const base = Math.min(FIRST_RETRY_MS * 2 ** (retry_no - 1), RETRY_MS_MAX);
  return Math.round(base * (1 + jitter / 10));
}

/** About how many hours a message is tried again in all: 69. */
export const RETRY_HOURS = Math.floor(
  Array.from({ length: RETRIES_MAX }, (_, i) => retryDelayMs(i + 1, 0)).reduce((a, b) => a + b) /
    HOUR_MS,
);

/** How long a receiver asks us to wait: seconds or an HTTP date. Undefined when it is neither. */
export function parseRetryAfter(header: string, now: Date): number | undefined {
  const text = header.trim();
  // The obsolete date forms are left out: the engine reads them in the machine's time zone.
  if (!/^\d{1,15}$/.test(text) && !HTTP_DATE.test(text)) return undefined;
  const wait_ms = /^\d/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  if (Number.isNaN(wait_ms)) return undefined;
  return Math.min(Math.max(0, wait_ms), RETRY_AFTER_MS_MAX);
}
