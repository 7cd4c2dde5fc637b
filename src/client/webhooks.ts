// For receivers of webhooks, in Node: checks the signature and the age of a delivery.

import { createHmac, timingSafeEqual } from "node:crypto";
import { wallMs } from "../clock.ts";

const SECRET_PREFIX = "whsec_";
const TOLERANCE_S = 300;
/** Retries of a message go on for 69 hours. */
const UNTIMED_MAX_MS = 72 * 3_600_000;

export type WebhookHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type VerifyOptions = {
  /** How old, or how far ahead, a delivery may be. Deliveries are signed anew at each attempt. */
  readonly tolerance_s?: number;
  /**
   * Also takes a delivery that carries `X-Service-Signature` alone, which signs no time: whoever
   * captured one could send it again. It may be 72 hours old by the `created_at` that it signs.
   */
  readonly allow_untimed?: boolean;
  readonly now?: Date;
};

/** What every delivery carries. */
export type WebhookMessage<Data = Readonly<Record<string, unknown>>> = {
  readonly event: string;
  readonly created_at: string;
  readonly data: Data;
};

/** The delivery cannot be trusted. The receiver should answer 400 and do nothing. */
export class WebhookVerificationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WebhookVerificationError";
  }
}

/**
 * Returns the message when the signature fits and is recent, else throws. `body` is the body as it
 * was received, unparsed. While a secret is rotated, give the old and the new one.
 */
export function verifyWebhook<Data = Readonly<Record<string, unknown>>>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): WebhookMessage<Data> {
  const bytes = Buffer.from(body as string);
  const known = [secrets].flat();
  if (known.length === 0 || known.some((secret) => keyOf(secret).length === 0)) {
    throw new WebhookVerificationError("No secret to check with.");
  }
  const standard = header(headers, "webhook-signature");
  const plain = header(headers, "x-service-signature");
  if (standard !== undefined) {
    checkStandard(bytes, headers, standard, known, options);
  } else if (plain !== undefined) {
    checkUntimed(bytes, plain, known, options);
  } else {
    throw new WebhookVerificationError("There is no signature header.");
  }
  return JSON.parse(bytes.toString("utf8")) as WebhookMessage<Data>;
}

/** The header of the contract. Every delivery of dues carries the timed ones beside it. */
function checkUntimed(
  body: Buffer,
  signature: string,
  secrets: readonly string[],
  { allow_untimed = false, now = new Date(wallMs()) }: VerifyOptions,
): void {
  if (!allow_untimed) {
    throw new WebhookVerificationError(
      "The webhook-* headers are missing, which say how old the delivery is. Hand them on, or set " +
        "allow_untimed.",
    );
  }
  if (!secrets.some((secret) => isSame(hmac(secret, body, "hex"), signature))) {
    throw new WebhookVerificationError("The signature is not of this body and secret.");
  }
  const { created_at } = JSON.parse(body.toString("utf8")) as Partial<WebhookMessage>;
  const age_ms = now.getTime() - Date.parse(created_at ?? "");
  if (!(Math.abs(age_ms) <= UNTIMED_MAX_MS)) {
    throw new WebhookVerificationError("The delivery is older than 72 hours.");
  }
}

/** Standard Webhooks: id and time are signed too, so that an old delivery cannot be replayed. */
function checkStandard(
  body: Buffer,
  headers: WebhookHeaders,
  signatures: string,
  secrets: readonly string[],
  { tolerance_s = TOLERANCE_S, now = new Date(wallMs()) }: VerifyOptions,
): void {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  if (id === undefined || timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError("webhook-id or webhook-timestamp is missing.");
  }
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const given = signatures.split(" ").filter((each) => each.startsWith("v1,"));
  const wanted = secrets.map((secret) => `v1,${hmac(keyOf(secret), content, "base64")}`);
  if (!given.some((each) => wanted.some((good) => isSame(good, each)))) {
    throw new WebhookVerificationError("The signature is not of this body and secret.");
  }
  const age_s = Math.abs(now.getTime() / 1000 - Number(timestamp));
  if (age_s > tolerance_s) {
    throw new WebhookVerificationError(`The delivery is ${Math.round(age_s)} s off our clock.`);
  }
}

function keyOf(secret: string): Buffer {
  const text = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  return Buffer.from(text, "base64");
}

function hmac(key: string | Buffer, content: Buffer, encoding: "hex" | "base64"): string {
  return createHmac("sha256", key).update(content).digest(encoding);
}

function isSame(wanted: string, given: string): boolean {
  const [a, b] = [Buffer.from(wanted), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function header(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  const [value] = [entry?.[1]].flat();
  return value;
}
