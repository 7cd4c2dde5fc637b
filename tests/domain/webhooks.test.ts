// Signatures and the schedule of retries.

import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  envelope,
  parseRetryAfter,
  RETRIES_MAX,
  retryDelayMs,
  sign,
  standardSignature,
} from "../../src/domain/webhooks.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("the body", () => {
  test("has the event, its time and the data, in this order", () => {
    const body = envelope("invoice.created", new Date("2026-02-01T00:00:00.000Z"), { a: "ü" });
    expect(body).toBe(
      '{"event":"invoice.created","created_at":"2026-02-01T00:00:00.000Z","data":{"a":"ü"}}',
    );
  });
});

describe("signatures", () => {
  // Published test vectors, not computed here.
  test("X-Service-Signature is the lowercase hex HMAC-SHA256 under the whole secret", () => {
    expect(sign("key", "The quick brown fox jumps over the lazy dog")).toBe(
      "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
    );
    expect(sign("whsec_a2V5", "x")).not.toBe(sign("a2V5", "x"));
  });

  test("a body is signed as its UTF-8 bytes", () => {
    const bytes = Buffer.from([0xc3, 0xbc]);
    expect(sign("key", "ü")).toBe(createHmac("sha256", "key").update(bytes).digest("hex"));
  });

  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const message = {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp_s: 1_614_265_330,
    body: '{"test": 2432232314}',
  };
  const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

  test("webhook-signature is that of Standard Webhooks", () => {
    expect(standardSignature([secret], message)).toBe(signature);
  });

  test("while a secret is rotated both sign", () => {
    const [first, second, ...others] = standardSignature(["whsec_a2V5", secret], message).split(
      " ",
    );
    expect(first).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect([second, ...others]).toEqual([signature]);
  });
});

describe("retries", () => {
  test("double from 5 minutes to 12 hours and end after about 69 hours", () => {
    const waits = Array.from({ length: RETRIES_MAX }, (_, index) => retryDelayMs(index + 1, 0));
    const minutes = waits.map((wait) => wait / MINUTE_MS);
    expect(minutes).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 720, 720, 720, 720]);
    expect(minutes.reduce((sum, wait) => sum + wait, 0) / 60).toBe(69.25);
  });

  test("are spread by a tenth to either side", () => {
    expect(retryDelayMs(1, 1)).toBe(5.5 * MINUTE_MS);
    expect(retryDelayMs(1, -1)).toBe(4.5 * MINUTE_MS);
    expect(Number.isInteger(retryDelayMs(3, 0.123456))).toBe(true);
  });
});

describe("Retry-After", () => {
  const now = new Date("2026-02-01T00:00:00.000Z");

  test.each([
    ["0", 0],
    ["120", 120_000],
    [" 3600 ", HOUR_MS],
    ["86401", 24 * HOUR_MS],
    ["999999999999999", 24 * HOUR_MS],
    ["Sun, 01 Feb 2026 00:10:00 GMT", 10 * MINUTE_MS],
    ["Sat, 31 Jan 2026 23:00:00 GMT", 0],
    ["Wed, 04 Feb 2026 00:00:00 GMT", 24 * HOUR_MS],
  ])("%j waits %i ms", (header, wait_ms) => {
    expect(parseRetryAfter(header, now)).toBe(wait_ms);
  });

  test.each([
    "",
    "soon",
    "-1",
    "1.5",
    "1e3",
    "0x10",
    "2026-02-01T00:10:00Z",
    "Sun Feb  1 00:10:00 2026",
    "Sunday, 01-Feb-26 00:10:00 GMT",
    "Sun, 01 Xyz 2026 00:10:00 GMT",
    "Sun, 01 Feb 2026 00:10:00 PST",
  ])("%j is ignored", (header) => {
    expect(parseRetryAfter(header, now)).toBeUndefined();
  });
});
