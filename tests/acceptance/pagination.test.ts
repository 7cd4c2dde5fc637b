// Pagination and limits of the list endpoints, sentence by sentence.

import { beforeAll, describe, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import type { Json } from "../support/app.ts";
import {
  makeAddOn,
  makeCustomer,
  makePlan,
  makeSubscription,
  paymentOf,
} from "../support/records.ts";
import { expectError } from "../support/shapes.ts";

const ROWS = 12;
// Applies to customers, subscriptions, invoices, payments and billing events.
const LISTS = ["customers", "subscriptions", "invoices", "payments", "billing-events"];

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
  const plan = await makePlan(api);
  const addOn = await makeAddOn(api);
  for (let i = 0; i < ROWS; i++) {
    const customer = await makeCustomer(api);
    await makeSubscription(api, { customer_id: customer.id, plan_id: plan.id });
    const apply = `/v1/addons/${addOn.id}/apply`;
    const { applied_add_on } = await api.ok("POST", apply, { customer_id: customer.id });
    const { invoice_id, amount_cents, currency } = applied_add_on;
    const invoice = { id: invoice_id, total_cents: amount_cents, currency };
    await api.ok("POST", "/v1/payments", paymentOf(invoice));
  }
});

async function list(name: string, query: string): Promise<Json[]> {
  return (await api.ok("GET", `/v1/${name}${query}`))[name.replace("-", "_")];
}

describe.each(LISTS)("GET /v1/%s", (name) => {
  test("1. default page size is 10 records", async () => {
    expect(await list(name, "")).toHaveLength(10);
  });

  test("2. limit=N sets the size, at most 1000", async () => {
    expect(await list(name, "?limit=3")).toHaveLength(3);
    expect((await list(name, "?limit=100000")).length).toBeGreaterThanOrEqual(ROWS);
    for (const limit of ["0", "-1", "1.5", "1e3", "ten", ""]) {
      expectError(await api.get(`/v1/${name}?limit=${limit}`), 422, "validation_error");
    }
  });

  test("3. all=1 returns up to 1000 records", async () => {
    const everything = await list(name, "?all=1");
    expect(everything.length).toBeGreaterThanOrEqual(ROWS);
    expect(everything).toEqual(await list(name, "?limit=1000"));
  });

  test("4. offset=N skips N records", async () => {
    const everything = await list(name, "?all=1");
    expect(await list(name, "?offset=4&limit=5")).toEqual(everything.slice(4, 9));
    expect(await list(name, "?offset=5000")).toEqual([]);
  });

  test("6. the project header is required; when missing the answer is 400 missing_project", async () => {
    const without = { "x-project-id": undefined };
    const answer = await api.call("GET", `/v1/${name}`, undefined, without);
    expectError(answer, 400, "missing_project");
  });

  test("newest first, and has_more tells whether there are more", async () => {
    const rows = await list(name, "?all=1");
    // Tokens are the organization's: others may be making them just now.
    const own = rows.filter((row) => row.resource_type !== "token");
    const times = own.map((row) => row.created_at);
    expect(times).toEqual([...times].sort().reverse());
    expect(await api.ok("GET", `/v1/${name}?limit=1`)).toMatchObject({ has_more: true });
    expect(await api.ok("GET", `/v1/${name}?all=1`)).toMatchObject({ has_more: false });
  });
});

test.each(["invoices", "billing-events"])(
  "5. %s also takes cursor and returns a cursor value",
  async (name) => {
    const everything = await list(name, "?all=1");
    const seen: Json[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page: Json = await api.ok("GET", `/v1/${name}?limit=5${query}`);
      seen.push(...page[name.replace("-", "_")]);
      cursor = page.cursor;
    }
    expect(seen).toEqual(everything);
  },
);
