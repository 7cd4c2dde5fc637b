// Settings that cannot be used are refused in words an operator can act on.

import { expect, test } from "vitest";
import { ConfigError, readConfig } from "../src/config.ts";

const read = (env: Record<string, string>) => readConfig({ BASE_URL: "", ...env });

test.each([
  ["https://billing.example.com", "https://billing.example.com"],
  ["https://example.com/billing//", "https://example.com/billing"],
  ["http://[::1]:8080/", "http://[::1]:8080"],
])("BASE_URL %s is taken, without a slash at its end", (given, base_url) => {
  expect(read({ BASE_URL: given }).base_url).toBe(base_url);
});

test.each([
  "/",
  "billing.example.com",
  "localhost:8080",
  "ftp://example.com",
  "http://",
  "https://example.com?a=1",
  "https://example.com#top",
  "https://example.com /",
])("BASE_URL %s is refused with a sentence that names it", (given) => {
  const refused = new ConfigError(
    `BASE_URL must be an address such as https://billing.example.com, not "${given}".`,
  );
  expect(() => read({ BASE_URL: given })).toThrow(refused);
});

test("without BASE_URL it is made of host and port", () => {
  expect(read({ HOST: "::1", PORT: "9000" }).base_url).toBe("http://[::1]:9000");
  expect(read({ HOST: "0.0.0.0", PORT: "9000" }).base_url).toBe("http://0.0.0.0:9000");
});
