// Thousands of requests that nobody should send: each is refused in the envelope or does no harm,
// none is a failure of the service, and the service is well afterwards.

import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import type { Route } from "../../src/http/route.ts";
import { routeTable } from "../../src/http/table.ts";
import { type Answer, type App, type Body, startApp } from "../support/app.ts";
import {
  brokenBytes,
  hostileBody,
  hostileHeaders,
  hostileQuery,
  hostileSegment,
} from "../support/malformed.ts";
import { code, makeInvoice, makeSubscription } from "../support/records.ts";
import { sample, UNKNOWN_ID } from "../support/samples.ts";
import { expectEnvelope, expectError } from "../support/shapes.ts";

const SEED = 20_260_115;
const JSON_TYPE = { "content-type": "application/json" };

let app: App;
let table: readonly Route[];

beforeAll(async () => {
  app = await startApp({ at: "2026-01-10T09:00:00.000Z" });
  table = routeTable(
    app.context,
    { draining: false, schema_version: 0, warnings: [] },
    new Bounds(),
  );
});

afterEach(async () => {
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect((await app.call("GET", "/readyz")).status).toBe(200);
});

afterAll(() => app.close());

/** Whatever was sent: an answer, never a failure, and a refusal says why in the envelope. */
async function survive(method: string, url: string, body?: unknown, headers: Body = {}) {
  const answer = await app.call(method, url, body, headers);
  const shown = `${method} ${url} ${String(body).slice(0, 300)}: ${JSON.stringify(answer.body)}`;
  expect(answer.status, shown).toBeLessThan(500);
  // Pages for people answer in pages.
  if (answer.status >= 400 && url.startsWith("/v1/")) expectEnvelope(answer);
  return answer;
}

async function holds<T>(
  runs: number,
  values: fc.Arbitrary<T>,
  act: (value: T) => Promise<unknown>,
) {
  const property = fc.asyncProperty(values, async (value) => {
    await act(value);
  });
  await fc.assert(property, { numRuns: runs, seed: SEED });
}

function pathOf(route: Route, id = UNKNOWN_ID): string {
  return route.path.replace(/:\w+/g, id);
}

function fieldsOf(schema: unknown): string[] {
  return Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});
}

describe("generated", () => {
  test("bodies with hostile fields, on every route that takes one", async () => {
    for (const route of table.filter(({ body }) => body !== undefined)) {
      const good = sample(route.body) as Record<string, unknown>;
      const bodies = hostileBody(good, fieldsOf(route.body));
      await holds(32, bodies, (body) => survive(route.method, pathOf(route), body, JSON_TYPE));
    }
  });

  test("bodies that are no JSON are 400 or 422, on every route that takes one", async () => {
    for (const route of table.filter(
      ({ body, scope }) => body !== undefined && scope !== "public",
    )) {
      const good = sample(route.body) as Record<string, unknown>;
      await holds(10, brokenBytes({ ...good, padding: "text" }), async (bytes) => {
        const answer = await survive(route.method, pathOf(route), bytes, JSON_TYPE);
        if (answer.status >= 300) expect([400, 404, 409, 422]).toContain(answer.status);
      });
    }
  });

  test("queries with hostile values, on every route that takes one", async () => {
    for (const route of table.filter(({ query }) => query !== undefined)) {
      const queries = hostileQuery(fieldsOf(route.query));
      await holds(30, queries, (query) => survive(route.method, `${pathOf(route)}?${query}`));
    }
  });

  test("paths with hostile ids, on every route that takes one", async () => {
    for (const route of table.filter(({ path }) => path.includes(":"))) {
      const body = route.body === undefined ? undefined : sample(route.body);
      await holds(12, hostileSegment, (id) => survive(route.method, pathOf(route, id), body));
    }
  });

  test("hostile headers, on a read and on a write", async () => {
    await holds(100, hostileHeaders, (headers) =>
      survive("GET", "/v1/customers", undefined, headers),
    );
    await holds(100, hostileHeaders, (headers) => {
      const body = JSON.stringify({ external_id: code("h"), name: "H" });
      return survive("POST", "/v1/customers", body, { ...JSON_TYPE, ...headers });
    });
  });
});

describe("cursors", () => {
  let cursor: string;

  beforeAll(async () => {
    for (let i = 0; i < 3; i++) await makeInvoice(app);
    cursor = (await app.get("/v1/invoices?limit=1")).cursor;
  });

  function follow(text: string, path = "/v1/invoices?limit=1", headers: Body = {}) {
    return survive("GET", `${path}&cursor=${encodeURIComponent(text)}`, undefined, headers);
  }

  test("every flipped bit makes a cursor invalid", async () => {
    const bytes = Buffer.from(cursor, "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit += 3) {
      const forged = Buffer.from(bytes);
      forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expectError(await follow(forged.toString("base64url")), 422, "validation_error");
    }
  });

  test("a cursor that is cut, longer or made up is 422", async () => {
    const words = [
      "",
      "x",
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}==`,
      "🦆",
      "A".repeat(999),
    ];
    for (const text of words) expectError(await follow(text), 422, "validation_error");
    expectError(await follow("A".repeat(1_001)), 422, "validation_error");
  });

  test("a cursor of another filter, list or project is 422", async () => {
    const wanted = { workspace: "main", slug: "cursors" };
    const { project } = await app.post("/v1/projects", wanted);
    const answers: Answer[] = [
      await follow(cursor, "/v1/invoices?status=outstanding"),
      await follow(cursor, "/v1/payments?limit=1"),
      await follow(cursor, "/v1/billing-events?limit=1"),
      await follow(cursor, "/v1/invoices?limit=1", { "x-project-id": project.id }),
      await follow(cursor, "/v1/invoices?offset=1"),
    ];
    for (const answer of answers) expectError(answer, 422, "validation_error");
    expect((await follow(cursor)).status).toBe(200);
  });
});

describe("free-form objects", () => {
  const nasty = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":[1]}';

  test("__proto__ and constructor in metadata come back as sent, and change nothing", async () => {
    const body = `{"code":"nasty","name":"N","amount_cents":1,"metadata":${nasty}}`;
    const made = await survive("POST", "/v1/catalog", body, JSON_TYPE);
    expect(made.status).toBe(201);
    const found = await app.get("/v1/catalog?code=nasty");
    for (const { metadata } of [made.body.catalog_item, found.catalog_item]) {
      expect(Object.entries(metadata).sort()).toEqual(Object.entries(JSON.parse(nasty)).sort());
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("__proto__ in subscription properties is merged like any other key", async () => {
    const subscription = await makeSubscription(app);
    const path = `/v1/subscriptions/${subscription.id}`;
    const patched = await survive("PATCH", path, `{"properties":${nasty}}`, JSON_TYPE);
    expect(patched.status).toBe(200);
    const again = await survive("PATCH", path, '{"properties":{"b":2}}', JSON_TYPE);
    const properties = JSON.parse(again.body.subscription.properties);
    expect(Object.keys(properties).sort()).toEqual(["__proto__", "a", "b", "constructor"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("16 KiB of metadata fit, 17 do not", async () => {
    const item = (bytes: number) => ({
      code: "heavy",
      name: "H",
      amount_cents: 1,
      metadata: { a: "x".repeat(bytes - '{"a":""}'.length) },
    });
    expect((await survive("POST", "/v1/catalog", item(16 * 1024))).status).toBe(201);
    const refused = await survive("POST", "/v1/catalog", item(17 * 1024));
    expectError(refused, 422, "validation_error");
    expect(refused.body.error.details).toMatchObject([{ field: "metadata", code: "too_large" }]);
  });
});

describe("limits", () => {
  test.each([
    ["/v1/customers", 2 * 1024 * 1024],
    ["/v1/customers", 1024 * 1024 + 1],
    ["/v1/events", 64 * 1024 + 1],
    ["/v1/events/batch", 8 * 1024 * 1024 + 1],
  ])("a body of %s with %i bytes is 413", async (path, bytes) => {
    const answer = await survive("POST", path, " ".repeat(bytes), JSON_TYPE);
    expectError(answer, 413, "payload_too_large");
  });

  test("JSON 32 levels deep is read, 33 is refused", async () => {
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const body = (depth: number) =>
      `{"code":"deep","name":"D","amount_cents":1,"metadata":{"a":${nested(depth)}}}`;
    expect((await survive("POST", "/v1/catalog", body(30), JSON_TYPE)).status).toBe(201);
    const refused = await survive("POST", "/v1/catalog", body(31), JSON_TYPE);
    expectError(refused, 422, "validation_error");
  });

  test.each(["1e400", "9007199254740993", "-9007199254740993", "1e20", "0.30000000000000004441"])(
    "the number %s, which would be kept as another, is refused",
    async (number) => {
      const body = `{"code":"big","name":"B","amount_cents":1,"metadata":{"n":${number}}}`;
      expectError(await survive("POST", "/v1/catalog", body, JSON_TYPE), 422, "validation_error");
    },
  );

  test.each([
    "2026-02-30T00:00:00.000Z",
    "2026-01-20T12:00:00",
    "2026-01-20",
    "1999-12-31T23:59:59.999Z",
    "2201-01-01T00:00:00.000Z",
    "2026-01-20T24:00:00.000Z",
    "2026-01-20T12:60:00.000Z",
    "2026-01-20 12:00:00Z",
    "20260120T120000Z",
    "1768910400",
    "",
  ])("the timestamp %j is refused wherever one is taken", async (text) => {
    const event = { transaction_id: "t", subscription_id: UNKNOWN_ID, code: "c", timestamp: text };
    const clock = { frozen_at: text };
    const key = { name: "k", organization_id: app.profile.organization_id, expires_at: text };
    const payment = {
      invoice_id: UNKNOWN_ID,
      amount_cents: 1,
      currency: "USD",
      provider: "p",
      provider_payment_id: "p",
      paid_at: text,
    };
    const since = `/v1/billing-events?since=${encodeURIComponent(text)}`;
    const answers = [
      await survive("POST", "/v1/events", event),
      await survive("POST", "/v1/clock", clock),
      await survive("POST", "/v1/keys", key),
      await survive("POST", "/v1/payments", payment),
      await survive("GET", since),
    ];
    for (const answer of answers) expectError(answer, 422, "validation_error");
  });

  test.each([
    "limit=-1",
    "limit=0",
    "limit=1e3",
    "limit=%20",
    "limit=1&limit=2",
    "limit=9007199254740993",
    "offset=-1",
    "offset=1.5",
    "offset=1000001",
    "all=2",
    "count=yes",
    "external_id=%00",
    "external_id=a&external_id=b",
  ])("the query %s is 422", async (query) => {
    expectError(await survive("GET", `/v1/customers?${query}`), 422, "validation_error");
  });

  test("a query field that nobody knows is refused, an unknown body field is ignored", async () => {
    expect((await survive("GET", "/v1/customers?limit[]=5&unheard=1")).status).toBe(422);
    const body = { external_id: code("c"), name: "C", unheard: { of: 1 } };
    expect((await survive("POST", "/v1/customers", body)).status).toBe(201);
  });

  test("255 characters fit, 256 do not", async () => {
    const of = (length: number) => ({ external_id: "é".repeat(length), name: "n" });
    expect((await survive("POST", "/v1/customers", of(255))).status).toBe(201);
    expectError(await survive("POST", "/v1/customers", of(256)), 422, "validation_error");
  });

  test.each(["text/plain", "application/xml", "application/x-www-form-urlencoded", "json", "a/b"])(
    "content type %s is 415",
    async (type) => {
      const answer = await survive("POST", "/v1/customers", "{}", { "content-type": type });
      expectError(answer, 415, "unsupported_media_type");
    },
  );

  test.each(["gzip", "deflate", "br", "GZIP, identity", "x"])(
    "a body in the coding %s is 415, in words",
    async (coding) => {
      const headers = { "content-type": "application/json", "content-encoding": coding };
      const answer = await survive("POST", "/v1/customers", gzipSync("{}"), headers);
      expectError(answer, 415, "unsupported_media_type");
      expect(answer.body.error.message).toContain("Content-Encoding");
    },
  );

  test("identity is no coding", async () => {
    const body = { external_id: code("c"), name: "C" };
    const answer = await survive("POST", "/v1/customers", body, { "content-encoding": "identity" });
    expect(answer.status).toBe(201);
  });

  test("a path id of over 1,024 bytes is 404", async () => {
    const answer = await survive("GET", `/v1/customers/ext:${"a".repeat(1_100)}`);
    expectError(answer, 404, "not_found");
  });
});
