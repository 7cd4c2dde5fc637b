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
  expect(read({ HOST: "10.0.0.1", PORT: "9000" }).base_url).toBe("http://10.0.0.1:9000");
});

test("where every address is listened on, BASE_URL is one that can be opened", () => {
  expect(read({ HOST: "0.0.0.0", PORT: "9000" }).base_url).toBe("http://127.0.0.1:9000");
  expect(read({ HOST: "::", PORT: "9000" }).base_url).toBe("http://[::1]:9000");
});

test.each([
  "postgres://user:pass@host:5432/dues",
  "postgresql://host/dues?sslmode=require",
  "postgres://user@/dues?host=%2Frun%2Fpostgresql",
  "postgres://",
])("DATABASE_URL %s is taken as it is", (DATABASE_URL) => {
  expect(read({ DATABASE_URL }).database_url).toBe(DATABASE_URL);
});

test.each([
  ["mysql://me:s3cret@x/dues", ", not mysql://…."],
  ["s3cret", "."],
  ["/run/postgresql s3cret", "."],
  ["postgres://me:s3cret/@host/dues", ". In user and password write / as %2F, "],
  ["postgres://me:s3cret@host:99999/dues", ". In user and password write"],
])("DATABASE_URL %s is refused, and a password in it is not shown", (DATABASE_URL, message) => {
  let said = "";
  try {
    read({ DATABASE_URL });
  } catch (error) {
    if (error instanceof ConfigError) said = error.message;
  }
  const form = "DATABASE_URL must look like postgres://user:password@host:5432/database";
  expect(said.slice(0, form.length + message.length)).toBe(`${form}${message}`);
  expect(said).not.toContain("s3cret");
});

test.each([
  ["", false],
  ["0", false],
  ["false", false],
  ["1", 1],
  ["true", 1],
  ["2", 2],
  ["10.0.0.1", ["10.0.0.1"]],
  ["loopback, 10.0.0.0/8,2001:db8::/32", ["loopback", "10.0.0.0/8", "2001:db8::/32"]],
])("TRUST_PROXY %j is %j", (given, trusted) => {
  expect(read({ TRUST_PROXY: given }).trust_proxy).toEqual(trusted);
});

test.each(["11", "-1", "yes", "10.0.0.0/33", "10.0.0.0/", "<b>1</b>"])(
  "TRUST_PROXY %s is refused with a sentence that names it",
  (given) => {
    expect(() => read({ TRUST_PROXY: given })).toThrow(/^TRUST_PROXY must be/);
  },
);

test("HEALTH_PORT is none unless it is set", () => {
  expect(read({}).health_port).toBeUndefined();
  expect(read({ HEALTH_PORT: "9090" }).health_port).toBe(9090);
});

test.each(["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])(
  "HOST %s is reached from this machine alone, unless BASE_URL says otherwise",
  (HOST) => {
    expect(read({ HOST }).is_public).toBe(false);
    expect(read({ HOST, BASE_URL: "http://[::1]:8080" }).is_public).toBe(false);
    expect(read({ HOST, BASE_URL: "https://billing.example.com" }).is_public).toBe(true);
  },
);

test.each(["0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com", "127.example.com"])(
  "HOST %s is reached by others",
  (HOST) => {
    expect(read({ HOST }).is_public).toBe(true);
  },
);
