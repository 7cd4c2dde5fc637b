// The client that people import: repeats what is safe to repeat, pages by itself.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Dues, DuesError } from "../../src/client/entry.ts";
import { type Shell, startShell } from "../cli/support.ts";

type Seen = { method: string; url: string; key: string | undefined; project: string | undefined };
type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | "hang up";

/** A server that answers from a list, and notes what it was asked. */
class Scripted {
  readonly seen: Seen[] = [];
  readonly replies: Reply[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const header = (name: string) => request.headers[name] as string | undefined;
      this.seen.push({
        method: request.method ?? "",
        url: request.url ?? "",
        key: header("idempotency-key"),
        project: header("x-project-id"),
      });
      const reply = this.replies.shift() ?? { status: 200, body: {} };
      if (reply === "hang up") return request.socket.destroy();
      response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
      response.end(reply.body === undefined ? "" : JSON.stringify(reply.body));
      return undefined;
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers in order from now on. */
  script(...replies: Reply[]): void {
    this.seen.splice(0);
    this.replies.splice(0, this.replies.length, ...replies);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const failure = (status: number, code: string, retryable: boolean, headers = {}): Reply => ({
  status,
  headers,
  body: { error: { code, message: `It is ${code}.`, retryable, request_id: "r1" } },
});

describe("repeats", () => {
  const server = new Scripted();
  let dues: Dues;
  beforeAll(async () => {
    dues = new Dues({ base_url: `${await server.listen()}/`, token: "t", project_id: "p" });
  });
  afterAll(() => server.close());

  const customer = { external_id: "a", name: "A" };

  test("a write is repeated with the same key until it succeeds", async () => {
    server.script(failure(503, "unavailable", true), "hang up", {
      status: 201,
      body: { customer: { id: "1" } },
    });
    expect(await dues.createCustomer(customer)).toEqual({ customer: { id: "1" } });
    expect(server.seen).toHaveLength(3);
    const keys = new Set(server.seen.map(({ key }) => key));
    expect(keys.size).toBe(1);
    expect([...keys][0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(server.seen[0]).toMatchObject({ method: "POST", url: "/v1/customers", project: "p" });
  });

  test("two writes have two keys, and a key of one's own is used", async () => {
    server.script();
    await dues.createCustomer(customer);
    await dues.createCustomer(customer);
    await dues.createCustomer(customer, { idempotency_key: "mine", project_id: "q" });
    expect(new Set(server.seen.map(({ key }) => key)).size).toBe(3);
    expect(server.seen[2]).toMatchObject({ key: "mine", project: "q" });
  });

  test("what is not retryable is not repeated, and says all there is to say", async () => {
    server.script(failure(422, "validation_error", false));
    const error = await dues.createCustomer(customer).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(DuesError);
    expect(error).toMatchObject({
      status: 422,
      code: "validation_error",
      message: "It is validation_error.",
      retryable: false,
      details: [],
      request_id: "r1",
    });
    expect(server.seen).toHaveLength(1);
  });

  test("Retry-After is waited for", async () => {
    server.script(failure(429, "rate_limited", true, { "retry-after": "1" }));
    const start = performance.now();
    await dues.getAnalytics();
    expect(performance.now() - start).toBeGreaterThanOrEqual(990);
    expect(server.seen).toHaveLength(2);
  });

  test("a wait longer than a minute is the caller's business", async () => {
    server.script(failure(429, "rate_limited", true, { "retry-after": "3600" }));
    await expect(dues.getAnalytics()).rejects.toMatchObject({ code: "rate_limited" });
    expect(server.seen).toHaveLength(1);
  });

  test("a call without a key that may have had its effect is not repeated", async () => {
    server.script("hang up");
    const call = dues.createMcp({ jsonrpc: "2.0", id: 1, method: "tools/call" });
    await expect(call).rejects.toMatchObject({ code: "network_error", status: 0 });
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]?.key).toBeUndefined();
  });

  test("events are repeated: they carry their own transaction_id", async () => {
    server.script("hang up", { status: 200, body: { accepted: true, duplicate: true } });
    const event = { transaction_id: "t", subscription_id: "s", code: "c" };
    expect(await dues.sendEvent(event)).toEqual({ accepted: true, duplicate: true });
    expect(server.seen).toHaveLength(2);
  });

  test("events are sent without a key, so that no answer of theirs is kept, unless one is given", async () => {
    server.script();
    const event = { transaction_id: "t", subscription_id: "s", code: "c" };
    await dues.sendEvent(event);
    await dues.sendEventBatch({ events: [event] });
    await dues.sendEvent(event, { idempotency_key: "mine" });
    expect(server.seen.map(({ key }) => key)).toEqual([undefined, undefined, "mine"]);
  });

  test("retries: 0 turns it off, and an answer of somebody else is told as such", async () => {
    const once = new Dues({
      base_url: await new Scripted().listen(),
      token: "t",
      retries: 0,
      fetch: async () => new Response("<html>", { status: 502 }),
    });
    await expect(once.getAnalytics()).rejects.toMatchObject({ code: "http_502", retryable: true });
  });

  test("a redirect is not followed: the token goes nowhere else", async () => {
    server.script({ status: 307, headers: { location: "http://127.0.0.1:1/" } });
    await expect(dues.getAnalytics()).rejects.toMatchObject({ code: "http_307", retryable: false });
    expect(server.seen).toHaveLength(1);
  });

  test("a signal stops the waiting", async () => {
    server.script(failure(503, "unavailable", true, { "retry-after": "30" }));
    const signal = AbortSignal.timeout(50);
    await expect(dues.getAnalytics({ signal })).rejects.toBeInstanceOf(DuesError);
  });

  test("an attempt takes as long as the call says, or else the client", async () => {
    const ANSWER_MS = 200;
    const fetch = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        setTimeout(reject, ANSWER_MS, new Error("still there"));
      });
    const of = (timeout_ms: number) =>
      new Dues({ base_url: "http://127.0.0.1:1", token: "t", retries: 0, timeout_ms, fetch });
    const late = { message: expect.stringContaining("timeout") };
    const inTime = { message: expect.stringContaining("still there") };
    await expect(of(50).getClock()).rejects.toMatchObject(late);
    await expect(of(50).getClock({ timeout_ms: 10_000 })).rejects.toMatchObject(inTime);
    await expect(of(10_000).getClock({ timeout_ms: 50 })).rejects.toMatchObject(late);
  });

  test("parts of a path are escaped, and options that are undefined are not sent", async () => {
    server.script();
    await dues.getCustomer("ext:a/b c?d");
    await dues.listInvoices({ status: undefined, limit: 5 });
    expect(server.seen.map(({ url }) => url)).toEqual([
      "/v1/customers/ext%3Aa%2Fb%20c%3Fd",
      "/v1/invoices?limit=5",
    ]);
  });

  test("a document comes as it is: a page as its text, a PDF as its bytes", async () => {
    const pages: Record<string, [string, string | Uint8Array<ArrayBuffer>]> = {
      "/v1/invoices/i1/document": ["text/html; charset=utf-8", "<p>Größe</p>"],
      "/v1/invoices/i1/document.pdf": ["application/pdf", Uint8Array.of(37, 80, 68, 70, 255)],
    };
    const fetch = async (url: string | URL | Request) => {
      const [type, body] = pages[new URL(String(url)).pathname] ?? ["", ""];
      return new Response(body, { headers: { "content-type": type } });
    };
    const client = new Dues({ base_url: "http://127.0.0.1:1", token: "t", fetch });
    const page: string = await client.getInvoiceDocument("i1");
    const pdf: Uint8Array = await client.getInvoiceDocumentPdf("i1");
    expect(page).toBe("<p>Größe</p>");
    expect([...pdf]).toEqual([37, 80, 68, 70, 255]);
  });

  test("an address that is none is refused at once", () => {
    expect(() => new Dues({ base_url: "example.com", token: "t" })).toThrow(/http/);
  });
});

describe("against the service", () => {
  let shell: Shell;
  let dues: Dues;
  beforeEach(async () => {
    shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
    const { token, project_id } = shell.app.profile;
    dues = new Dues({ base_url: shell.url, token, project_id });
  });
  afterEach(() => shell.close());

  const makeCustomer = async (external_id: string) =>
    (await dues.createCustomer({ external_id, name: "C" })).customer;
  const makeAddOn = async () =>
    (await dues.upsertAddOn({ code: "x", name: "X", amount_cents: 100 })).add_on;

  test("lists page by themselves, each row once", async () => {
    const { plan } = await dues.createPlan({
      code: "p",
      name: "P",
      interval: "monthly",
      amount_currency: "USD",
    });
    const add_on = await makeAddOn();
    for (let i = 0; i < 25; i++) {
      const customer = await makeCustomer(`c${i}`);
      await dues.applyAddOn(add_on.id, { customer_id: customer.id });
    }
    expect(plan.charges).toEqual([]);
    const numbers: string[] = [];
    for await (const invoice of dues.invoices.all({ status: "outstanding", limit: 10 }))
      numbers.push(invoice.number);
    expect(numbers).toHaveLength(25);
    expect(new Set(numbers).size).toBe(25);
    const ids: string[] = [];
    for await (const customer of dues.customers.all({ limit: 10 })) ids.push(customer.id);
    expect(ids).toHaveLength(25);
    expect(new Set(ids).size).toBe(25);
  });

  test("rows that come while a list is read shift none of those that were there", async () => {
    const before: string[] = [];
    for (let i = 0; i < 6; i++) before.unshift((await makeCustomer(`c${i}`)).id);
    const seen: string[] = [];
    for await (const { id } of dues.customers.all({ limit: 2 })) {
      seen.push(id);
      if (seen.length === 2) for (const late of ["d1", "d2", "d3"]) await makeCustomer(late);
    }
    expect(seen).toEqual(before);
  });

  test("every row is visited, also when the visit takes it out of the list", async () => {
    const { id: customer_id } = await makeCustomer("c");
    const terms = { code: "p", name: "P", interval: "monthly", amount_currency: "USD" } as const;
    const { id: plan_id } = (await dues.createPlan(terms)).plan;
    for (let i = 0; i < 7; i++) await dues.createSubscription({ customer_id, plan_id });
    for await (const { id } of dues.subscriptions.all({ status: "active", limit: 2 })) {
      await dues.terminateSubscription(id);
    }
    const { total_count } = await dues.listSubscriptions({ status: "active", count: "1" });
    expect(total_count).toBe(0);
  });

  test("a list that is answered whole has an `all` too, and so has one of a customer", async () => {
    await makeAddOn();
    const customer = await makeCustomer("c1");
    const codes: string[] = [];
    for await (const { code } of dues.add_ons.all()) codes.push(code);
    expect(codes).toEqual(["x"]);
    for await (const { name } of dues.keys.all()) codes.push(name);
    expect(codes).toHaveLength(2);
    const grant = { customer_id: customer.id, kind: "free", amount_cents: 500 } as const;
    await dues.createGrant({ ...grant, currency: "USD", name: "Welcome" });
    const entries: number[] = [];
    for await (const entry of dues.ledger_entries.all(customer.id, { limit: 1 }))
      entries.push(entry.amount_cents);
    expect(entries).toEqual([500]);
  });

  test("a lookup gives one record, typed as one", async () => {
    for (const external_id of ["c6", "c7", "c8"]) await makeCustomer(external_id);
    const { customer } = await dues.listCustomers({ external_id: "c7" });
    expect(customer.external_id).toBe("c7");
    const { customers } = await dues.listCustomers({ limit: 2 });
    expect(customers).toHaveLength(2);
  });

  test("a repeat of a call with its key has one effect", async () => {
    const options = { idempotency_key: "once" };
    const body = { external_id: "once", name: "Once" };
    const first = await dues.createCustomer(body, options);
    expect(await dues.createCustomer(body, options)).toEqual(first);
  });

  test("the error of the API arrives whole", async () => {
    await makeCustomer("c1");
    const error = await makeCustomer("c1").catch((each: unknown) => each);
    expect(error).toMatchObject({
      status: 409,
      code: "already_exists",
      details: [{ field: "external_id", code: "taken", existing_id: expect.any(String) }],
    });
  });
});
