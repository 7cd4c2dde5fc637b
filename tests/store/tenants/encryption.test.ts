// Secrets at rest: readable with their key and their row alone, also those of earlier versions.

import { expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { decrypt, encrypt, secretBinding } from "../../../src/store/tenants/encryption.ts";

const key = Buffer.alloc(32, 7);
const project = "00000000-0000-7000-8000-000000000001" as ProjectId;
const row = secretBinding(project, "00000000-0000-7000-8000-000000000021");
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZg==";

test("what version 0.1.0 stored is still read", () => {
  const stored =
    "012e8a475ac1bf7870d4cd203d4e10736c7dd5d3dd92fcfbddec5636b1cc0d85dafd31107f4b685f97096ed3d6b4" +
    "0bbc7cee4f3561de9bc833e0b9";
  expect(decrypt(key, row, Buffer.from(stored, "hex"))).toBe(secret);
});

test("another key, another row, a changed byte or an unknown key id are refused", () => {
  const stored = encrypt(key, row, secret);
  expect(decrypt(key, row, stored)).toBe(secret);
  const other = secretBinding(project, "00000000-0000-7000-8000-000000000022");
  expect(() => decrypt(Buffer.alloc(32, 8), row, stored)).toThrow();
  expect(() => decrypt(key, other, stored)).toThrow();
  for (let at = 0; at < stored.length; at++) {
    const changed = Buffer.from(stored);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => decrypt(key, row, changed)).toThrow();
  }
});

test("the same secret is encrypted to other bytes each time", () => {
  expect(encrypt(key, row, secret).equals(encrypt(key, row, secret))).toBe(false);
});
