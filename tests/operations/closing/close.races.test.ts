// A running close, by the workers or by a sandbox's clock, against callers who change the same
// subscriptions or send usage for them: either comes first, and the bill is that of one order.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer, Body, Json } from "../../support/app.ts";
import type { Client } from "../../support/client.ts";
import { amidClose, insist, makeCustomer, RaceCourse } from "../../support/race.ts";

const deep = process.env.DUES_DEEP === "1";
const ROUNDS = deep ? 40 : 1;
/** Raced at once in each round. */
const RACERS = 6;
const TIMEOUT = { timeout: deep ? 600_000 : 60_000 };

const START = "2026-01-05T08:00:00.000Z";
/** Just before the end of the first period, and just behind it. */
const BEFORE = "2026-01-31T23:59:59.500Z";
const BOUNDARY = "2026-02-01T00:00:00.000Z";
const AFTER = "2026-02-01T00:00:00.250Z";
const SETTLED = "2026-03-01T00:00:00.000Z";

/** A day of January is 420 of it, one of February 465. */
const MONTHLY = 28 * 15 * 31;
/** A seat's day in January is 28, in February 31. */
const SEAT = 28 * 31;

let course: RaceCourse;
beforeAll(async () => {
  course = await RaceCourse.open();
});
afterAll(async () => {
  expect(await course.close()).toEqual([]);
});

const METRICS: readonly Body[] = [
  { code: "calls", aggregation_type: "sum" },
  { code: "disk", aggregation_type: "weighted_sum", weighted_by: "hour" },
  { code: "tokens", aggregation_type: "sum", dimensions: ["model"] },
];

function seats(quantity_mode: string): Body {
  const quantity_from = "subscription_property.seats";
  const priced = { type: "flat_fee", amount_override_cents: SEAT, quantity_from };
  return { ...priced, name: quantity_mode, quantity_mode };
}

function perUnit(code: string, rate: string, more: Body = {}): Body {
  return { type: "standard", metric_ref: code, name: code, rate, ...more };
}

const TIERS = [
  { up_to: "25", rate: "0.10" },
  { up_to: null, rate: "0.05", flat_amount: "1" },
];
const BY_MODEL = { prices: [{ match: { model: "large" }, rate: "3" }] };
const PLANS: Readonly<Record<string, Body>> = {
  plain: { amount_cents: MONTHLY },
  tenfold: { amount_cents: 10 * MONTHLY },
  ahead: { amount_cents: MONTHLY, base_timing: "advance" },
  further: { amount_cents: 10 * MONTHLY, base_timing: "advance" },
  seats: { charges: [seats("last"), seats("prorated"), seats("max")] },
  ending: { amount_cents: MONTHLY, base_timing: "advance", charges: [seats("last")] },
  tried: { amount_cents: MONTHLY, charges: [perUnit("calls", "0.10")] },
  cheap: { charges: [perUnit("calls", "0.01"), perUnit("disk", "0.02")] },
  dear: { charges: [perUnit("calls", "1"), perUnit("disk", "0.02")] },
  metered: {
    charges: [
      { type: "graduated", metric_ref: "calls", name: "calls", tiers: TIERS },
      perUnit("disk", "0.01"),
      perUnit("tokens", "1", BY_MODEL),
    ],
  },
};

type Scene = {
  readonly mode: "live" | "sandbox";
  readonly prompt: Client;
  readonly slow: Client;
  readonly plans: Readonly<Record<string, Json>>;
  readonly subscriptions: readonly string[];
};

/** Subscriptions since START on the first plan, in a project of their own. */
async function setUp(mode: Scene["mode"], codes: readonly string[], terms: Body): Promise<Scene> {
  course.setClocks(START, START);
  const { prompt, slow } = await course.project(mode);
  if (mode === "sandbox") await prompt.post("/v1/clock", { frozen_at: START });
  for (const metric of METRICS) {
    await prompt.post("/v1/metrics", { name: metric.code, field_name: "n", ...metric });
  }
  const plans: Record<string, Json> = {};
  for (const code of codes) {
    const named = { code, name: "base", interval: "monthly", amount_currency: "USD" };
    plans[code] = (await prompt.post("/v1/plans", { ...named, ...PLANS[code] })).plan;
  }
  const { id: customer_id } = await makeCustomer(prompt);
  const plan_id = plans[codes[0] ?? ""].id;
  const subscriptions: string[] = [];
  for (let i = 0; i < RACERS; i++) {
    const wanted = { customer_id, plan_id, properties: { seats: 3 }, ...terms };
    subscriptions.push((await prompt.post("/v1/subscriptions", wanted)).subscription.id);
  }
  return { mode, prompt, slow, plans, subscriptions };
}

/** Everybody's clocks, and all that is due by then. */
async function pass({ mode, prompt }: Scene, to: string): Promise<void> {
  course.setClocks(to, to);
  if (mode === "sandbox") await prompt.post("/v1/clock/advance", { to });
  await course.work();
}

/** By whom the period is closed, and what time it is for the callers meanwhile. */
const CLOSERS = {
  "workers, behind the callers' clock": { mode: "live", callers: AFTER },
  "workers, ahead of the callers' clock": { mode: "live", callers: BEFORE },
  "the clock of a sandbox": { mode: "sandbox", callers: BEFORE },
} as const;
type Closer = keyof typeof CLOSERS;

type Race = {
  /** The first is the one that they are on. */
  readonly plans: readonly string[];
  readonly terms?: Body;
  readonly act: (scene: Scene, subscription: string) => Promise<readonly Answer[]>;
  readonly afterwards?: (scene: Scene) => Promise<unknown>;
};

/** What each caller was answered and each subscription was billed up to March, told once each. */
async function run(closer: Closer, race: Race): Promise<string[]> {
  const { mode, callers } = CLOSERS[closer];
  const ends = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const scene = await setUp(mode, race.plans, race.terms ?? {});
    if (mode === "sandbox") await pass(scene, BEFORE);
    course.setClocks(callers, AFTER);
    const close =
      mode === "live"
        ? course.work("slow")
        : insist(scene.slow, "POST", "/v1/clock/advance", { to: BOUNDARY });
    const acts = scene.subscriptions.map(async (id) => {
      await amidClose();
      return race.act(scene, id);
    });
    const [answers] = await Promise.all([Promise.all(acts), close]);
    await race.afterwards?.(scene);
    await pass(scene, SETTLED);
    for (const [i, id] of scene.subscriptions.entries()) {
      const bill = await course.bill(scene.prompt, id, "2026-03-01");
      ends.add(end((answers[i] ?? []).map(({ status }) => status).join(" "), bill));
    }
  }
  return [...ends];
}

function end(answered: string, bill: readonly string[]): string {
  return [answered, ...bill.toSorted()].join(", ");
}

/** Every end must be one of these. */
function expectOneOf(found: readonly string[], allowed: readonly string[]): void {
  expect(found.filter((one) => !allowed.includes(one))).toEqual([]);
}

function patch(body: (scene: Scene) => Body): Race["act"] {
  return async (scene, id) => [
    await insist(scene.slow, "PATCH", `/v1/subscriptions/${id}`, body(scene)),
  ];
}

type Use = readonly [code: string, n: string, timestamp: string, model?: string];
let sent = 0;

/** Each event in a call of its own, at some moment of the close. */
function send(uses: readonly Use[]): Race["act"] {
  return ({ slow }, subscription_id) =>
    Promise.all(
      uses.map(async ([code, n, timestamp, model]) => {
        sent += 1;
        const named = { transaction_id: `use ${sent}`, subscription_id, code, timestamp };
        await amidClose();
        const properties = { n, ...(model !== undefined && { model }) };
        return insist(slow, "POST", "/v1/events", { ...named, properties });
      }),
    );
}

describe.each(Object.keys(CLOSERS) as Closer[])("a close by %s", TIMEOUT, (closer) => {
  /** The period is over for the callers as well: the change comes second, whoever is first. */
  const isOver = CLOSERS[closer].callers === AFTER;

  test.each([
    ["plain", "further"],
    ["ahead", "tenfold"],
  ])("and a change from %s to %s: each day is one plan's", async (from, to) => {
    const act = patch(({ plans }) => ({ plan_id: plans[to].id }));
    const february = `${to} base 2026-02 ${10 * MONTHLY}`;
    const closed = end("200", [`${from} base 2026-01 ${27 * 420}`, february]);
    const january = [`${from} base 2026-01 ${26 * 420}`, `${to} base 2026-01 4200`];
    const changed = end("200", [...january, february]);
    expectOneOf(await run(closer, { plans: [from, to], act }), [
      closed,
      ...(isOver ? [] : [changed]),
    ]);
  });

  test("and a PATCH of a quantity: days and periods before it keep theirs", async () => {
    const act = patch(() => ({ properties: { seats: 5 } }));
    const bill = (january: Record<string, number>) =>
      end(
        "200",
        Object.entries(january).flatMap(([mode, cents]) => [
          `seats ${mode} 2026-01 ${cents}`,
          `seats ${mode} 2026-02 ${5 * SEAT}`,
        ]),
      );
    const closed = bill({ last: 3 * SEAT, max: 3 * SEAT, prorated: 27 * 3 * 28 });
    const changed = bill({ last: 5 * SEAT, max: 5 * SEAT, prorated: (26 * 3 + 5) * 28 });
    expectOneOf(await run(closer, { plans: ["seats"], act }), [
      closed,
      ...(isOver ? [] : [changed]),
    ]);
  });

  test("and an end on the boundary: before it nothing of February, or it is refused", async () => {
    const act = patch(() => ({ ends_at: BOUNDARY }));
    const january = [`ending base 2026-01 ${27 * 420}`, `ending last 2026-01 ${3 * SEAT}`];
    const february = [`ending base 2026-02 ${MONTHLY}`, `ending last 2026-02 ${3 * SEAT}`];
    expectOneOf(await run(closer, { plans: ["ending"], act }), [
      end("422", [...january, ...february]),
      ...(isOver ? [] : [end("200", january)]),
    ]);
  });

  test("and an end in the next period: that has the days to it", async () => {
    const act = patch(() => ({ ends_at: "2026-02-01T12:00:00.000Z" }));
    const january = [`ending base 2026-01 ${27 * 420}`, `ending last 2026-01 ${3 * SEAT}`];
    const february = ["ending base 2026-02 465", `ending last 2026-02 ${3 * SEAT}`];
    expectOneOf(await run(closer, { plans: ["ending"], act }), [
      end("200", [...january, ...february]),
    ]);
  });

  test("and a longer trial: it goes on, usage with it, or is over", async () => {
    const change = patch(() => ({ trial_days: 40 }));
    const use = send([["calls", "10", "2026-02-01T00:00:00.300Z"]]);
    const act: Race["act"] = async (scene, id) =>
      (await Promise.all([change(scene, id), use(scene, id)])).flat();
    const over = [`tried base 2026-02 ${MONTHLY}`, "tried calls 2026-02 100"];
    expectOneOf(await run(closer, { plans: ["tried"], terms: { trial_days: 27 }, act }), [
      end("422 200", over),
      ...(isOver ? [] : [end("200 200", [`tried base 2026-02 ${15 * 465}`])]),
    ]);
  });

  test("and a shorter trial: it ends now, usage ahead is paid, or at its time", async () => {
    const change = patch(() => ({ trial_days: 1 }));
    const use = send([["calls", "10", "2026-01-31T23:59:59.900Z"]]);
    const act: Race["act"] = async (scene, id) =>
      (await Promise.all([change(scene, id), use(scene, id)])).flat();
    const february = `tried base 2026-02 ${MONTHLY}`;
    const early = ["tried base 2026-01 420", "tried calls 2026-01 100", february];
    expectOneOf(await run(closer, { plans: ["tried"], terms: { trial_days: 27 }, act }), [
      end("422 200", [february]),
      ...(isOver ? [] : [end("200 200", early)]),
    ]);
  });

  test("and usage, late or not: every event is billed once, in its period", async () => {
    const act = send([
      ["calls", "10", "2026-01-10T00:00:00.000Z"],
      ["calls", "10", "2026-01-20T00:00:00.000Z"],
      ["calls", "10", "2026-01-31T23:59:59.499Z"],
      ["calls", "10", "2026-02-01T00:00:00.100Z"],
      ["disk", "2", "2026-01-30T00:00:00.000Z"],
      ["tokens", "1", "2026-01-15T00:00:00.000Z", "large"],
      ["tokens", "2", "2026-01-15T00:00:00.000Z"],
      ["tokens", "4", "2026-02-01T00:00:00.100Z", "small"],
    ]);
    const calls = ["metered calls 2026-01 375", "metered calls 2026-02 100"];
    const disk = ["metered disk 2026-01 96", `metered disk 2026-02 ${28 * 24 * 2}`];
    const tokens = ["metered tokens 2026-01 500", "metered tokens 2026-02 400"];
    const answered = Array(8).fill("200").join(" ");
    expectOneOf(await run(closer, { plans: ["metered"], act }), [
      end(answered, [...calls, ...disk, ...tokens]),
    ]);
  });

  test("and usage behind an end that was set: never billed, not even on a return", async () => {
    const act = send([
      ["calls", "10", "2026-01-20T00:00:00.000Z"],
      ["calls", "10", "2026-02-01T00:00:00.000Z"],
      ["calls", "10", "2026-02-01T00:00:00.100Z"],
      ["tokens", "7", "2026-02-01T00:00:00.100Z", "large"],
    ]);
    const afterwards = async (scene: Scene) => {
      await pass(scene, "2026-02-10T00:00:00.000Z");
      for (const id of scene.subscriptions) {
        await scene.prompt.ok("PATCH", `/v1/subscriptions/${id}`, { status: "active" });
      }
    };
    const race = { plans: ["metered"], terms: { ends_at: BOUNDARY }, act, afterwards };
    const answered = Array(4).fill("200").join(" ");
    expectOneOf(await run(closer, race), [end(answered, ["metered calls 2026-01 100"])]);
  });
});

test("a change of plan now and usage around it: each event has the price of its instant", {
  ...TIMEOUT,
}, async () => {
  const change = patch(({ plans }) => ({ plan_id: plans.dear.id }));
  const use = send([
    ["calls", "100", "2026-01-10T00:00:00.000Z"],
    ["calls", "100", "2026-01-16T10:29:59.999Z"],
    ["calls", "1", "2026-01-16T10:30:00.000Z"],
    ["calls", "1", "2026-01-17T08:00:00.000Z"],
    ["disk", "1", "2026-01-10T00:00:00.000Z"],
  ]);
  const ends = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const scene = await setUp("live", ["cheap", "dear"], {});
    course.setClocks("2026-01-16T10:30:00.000Z", "2026-01-16T10:30:00.000Z");
    const acts = scene.subscriptions.flatMap((id) => [
      use(scene, id),
      amidClose().then(() => change(scene, id)),
    ]);
    const statuses = (await Promise.all(acts)).flat().map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await pass(scene, SETTLED);
    for (const id of scene.subscriptions) {
      ends.add(end("", await course.bill(scene.prompt, id, "2026-03-01")));
    }
  }
  // 154.5 hours before the change, 373.5 behind it, 672 in February.
  const disk = ["cheap disk 2026-01 309", "dear disk 2026-01 747", "dear disk 2026-02 1344"];
  const calls = ["cheap calls 2026-01 200", "dear calls 2026-01 200"];
  expectOneOf([...ends], [end("", [...calls, ...disk])]);
});
