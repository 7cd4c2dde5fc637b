// Query parameters that a route does not have are refused with a hint: a misspelled filter would
// return everything.

import { beforeAll, expect, test } from "vitest";
import { type App, sharedApp } from "../../support/app.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

test.each([
  ["GET", "/v1/invoices?staus=overdue", "There is no parameter staus. Did you mean status?"],
  [
    "GET",
    "/v1/invoices?customerId=x",
    "There is no parameter customerId. Did you mean customer_id?",
  ],
  [
    "GET",
    "/v1/plans?colour=red",
    "There is no parameter colour. There are limit, offset, all, count, cursor, code, archived.",
  ],
  ["GET", "/v1/settings?x=1", "There is no parameter x. There are none here."],
  ["PUT", "/v1/settings?limit=1", "There is no parameter limit. There are none here."],
  [
    "GET",
    "/v1/invoices?constructor=1",
    expect.stringContaining("There is no parameter constructor."),
  ],
])("%s %s", async (method, url, message) => {
  const { status, body } = await app.call(
    method,
    url,
    method === "PUT" ? { name: "A" } : undefined,
  );
  expect([status, body.error.code]).toEqual([422, "validation_error"]);
  expect(body.error.message).toEqual(message);
  expect(body.error.details).toMatchObject([{ code: "unknown" }]);
});

test("lists that are complete take the parameters of paging, as all lists do", async () => {
  expect((await app.call("GET", "/v1/plans?limit=5&all=1")).status).toBe(200);
});

test("pages for people take whatever a mail program adds to a link", async () => {
  expect((await app.call("GET", "/docs?utm_source=mail")).status).toBe(200);
});
