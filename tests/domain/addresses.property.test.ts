// Where webhooks may and may not go, form by form, whatever the input.

import { isIP } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkWebhookUrl, classifyAddress } from "../../src/domain/addresses.ts";

const STRICT = { allow_private: false, allow_loopback: false };
const v4 = fc.ipV4();
const v6 = fc.ipV6();
const near = fc
  .tuple(
    fc.constantFrom("10", "127", "169.254", "172.16", "172.31", "192.168", "100.64", "0", "224"),
    fc.array(fc.nat(255), { minLength: 3, maxLength: 3 }),
  )
  .map(([prefix, rest]) => [...prefix.split("."), ...rest].slice(0, 4).join("."));

test("every text that is an address has a class, and no other text has", () => {
  fc.assert(
    fc.property(fc.oneof(v4, v6, near, fc.string()), (text) => {
      expect(classifyAddress(text) === "invalid").toBe(isIP(text) === 0 || text.includes("%"));
    }),
  );
});

test("an address has one class however it is written", () => {
  fc.assert(
    fc.property(fc.oneof(v4, near), (ip) => {
      const number = ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
      const hex = number.toString(16).padStart(8, "0");
      const mapped = [`::ffff:${ip}`, `::FFFF:${hex.slice(0, 4)}:${hex.slice(4)}`];
      for (const text of mapped) expect(classifyAddress(text)).toBe(classifyAddress(ip));
      const verdict = classifyAddress(ip) === "public";
      for (const host of [ip, number, `0x${hex}`, `0${number.toString(8)}`, `[::ffff:${ip}]`]) {
        expect(checkWebhookUrl(`https://${host}/`, STRICT).ok).toBe(verdict);
      }
    }),
  );
});

test("an address inside another for a gateway to unpack is never public", () => {
  fc.assert(
    fc.property(v4, (ip) => {
      const number = ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
      const hex = number.toString(16).padStart(8, "0");
      const pair = `${hex.slice(0, 4)}:${hex.slice(4)}`;
      const wrapped = [`::${ip}`, `::ffff:0:${ip}`, `64:ff9b::${ip}`, `2002:${pair}::1`];
      for (const text of [...wrapped, `2001:0:${pair}::1`, `64:ff9b:1::${ip}`]) {
        expect(classifyAddress(text)).not.toBe("public");
      }
    }),
  );
});

test("an IPv6 address has one class in its short and its long form", () => {
  fc.assert(
    fc.property(v6, (ip) => {
      const short = new URL(`http://[${ip}]/`).hostname.slice(1, -1);
      expect(classifyAddress(short)).toBe(classifyAddress(ip));
    }),
  );
});
