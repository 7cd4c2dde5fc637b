// The end of a period decided: what changes of plan, trials, advances and late levels come to.

import { describe, expect, test } from "vitest";
import { type Closing, closePeriod, skipPeriod } from "../../src/domain/closing.ts";
import { type LatePeriod, supplement } from "../../src/domain/late-periods.ts";
import { openNext } from "../../src/domain/opening.ts";
import type { DatedVersion } from "../../src/domain/price-lists.ts";
import type { PlanVersion } from "../../src/domain/pricing.ts";
import type { MetricUsage } from "../../src/domain/usage-fees.ts";
import { flatCharge, planVersion, usageCharge, used } from "../support/price-lists.ts";

const at = (text: string) => new Date(`2026-${text}${text.length === 5 ? "T00:00" : ""}:00.000Z`);

function list(plan_id: string, parts: Partial<PlanVersion> = {}): DatedVersion {
  return { ...planVersion({ plan_id, plan_code: plan_id, ...parts }), effective_at: at("01-01") };
}

const NAMES = { plans: new Map(), metrics: new Map(), items: new Map() };

type Parts = Partial<Omit<Closing, "subscription">> & {
  readonly subscription?: Partial<Closing["subscription"]>;
};

/** January of a monthly plan "old", of which a case changes what it is about. */
function closing(versions: readonly DatedVersion[], parts: Parts = {}): Closing {
  const { subscription, ...rest } = parts;
  return {
    subscription: {
      plan_id: "old",
      plan_version: 1,
      override_no: null,
      anchor_date: null,
      levels: null,
      properties: {},
      in_trial: false,
      ends_at: null,
      scheduled_plan_id: null,
      advance: null,
      current_period_start: at("01-01"),
      current_period_next: at("02-01"),
      period_no: 3,
      ...subscription,
    },
    end: at("02-01"),
    lists: { versions, overrides: [] },
    names: NAMES,
    usage: [],
    suspensions: [],
    quantities: { former: [], present: {} },
    late: [],
    base_invoice: { number: "INV-1", taxes: [], exemption: null, left: null },
    net_payment_days: 14,
    now: at("02-01"),
    ...rest,
  };
}

/** "subscription 4516, adjustment -100": the lines of an invoice. */
function lines(draft: ReturnType<typeof closePeriod>["draft"]): string {
  return (draft?.fees ?? []).map((fee) => `${fee.fee_type} ${fee.amount_cents}`).join(", ");
}

describe("a change of plan now", () => {
  const versions = [
    list("old", { amount_cents: 10_000, charges: [flatCharge(50)] }),
    list("new", { amount_cents: 20_000, interval: "yearly" }),
  ];
  const changed = (end: Date, subscription = {}) =>
    closing(versions, { subscription, end, change_to: "new", now: end });

  test.each([
    ["its day is the new plan's", "01-15T10:30", "subscription 4516, charge 50"],
    ["at midnight as well", "01-15", "subscription 4516, charge 50"],
    ["on the first day the old plan has none", "01-01T10:30", "charge 50"],
    ["in the first instant there is nothing", "01-01", ""],
  ])("%s", (_, end, expected) => {
    expect(lines(closePeriod(changed(at(end))).draft)).toBe(expected);
  });

  test.each([
    ["01-15T10:30", "adjustment -5484"],
    ["01-01T10:30", "adjustment -10000"],
    ["01-01", "adjustment -10000"],
  ])("a base billed in advance is given back from %s on", (end, expected) => {
    const old = list("old", { amount_cents: 10_000, base_timing: "advance" });
    const advance = { base_cents: 10_000, flat_cents: 0 };
    const { draft } = closePeriod({
      ...changed(at(end), { advance }),
      lists: { versions: [old, list("new")], overrides: [] },
    });
    expect(lines(draft)).toBe(expected);
    expect(draft?.fees[0]?.properties).toMatchObject({ invoice_number: "INV-1" });
  });

  test("another interval makes its day the anchor, the same one keeps it", () => {
    const anchored = changed(at("01-15T10:30"), { anchor_date: "2025-12-31" });
    const other = openNext(anchored);
    expect([other.anchor_date, other.period.next.toISOString()]).toEqual([
      "2026-01-15",
      "2027-01-15T00:00:00.000Z",
    ]);
    const same = openNext({ ...anchored, change_to: "old" });
    expect([same.anchor_date, same.period.next]).toEqual(["2025-12-31", at("01-31")]);
    expect(openNext(changed(at("01-15T10:30"))).anchor_date).toBe(null);
  });
});

describe("the next period", () => {
  const advance = flatCharge(70, { id: "advance", invoice_timing: "advance" });
  const immediate = flatCharge(900, { id: "immediate", invoice_timing: "immediate" });
  const charges = [advance, immediate];
  const versions = [
    list("old", { amount_cents: 2_800, base_timing: "advance", charges }),
    list("next", { amount_cents: 5_600 }),
  ];

  test("bills what is due at its start, and remembers it", () => {
    const opened = openNext(closing(versions));
    expect(lines(opened.draft)).toBe("subscription 2800, charge 70");
    expect(opened.advance).toEqual({ base_cents: 2_800, flat_cents: 70 });
    expect(opened.recurring_cents).toBe("2870");
  });

  test("behind a trial is the first: what is billed once is due now", () => {
    const trial = closing(versions, { subscription: { in_trial: true } });
    expect(lines(closePeriod(trial).draft)).toBe("");
    expect(lines(openNext(trial).draft)).toBe("subscription 2800, charge 70, charge 900");
  });

  test("has only the days to an end that is set", () => {
    const ends_at = at("02-10T12:00");
    const { draft, period } = openNext(closing(versions, { subscription: { ends_at } }));
    expect(lines(draft)).toBe("subscription 1000, charge 70");
    expect(period.next).toEqual(at("03-01"));
  });

  test("is on the plan that was scheduled", () => {
    const subscription = { scheduled_plan_id: "next" };
    const opened = openNext(closing(versions, { subscription }));
    expect([opened.list.plan_id, opened.advance, lines(opened.draft)]).toEqual(["next", null, ""]);
  });
});

describe("levels", () => {
  const charge = usageCharge("0.01", { aggregation_type: "weighted_sum", weighted_by: "hour" });
  const versions = [list("old", { charges: [charge] })];
  const change = (sum: string, when: Date): MetricUsage[] =>
    used({ metric: sum }).map((row) => ({ ...row, moment: `${BigInt(sum) * millis(when)}` }));
  const millis = (when: Date) => BigInt(when.getTime());
  const late = (period_no: number, month: string, until: string, parts: Partial<LatePeriod> = {}) =>
    ({
      plan_id: "old",
      plan_version: 1,
      override_no: null,
      anchor_date: null,
      levels: null,
      period_no,
      starts_at: at(month),
      ends_at: at(until),
      is_trial: false,
      billable: true,
      billed: {},
      taxes: null,
      usage: [],
      invoice: undefined,
      ...parts,
    }) satisfies LatePeriod;
  const march = {
    subscription: { current_period_start: at("03-01"), current_period_next: at("04-01") },
    end: at("04-01"),
  };

  test("that late usage changed reach every period behind it, up to the open one", () => {
    const found = closePeriod(
      closing(versions, {
        ...march,
        late: [
          late(1, "01-01", "02-01", { usage: change("2", at("01-31")) }),
          late(2, "02-01", "03-01"),
        ],
      }),
    );
    expect(lines(found.draft)).toBe(
      `charge ${2 * 31 * 24}, adjustment 48, adjustment ${2 * 28 * 24}`,
    );
    const level = { metric: { "": "2" } };
    expect(found.corrected.map(({ levels }) => levels)).toEqual([null, level]);
    expect(found.levels).toEqual({ start: level, end: level });
  });

  test("are carried through trials and periods that are not billed", () => {
    const levels = { metric: { "": "1" } };
    const usage = change("2", at("03-02"));
    const parts = { ...march, usage, subscription: { ...march.subscription, levels } };
    const trial = closing(versions, {
      ...parts,
      subscription: { ...parts.subscription, in_trial: true },
    });
    const end = { metric: { "": "3" } };
    expect(closePeriod(trial)).toMatchObject({
      draft: { fees: [] },
      levels: { start: levels, end },
    });
    expect(skipPeriod(closing(versions, parts))).toMatchObject({ levels: { start: levels, end } });
    const free = late(2, "02-01", "03-01", { is_trial: true, usage: change("5", at("02-02")) });
    const after = closePeriod(closing(versions, { ...march, late: [free] }));
    expect(lines(after.draft)).toBe(`charge ${5 * 31 * 24}`);
  });

  // It is the supplement that bills the late period, so that no amount can hold up the end.
  test("that late usage changed are kept by an end that is not billed, at any amount", () => {
    const most = "10000000000000000000";
    const period = late(2, "02-01", "03-01", { usage: change(most, at("02-01")) });
    const parts = { ...march, late: [period], usage: change("2", at("03-02")) };
    const skipped = skipPeriod(closing(versions, parts));
    const [start, end] = [{ metric: { "": most } }, { metric: { "": "10000000000000000002" } }];
    expect(skipped).toMatchObject({ corrected: [], levels: { start, end } });
  });

  test("a supplement tells what is behind its last period", () => {
    const terms = { net_payment_days: 14, now: at("03-05") };
    const period = late(2, "02-01", "03-01", { usage: change("1", at("02-28")) });
    const made = supplement(closing(versions, { late: [period] }), terms);
    expect(lines(made.draft)).toBe("adjustment 24");
    expect(made.after).toEqual({ period_no: 2, levels: { metric: { "": "1" } } });
    expect(() => supplement(closing(versions), terms)).toThrow("A supplement needs a late period.");
  });
});
