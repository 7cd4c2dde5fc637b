// What the portal says of how a subscription runs and of usage by dimensions, as data and as a
// page.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../support/app.ts";
import { perUnit, type Sandbox, type SubscriptionFields, sandbox } from "../support/given.ts";
import { useOf } from "../support/pricing.ts";

let app: App;
let project: Sandbox;
let plan: Json;

beforeAll(async () => {
  app = await sharedApp();
  project = await sandbox(app, "2026-01-25T15:00");
  plan = await project.plan({ name: "Pro", amount_cents: 2_800 });
});

const STRANGER = { authorization: undefined, "x-project-id": undefined };

async function dataOf({ id }: Json): Promise<Json> {
  return (await app.call("GET", `/v1/portal/${id}`, undefined, STRANGER)).body;
}

async function pageOf({ id }: Json): Promise<string> {
  return (await app.call("GET", `/portal/${id}`, undefined, STRANGER)).body;
}

/** The words of each card of a subscription. */
async function cards(customer: Json): Promise<string[]> {
  const page = await pageOf(customer);
  return [...page.matchAll(/<article[\s\S]*?<\/article>/g)].map(([card]) =>
    card
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim(),
  );
}

async function started(fields: SubscriptionFields): Promise<Json> {
  const customer = await project.customer();
  await project.subscribe({ plan, customer, external_id: "acme", ...fields });
  const found = { customer, shown: (await dataOf(customer)).subscriptions[0] };
  const [card = ""] = await cards(customer);
  await project.patch(`/v1/customers/${customer.id}`, { name: "Seen" });
  for (const { id } of (await project.get("/v1/subscriptions?external_id=acme")).subscriptions) {
    await project.setStatus({ id }, "canceled");
  }
  return { ...found, card };
}

describe("how a subscription runs", () => {
  test("nothing of it where there is nothing to say", async () => {
    const { shown, card } = await started({});
    expect(shown).toMatchObject({ trial_ends_at: null, ends_at: null, status: "active" });
    expect(card).toBe(
      "Pro Active $28.00 per month Current period: 25 Jan 2026 – 31 Jan 2026 · acme " +
        "Next invoice, on 1 Feb 2026 about $6.32",
    );
  });

  test("in a trial: until when, and what it costs then", async () => {
    const { shown, card } = await started({ trial_days: 14 });
    expect(shown.trial_ends_at).toBe("2026-02-08T00:00:00.000Z");
    expect(card).toBe(
      "Pro Free trial Then $28.00 per month Free of charge up to and including 7 Feb 2026. " +
        "Trial period: 25 Jan 2026 – 7 Feb 2026 · acme",
    );
  });

  test("an end that was set, on a day's last instant or within one", async () => {
    const whole = await started({ ends_at: "2026-02-01" });
    expect(whole.shown.ends_at).toBe("2026-02-01T00:00:00.000Z");
    expect(whole.card).toContain("Ends after 31 Jan 2026.");
    const part = await started({ ends_at: "2026-01-30T10:00" });
    expect(part.card).toContain("Ends on 30 Jan 2026, 10:00 UTC.");
  });

  test("a start that is to come, with the trial it begins with", async () => {
    const { shown, card } = await started({ starts_at: "2026-02-10T10:30", trial_days: 5 });
    expect(shown.status).toBe("pending");
    expect(card).toBe(
      "Pro Starts later $28.00 per month Starts on 10 Feb 2026, 10:30 UTC. " +
        "Free of charge up to and including 14 Feb 2026. " +
        "First period: 10 Feb 2026 – 14 Feb 2026 · acme",
    );
  });

  test("one that has ended says no more than that", async () => {
    const customer = await project.customer();
    const subscription = await project.subscribe({ plan, customer, trial_days: 14 });
    await project.terminate(subscription);
    const [card] = await cards(customer);
    expect(card).toMatch(/^Pro Ended \$28\.00 per month Last period: /);
    expect(card).not.toContain("Free");
  });

  test("a trial that is over is not shown, though its date is kept", async () => {
    const story = await sandbox(app, "2026-01-01");
    const customer = await story.customer();
    await story.subscribe({ customer, amount_cents: 3_100, trial_days: 10 });
    await story.travelTo("2026-01-11");
    expect((await dataOf(customer)).subscriptions[0].trial_ends_at).toBe(
      "2026-01-11T00:00:00.000Z",
    );
    const [card] = await cards(customer);
    expect(card).toContain(" Active $31.00 per month Current period: 11 Jan 2026");
  });
});

describe("usage by dimensions", () => {
  /** Names that look like numbers: an object does not keep their order. */
  async function used(count: number): Promise<Json> {
    const story = await sandbox(app, "2026-01-10");
    const metric = await story.metric("sum", {
      name: "Tokens",
      code: "tokens",
      dimensions: ["model", "7", "kind"],
    });
    const prices = [{ match: { kind: "output" }, amount: "0.10" }];
    const customer = await story.customer();
    const charges = [{ ...perUnit(metric, "0.02", { prices }), name: "AI tokens" }];
    const subscription = await story.subscribe({ customer, charges });
    for (let i = 0; i < count; i++) {
      const of = { model: `m${String(i).padStart(3, "0")}`, "7": "x", kind: "output" };
      await useOf(story, subscription, metric, { value: "10", of });
    }
    return { story, customer, subscription };
  }

  test("one line a combination, in the metric's order, with its days", async () => {
    const { customer, story, subscription } = await used(2);
    const { usage } = (await dataOf(customer)).subscriptions[0];
    expect(usage.map((line: Json) => line.dimensions)).toEqual([
      { model: "m000", "7": "x", kind: "output" },
      { model: "m001", "7": "x", kind: "output" },
    ]);
    expect((await story.runningUsage(subscription)).charges[0]).toMatchObject({
      events: 1,
      days: [{ date: "2026-01-10", units: "10" }],
    });
    const [card] = await cards(customer);
    expect(card).toContain("AI tokens, model m000, 7 x, kind output 10 used $1.00");
    expect((await pageOf(customer)).match(/class="bar"/g)).toHaveLength(2);
  });

  test("many lines are a list without charts, and the page stays small", async () => {
    const { customer } = await used(60);
    const page = await pageOf(customer);
    expect(page.match(/<li>/g)).toHaveLength(60);
    expect(page).not.toContain("<svg");
    expect(Buffer.byteLength(page)).toBeLessThan(40 * 1024);
  });
});
