// Tokens: their form and checksum are fixed, since those in use must stay valid.

import { expect, test } from "vitest";
import { isWellFormedToken, newToken } from "../src/ids.ts";

test.each([
  "dues_3MLkBADK8oRqkDB7kqcc8lJBpTCC5jot2sysIy",
  "dues_58VnK6OcDGxe6cDLGxqeATCcnGIfLQIt4EYWms",
  "dues_soFOP8yCpiTXhzGhqWeaoKXo4nl24kDI4ChYiq",
])("%s, which version 0.1.0 made, is well formed", (token) => {
  expect(isWellFormedToken(token)).toBe(true);
});

test("a token with one other character is not", () => {
  const token = "dues_3MLkBADK8oRqkDB7kqcc8lJBpTCC5jot2sysIy";
  for (let i = "dues_".length; i < token.length; i++) {
    const other = token[i] === "a" ? "b" : "a";
    expect(isWellFormedToken(token.slice(0, i) + other + token.slice(i + 1))).toBe(false);
  }
});

test("a new token is well formed", () => {
  expect(isWellFormedToken(newToken())).toBe(true);
});
