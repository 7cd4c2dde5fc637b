// Signed links to a customer's portal: until when a link is good stands in it, and the signature
// covers that, the customer and the version that a revocation raises. Nothing is stored for a link.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { CustomerLinks } from "../store/customers/customers.ts";

const SECOND_MS = 1_000;
const SIGNATURE_BYTES = 16;
/** 2^40 seconds are further away than any date that can be sent. */
const SHAPE = /^([0-9a-z]{1,8})-([A-Za-z0-9_-]{22})$/;
/** The length of `access` beyond which it is refused unseen. */
export const ACCESS_CHARS_MAX = 64;

/** The value of `access` in a link, good until the instant, to the second. */
export function signLink(key: Buffer, customer: CustomerLinks, expires_at: Date): string {
  const expires_s = Math.floor(expires_at.getTime() / SECOND_MS);
  return `${expires_s.toString(36)}-${signature(key, customer, expires_s)}`;
}

export function isLinkGood(
  key: Buffer,
  customer: CustomerLinks,
  access: string | undefined,
  now: Date,
): boolean {
  const [, expires = "", signed = ""] = SHAPE.exec(access ?? "") ?? [];
  const expires_s = Number.parseInt(expires, 36);
  if (Number.isNaN(expires_s)) return false;
  // Texts are compared: the last character has bits that decoding leaves out, and a link is one
  // text.
  const wanted = Buffer.from(signature(key, customer, expires_s));
  return timingSafeEqual(wanted, Buffer.from(signed)) && now.getTime() < expires_s * SECOND_MS;
}

function signature(key: Buffer, { id, links_version }: CustomerLinks, expires_s: number): string {
  return createHmac("sha256", key)
    .update(`portal link ${id} ${links_version} ${expires_s}`)
    .digest()
    .subarray(0, SIGNATURE_BYTES)
    .toString("base64url");
}

/** The query that carries a link's access on to another page of the same customer. */
export function accessQuery(access: string | undefined): string {
  return access === undefined ? "" : `?access=${encodeURIComponent(access)}`;
}
