// What counts as an answer of dues: nothing else is taken for the reply of a call.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { plainFetch } from "../../src/cli/connection/plain-fetch.ts";
import { Dues, DuesError } from "../../src/client/entry.ts";
import { type Shell, sharedShell } from "../cli/support.ts";

type Page = { status: number; type: string; text: string; headers?: Record<string, string> };

let server: Server;
let base_url: string;
let asked = 0;
let pages: Page[] = [];

beforeAll(async () => {
  server = createServer((_, response) => {
    asked += 1;
    const { status, type, text, headers } = (pages.length > 1 ? pages.shift() : pages[0]) as Page;
    response.writeHead(status, { ...(type && { "content-type": type }), ...headers }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = 0;
});

const client = (retries = 1) => new Dues({ base_url, token: "t", retries });
const page = (text: string, type = "text/html", status = 200): Page => ({ status, type, text });
const HTML = page("<html>hello</html>");
const event = { transaction_id: "t", subscription_id: "s", code: "c" };

async function failureOf(work: Promise<unknown>): Promise<DuesError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DuesError);
  return error as DuesError;
}

test.each([
  ["a page of text", HTML],
  ["no body", page("")],
  ["text that is called JSON", page("not json", "application/json")],
  ["JSON that is no object", page('"hello"', "application/json")],
  ["JSON without its name", page("{}", "text/plain")],
])("%s is no reply of a call that answers JSON", async (_, foreign) => {
  pages = [foreign];
  for (const call of [
    () => client().sendEvent(event),
    () => client().sendEventBatch({ events: [event] }),
    () => client().getCustomer("x"),
    () => client().customers.all().next(),
  ]) {
    const error = await failureOf(call());
    expect(error).toMatchObject({ status: 200, code: "http_200", retryable: true });
    expect(error.message).toContain("is this its address?");
  }
});

test("a token is revoked only where the API says so", async () => {
  for (const foreign of [HTML, page(""), page("{}", "application/json"), page("", "", 202)]) {
    pages = [foreign];
    const { code } = await failureOf(client().revokeKey("x"));
    expect(code).toBe(`http_${foreign.status}`);
  }
  pages = [page("", "", 204)];
  expect(await client().revokeKey("x")).toBeUndefined();
});

test("it is asked again until the service is back", async () => {
  pages = [HTML, HTML, page('{"accepted":true,"duplicate":false}', "application/json")];
  expect(await client(4).sendEvent(event)).toEqual({ accepted: true, duplicate: false });
  expect(asked).toBe(3);
});

test("documents are what they are called, and a notification has no answer", async () => {
  pages = [page("%PDF", "application/pdf")];
  expect(await client().getInvoiceDocumentPdf("x")).toBeInstanceOf(Uint8Array);
  pages = [HTML];
  expect(await client().getInvoiceDocument("x")).toBe(HTML.text);
  pages = [page("", "", 202)];
  expect(await client().createMcp({ jsonrpc: "2.0", method: "notifications/x" })).toBeUndefined();
});

test.each([
  ["fetch", fetch],
  ["the fetch of the command line", plainFetch],
] as const)("a redirect is asked once and says where it points: %s", async (_, send) => {
  const location = "https://user:pass@other.test/x";
  pages = [{ ...page("", "", 301), headers: { location } }];
  const dues = new Dues({ base_url, token: "t", fetch: send });
  const error = await failureOf(dues.listCustomers());
  expect(error).toMatchObject({ status: 301, code: "http_301", retryable: false });
  expect(error.message).toContain("redirects to https://…@other.test/x: is this its address?");
  expect(asked).toBe(1);
});

describe("an address with a password", () => {
  let shell: Shell;
  beforeAll(async () => {
    shell = await sharedShell();
  });
  afterAll(() => shell.close());

  test("is refused by the client without showing it", () => {
    for (const url of ["http://me:hush@host:1", "ftp://me:hush@host", "me:hush@host:8080"]) {
      const make = () => new Dues({ base_url: url, token: "t" });
      expect(make).toThrow(/base_url must/);
      expect(make).not.toThrow(/hush/);
    }
  });

  test.each([
    [["whoami"]],
    [["customers", "list"]],
    [["api", "get", "customers"]],
    [["open", "--print"]],
  ])("is shown by no command: %s", async (args) => {
    const url = "http://me:hush@127.0.0.1:9";
    for (const env of [{ DUES_URL: url }, { DUES_URL: url, DUES_TOKEN: "" }]) {
      const ran = await shell.run(args, { env });
      expect(ran.code).not.toBe(0);
      expect(ran.out + ran.err).not.toContain("hush");
    }
  });

  test("is shown by no command that is given another one as a path", async () => {
    const ran = await shell.run(["api", "get", "http://me:hush@other.test/v1/customers"]);
    expect([ran.code, ran.err]).toEqual([64, expect.not.stringContaining("hush")]);
  });

  test("where something else answers, no command says that its work is done", async () => {
    pages = [HTML];
    for (const args of [
      ["events", "send", "--subscription", "x", "--code", "c"],
      ["keys", "revoke", "00000000-0000-4000-8000-000000000000"],
      ["customers", "get", "x"],
    ]) {
      const ran = await shell.run(args, { env: { DUES_URL: base_url } });
      expect([ran.code, ran.out]).toEqual([69, ""]);
      expect(ran.err).toContain("is this its address?");
    }
  }, 60_000);
});
