// Whom a limit counts as one.

import { expect, test } from "vitest";
import { networkOf, RateLimit } from "../../../src/http/admission/rate-limit.ts";

test("IPv4 addresses count one by one, also when written as IPv6", () => {
  expect(networkOf("192.0.2.7")).toBe("192.0.2.7");
  expect(networkOf("::ffff:192.0.2.7")).toBe("192.0.2.7");
});

test("an IPv6 network counts as one, however its addresses are written", () => {
  const network = "2001:db8:0:1::/64";
  for (const ip of ["2001:db8:0:1::1", "2001:DB8::1:a:b:c:d", "2001:0db8:0000:0001:ffff::"]) {
    expect(networkOf(ip)).toBe(network);
  }
  expect(networkOf("2001:db8:0:2::1")).not.toBe(network);
  expect(networkOf("::1")).toBe("0:0:0:0::/64");
});

test("a bucket is full again after its time", () => {
  const limit = new RateLimit({ burst: 2, per_minute: 60 });
  limit.take("a", 0);
  limit.take("a", 0);
  expect(() => limit.take("a", 500)).toThrow("Try again in 1 s.");
  limit.take("b", 500);
  limit.take("a", 1_000);
});
