// A portal that asks for a signed link: who gets in, until when, and what everybody else is told.

import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../src/clock.ts";
import { type Answer, type App, type Json, startApp } from "../support/app.ts";
import { madeInTheEnd } from "../support/asking-again.ts";
import { type Sandbox, sandbox } from "../support/given.ts";
import { expectError } from "../support/shapes.ts";

const STRANGER = { authorization: undefined, "x-project-id": undefined };
const START_MS = Date.parse("2026-03-01T00:00:00.000Z");
const WEEK_MS = 7 * 24 * 3_600_000;

let wall_ms = START_MS;
const clock: Clock = { now: () => new Date(wall_ms) };

let app: App;
let project: Sandbox;
let customer: Json;
let invoice: Json;

beforeAll(async () => {
  app = await startApp({ clock });
});
afterAll(() => app.close());
beforeEach(async () => {
  wall_ms = START_MS;
  project = await sandbox(app, "2025-01-01");
  customer = await project.customer();
  await project.apply(await project.addOn({ amount_cents: 500, currency: "USD" }), customer);
  [invoice] = await project.invoices();
  await project.ok("PUT", "/v1/settings", { portal_access: "signed" });
});
afterEach(async () => {
  await project.ok("PUT", "/v1/settings", { portal_access: "open" });
});

const visit = (path: string): Promise<Answer> =>
  madeInTheEnd(() => app.call("GET", path, undefined, STRANGER));

/** The page, its data and its documents. */
const pathsOf = (id: string, number = invoice.number): string[] => [
  `/v1/portal/${id}`,
  `/portal/${id}`,
  `/portal/${id}/invoices/${number}`,
  `/portal/${id}/invoices/${number}/pdf`,
];

async function link(body?: object, id = customer.id): Promise<{ access: string; made: Json }> {
  const made = await project.post(`/v1/customers/${id}/portal-links`, body);
  return { access: new URL(made.url).searchParams.get("access") ?? "", made };
}

async function statuses(query: string): Promise<number[]> {
  const all: number[] = [];
  for (const path of pathsOf(customer.id)) all.push((await visit(path + query)).status);
  return all;
}

/** All that a stranger can compare of an answer. */
const told = ({ status, body, headers }: Answer, id: string) => ({
  status,
  body: JSON.stringify(body)
    .replaceAll(id, "ID")
    .replace(/"request_id":"[^"]*"/, ""),
  headers: Object.entries(headers).filter(([name]) => !/^(date|x-request-id)$/.test(name)),
});

describe("without a good link", () => {
  test("all is as for a customer that does not exist", async () => {
    const nobody = randomUUID();
    const { access } = await link();
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // The neighbour in the alphabet differs in a bit that decoding leaves out.
    const forged = access.slice(0, -1) + letters[letters.indexOf(access.at(-1) ?? "") ^ 1];
    const [, expiry = "", signature] = /^(.*?)-(.*)$/.exec(access) ?? [];
    const longer = `${(Number.parseInt(expiry, 36) + 1).toString(36)}-${signature}`;
    const queries = ["", "?access=", "?access=x", `?access=${forged}`, `?access=${longer}`];
    for (const query of queries) {
      for (const [i, path] of pathsOf(customer.id).entries()) {
        const real = await visit(path + query);
        const none = await visit((pathsOf(nobody)[i] ?? "") + query);
        expect(real.status).toBe(404);
        expect(told(real, customer.id)).toEqual(told(none, nobody));
      }
    }
  });

  test("a link of one customer opens nobody else's portal", async () => {
    const other = await project.customer();
    const { access } = await link(undefined, other.id);
    expect(await statuses(`?access=${access}`)).toEqual([404, 404, 404, 404]);
  });

  test("a refresh gives nothing away, also while one with a link is under way", async () => {
    const { access } = await link();
    const path = `/v1/portal/${customer.id}?refresh=1`;
    const answers = await Promise.all([visit(`${path}&access=${access}`), visit(path)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    for (let i = 0; i < 10; i++) await visit(path);
    // And takes nothing from those who have one.
    expect((await visit(`${path}&access=${access}`)).status).toBe(200);
  });
});

describe("with a link", () => {
  test("page, data and documents are there, and the page's links carry it on", async () => {
    const { access, made } = await link({ expires_in: 60 });
    expect(made.url).toContain(`/portal/${customer.id}?access=`);
    expect(made.expires_at).toBe("2026-03-01T00:01:00.000Z");
    expect(await statuses(`?access=${access}`)).toEqual([200, 200, 200, 200]);
    const { body } = await visit(`/portal/${customer.id}?access=${access}`);
    const hrefs = [...body.matchAll(/href="(\/[^"]*)"/g)].map(([, href]) => href as string);
    expect(hrefs.length).toBeGreaterThan(0);
    for (const href of hrefs) expect((await visit(href)).status).toBe(200);
    expect(body).toContain(`name="access" value="${access}"`);
    const document = await visit(hrefs[0] ?? "");
    const further = [...document.body.matchAll(/href="(\/[^"]*)"/g)].map(([, href]) => href);
    expect(further).toHaveLength(2);
    for (const href of further) expect((await visit(href)).status).toBe(200);
  });

  test("views are kept, and purged, as without one", async () => {
    const { access } = await link();
    const path = `/v1/portal/${customer.id}?access=${access}`;
    const kept = async () => (await visit(path)).headers["x-portal-cache"];
    expect([await kept(), await kept()]).toEqual(["miss", "hit"]);
    await project.ok("DELETE", `/v1/portal-cache/${customer.id}`);
    expect(await kept()).toBe("miss");
  });

  test("it is over when it expires, by the machine's clock", async () => {
    const { access } = await link({ expires_in: 60 });
    wall_ms += 59_999;
    expect(await statuses(`?access=${access}`)).toEqual([200, 200, 200, 200]);
    wall_ms += 1;
    expect(await statuses(`?access=${access}`)).toEqual([404, 404, 404, 404]);
  });

  test("a revocation ends all that were made before, of this customer alone", async () => {
    const other = await project.customer();
    const theirs = await link(undefined, other.id);
    const old = [await link(), await link({ expires_in: 3_600 })];
    const revoked = await project.ok("DELETE", `/v1/customers/${customer.id}/portal-links`);
    expect(revoked).toEqual({ revoked: true, customer_id: customer.id });
    for (const { access } of old) {
      expect(await statuses(`?access=${access}`)).toEqual([404, 404, 404, 404]);
    }
    const { access } = await link();
    expect(await statuses(`?access=${access}`)).toEqual([200, 200, 200, 200]);
    expect((await visit(`/v1/portal/${other.id}?access=${theirs.access}`)).status).toBe(200);
    const { billing_events } = await project.get(
      `/v1/billing-events?resource_id=${customer.id}&all=1`,
    );
    const types = billing_events.map(({ event_type }: Json) => event_type);
    expect(types.filter((type: string) => type === "portal_link.created")).toHaveLength(3);
    expect(types.filter((type: string) => type === "portal_link.revoked")).toHaveLength(1);
    expect(JSON.stringify(billing_events)).not.toContain(access);
  });
});

describe("making one", () => {
  const make = (body?: object, id = customer.id) =>
    project.call("POST", `/v1/customers/${id}/portal-links`, body);

  test("is good for a week unless told otherwise, a year at most", async () => {
    expect((await link()).made.expires_at).toBe(new Date(START_MS + WEEK_MS).toISOString());
    const at = "2026-12-31T00:00:00.000Z";
    expect((await link({ expires_at: at })).made.expires_at).toBe(at);
    const refused = [
      { expires_in: 0 },
      { expires_in: 31_622_401 },
      { expires_in: 1.5 },
      { expires_at: "2026-02-28T23:59:59Z" },
      { expires_at: "2027-03-03T00:00:00Z" },
      { expires_in: 60, expires_at: at },
    ];
    for (const body of refused) expectError(await make(body), 422, "validation_error");
  });

  test("takes the customer's own id too, and no other customer's", async () => {
    const { made } = await link(undefined, `ext:${customer.external_id}`);
    expect(made.url).toContain(customer.id);
    expectError(await make({}, randomUUID()), 404, "not_found");
    const there = await sandbox(app, "2025-01-01");
    const path = `/v1/customers/${customer.id}/portal-links`;
    expectError(await there.call("POST", path), 404, "not_found");
    expectError(await there.call("DELETE", path), 404, "not_found");
  });

  test("is possible while the portal is open, where the id alone is enough", async () => {
    await project.ok("PUT", "/v1/settings", { portal_access: "open" });
    const { access } = await link();
    expect(await statuses("")).toEqual([200, 200, 200, 200]);
    expect(await statuses(`?access=${access}`)).toEqual([200, 200, 200, 200]);
    await project.ok("PUT", "/v1/settings", { portal_access: "signed" });
    expect(await statuses(`?access=${access}`)).toEqual([200, 200, 200, 200]);
    expect(await statuses("")).toEqual([404, 404, 404, 404]);
  });

  test("a made-up access is no way past the limit of refreshes of an open portal", async () => {
    await project.ok("PUT", "/v1/settings", { portal_access: "open" });
    const path = (i: number) => `/v1/portal/${customer.id}?refresh=1&access=x${i}`;
    const seen: number[] = [];
    for (let i = 0; i < 8; i++) seen.push((await visit(path(i))).status);
    expect(seen).toContain(429);
  });
});
