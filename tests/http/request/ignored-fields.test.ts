// Keys that a body's schema does not know are ignored as before, and named in X-Ignored-Fields.

import Type from "typebox";
import { beforeAll, expect, test } from "vitest";
import { ignoredFinder } from "../../../src/http/request/ignored-fields.ts";
import { type App, sharedApp } from "../../support/app.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const ignored = async (method: string, url: string, body: unknown) => {
  const { status, headers } = await app.call(method, url, body);
  return [status, headers["x-ignored-fields"]];
};

test("a misspelled field is named, and the call is answered as before", async () => {
  const body = { external_id: "a", name: "A", emial: "a@a.test" };
  expect(await ignored("POST", "/v1/customers", body)).toEqual([201, "emial"]);
  const right = { external_id: "b", name: "B", email: "b@b.test" };
  expect(await ignored("POST", "/v1/customers", right)).toEqual([201, undefined]);
});

test("a refused call names them too: what is missing may be there misspelled", async () => {
  expect(await ignored("POST", "/v1/customers", { nmae: "A" })).toEqual([422, "nmae"]);
});

test("fields inside are named by their path, and free objects may have any", async () => {
  const charge = { charge_model: "flat_fee", amount_override_cents: 1, nmae: "x" };
  const plan = {
    code: "p",
    name: "P",
    interval: "monthly",
    amount_currency: "USD",
    charges: [charge, { ...charge, properties: { anything: 1 } }],
  };
  const [status, names] = await ignored("POST", "/v1/plans", plan);
  expect([status, names]).toEqual([201, "charges[0].nmae,charges[1].nmae"]);
});

test("of a batch of events the first are looked at", async () => {
  const event = { transaction_id: "t", subscription_id: "ext:none", code: "c" };
  const events = [event, { ...event, propreties: {} }];
  const [, names] = await ignored("POST", "/v1/events/batch", { events });
  expect(names).toBe("events[1].propreties");
  const late = [...Array.from({ length: 20 }, () => event), { ...event, wrong: 1 }];
  expect((await ignored("POST", "/v1/events/batch", { events: late }))[1]).toBeUndefined();
});

test("names are bounded in number and length, and cannot break the header", () => {
  const find = ignoredFinder(Type.Object({ known: Type.String() }));
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, 1]));
  expect(find(many)?.split(",")).toHaveLength(10);
  expect(find({ ["x".repeat(5_000)]: 1 })).toHaveLength(100);
  expect(find({ 'a,b\r\nSet-Cookie: "ü': 1 })).toBe("a%2Cb%0D%0ASet-Cookie%3A%20%22%C3%BC");
  expect(find(JSON.parse('{"__proto__": 1, "constructor": 2}'))).toBe("__proto__,constructor");
  for (const body of [undefined, null, "text", 5, [1]]) expect(find(body)).toBeUndefined();
});
