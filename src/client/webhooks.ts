// For receivers of webhooks: checks the signature and the age of a delivery. Uses Web Crypto alone,
// so that it runs wherever fetch does: Node, Deno, Bun, Workers and other edge runtimes.

import { wallMs } from "../clock.ts";
import type { WebhookEvent } from "./types.ts";

const SECRET_PREFIX = "whsec_";
const TOLERANCE_S = 300;
/** Retries of a message go on for 69 hours. */
const UNTIMED_MAX_MS = 72 * 3_600_000;
const HMAC = { name: "HMAC", hash: "SHA-256" };
const NOT_SIGNED = "The signature is not of this body and secret.";

type Bytes = Uint8Array<ArrayBuffer>;

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

/** The delivery cannot be trusted. The receiver should answer 400 and do nothing. */
export class WebhookVerificationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "WebhookVerificationError";
  }
}

/**
 * Gives the event when the signature fits and is recent, else throws. `body` is the body as it was
 * received, unparsed. While a secret is rotated, give the old and the new one.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const bytes = bytesOf(body);
  // One that is no secret, such as an old one that was left empty, checks nothing.
  const known = [secrets].flat().filter((secret) => keyOf(secret).length > 0);
  if (known.length === 0) {
    throw new WebhookVerificationError("No secret to check with: it is whsec_ and more.");
  }
  const standard = header(headers, "webhook-signature");
  const plain = header(headers, "x-service-signature");
  if (standard !== undefined) {
    await checkStandard(bytes, headers, standard, known.map(keyOf), options);
  } else if (plain !== undefined) {
    await checkUntimed(bytes, plain, known, options);
  } else {
    throw new WebhookVerificationError("There is no signature header.");
  }
  return parse(bytes);
}

/** The header of the contract. Every delivery of dues carries the timed ones beside it. */
async function checkUntimed(
  body: Bytes,
  signature: string,
  secrets: readonly string[],
  { allow_untimed = false, now = new Date(wallMs()) }: VerifyOptions,
): Promise<void> {
  if (!allow_untimed) {
    throw new WebhookVerificationError(
      "The webhook-* headers are missing, which say how old the delivery is. Hand them on, or set " +
        "allow_untimed.",
    );
  }
  const keys = secrets.map((secret) => new TextEncoder().encode(secret));
  if (!(await isSigned(body, keys, [fromHex(signature)]))) {
    throw new WebhookVerificationError(NOT_SIGNED);
  }
  const age_ms = now.getTime() - Date.parse(parse(body).created_at);
  if (!(Math.abs(age_ms) <= UNTIMED_MAX_MS)) {
    throw new WebhookVerificationError("The delivery is older than 72 hours.");
  }
}

/** Standard Webhooks: id and time are signed too, so that an old delivery cannot be replayed. */
async function checkStandard(
  body: Bytes,
  headers: WebhookHeaders,
  signatures: string,
  keys: readonly Bytes[],
  { tolerance_s = TOLERANCE_S, now = new Date(wallMs()) }: VerifyOptions,
): Promise<void> {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  if (id === undefined || timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError("webhook-id or webhook-timestamp is missing.");
  }
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(start.length + body.length);
  content.set(start);
  content.set(body, start.length);
  const given = signatures
    .split(" ")
    .flatMap((each) => (each.startsWith("v1,") ? [fromBase64(each.slice("v1,".length))] : []));
  if (!(await isSigned(content, keys, given))) throw new WebhookVerificationError(NOT_SIGNED);
  const age_s = Math.abs(now.getTime() / 1000 - Number(timestamp));
  if (age_s > tolerance_s) {
    throw new WebhookVerificationError(`The delivery is ${Math.round(age_s)} s off our clock.`);
  }
}

/** Whether one of the signatures is by one of the keys. Web Crypto compares in constant time. */
async function isSigned(
  content: Bytes,
  keys: readonly Bytes[],
  signatures: readonly Bytes[],
): Promise<boolean> {
  const { subtle } = crypto;
  for (const raw of keys) {
    const key = await subtle.importKey("raw", raw, HMAC, false, ["verify"]);
    for (const signature of signatures) {
      if (await subtle.verify(HMAC.name, key, signature, content)) return true;
    }
  }
  return false;
}

function keyOf(secret: string): Bytes {
  const text = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  return fromBase64(text);
}

/** Empty when the text is not base64: nothing is signed with that, and nothing is signed by it. */
function fromBase64(text: string): Bytes {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function fromHex(text: string): Bytes {
  if (!/^([0-9a-f]{2})+$/.test(text)) return new Uint8Array();
  return Uint8Array.from(text.match(/../g) ?? [], (each) => Number.parseInt(each, 16));
}

function bytesOf(body: string | Uint8Array | ArrayBuffer): Bytes {
  if (typeof body === "string") return new TextEncoder().encode(body);
  // By its shape, not its class: a body may come from another realm, such as that of a test.
  if (typeof body?.byteLength === "number") return Uint8Array.from(new Uint8Array(body));
  throw new WebhookVerificationError(
    "The body must be the bytes that were received, before anything parsed them.",
  );
}

function parse(body: Bytes): WebhookEvent {
  return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
}

function header(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === "function") return headers.get(name) ?? undefined;
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  const [value] = [entry?.[1]].flat();
  return value;
}
