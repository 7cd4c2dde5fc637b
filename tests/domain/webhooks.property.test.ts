// Signatures and the schedule of retries, whatever the input.

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  envelope,
  parseRetryAfter,
  RETRIES_MAX,
  retryDelayMs,
  sign,
  standardSignature,
} from "../../src/domain/webhooks.ts";

const HOUR_MS = 3_600_000;
const retry = fc.integer({ min: 1, max: RETRIES_MAX });
const jitter = fc.double({ min: -1, max: 1, noNaN: true });

test("every wait is whole, within a tenth of its schedule, and never beyond 13.2 hours", () => {
  fc.assert(
    fc.property(retry, jitter, (retry_no, spread) => {
      const wait_ms = retryDelayMs(retry_no, spread);
      const middle_ms = retryDelayMs(retry_no, 0);
      expect(Number.isInteger(wait_ms)).toBe(true);
      expect(Math.abs(wait_ms - middle_ms)).toBeLessThanOrEqual(middle_ms / 10);
      expect(wait_ms).toBeGreaterThanOrEqual(270_000);
      expect(wait_ms).toBeLessThanOrEqual(13.2 * HOUR_MS);
    }),
  );
});

test("a later retry never waits less, whatever the spread, until the cap is reached", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 7 }), jitter, jitter, (retry_no, one, other) => {
      expect(retryDelayMs(retry_no + 1, other)).toBeGreaterThan(retryDelayMs(retry_no, one));
    }),
  );
});

test("what a receiver asks for is kept within a day, or ignored", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.nat().map(String)), (header) => {
      const wait_ms = parseRetryAfter(header, new Date(0));
      if (wait_ms === undefined) return;
      expect(wait_ms).toBeGreaterThanOrEqual(0);
      expect(wait_ms).toBeLessThanOrEqual(24 * HOUR_MS);
    }),
  );
});

test("a body comes back as its parts, and one other byte has another signature", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), fc.uint8Array({ minLength: 32 }), (data, id, key) => {
      const created_at = new Date("2026-02-01T00:00:00.000Z");
      const body = envelope("invoice.created", created_at, data);
      expect(JSON.parse(body)).toEqual({
        event: "invoice.created",
        created_at: created_at.toISOString(),
        data: JSON.parse(JSON.stringify(data)),
      });
      const secret = `whsec_${Buffer.from(key).toString("base64")}`;
      const message = { id, timestamp_s: 1, body };
      const changed = { id, timestamp_s: 1, body: `${body} ` };
      expect(sign(secret, body)).toMatch(/^[0-9a-f]{64}$/);
      expect(sign(secret, body)).not.toBe(sign(secret, changed.body));
      expect(standardSignature([secret], message)).not.toBe(standardSignature([secret], changed));
    }),
  );
});
