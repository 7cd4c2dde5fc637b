// Any two good files, one after the other: the project ends as the second one says.

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { ServiceFile } from "../../../src/schema/service-file.ts";
import { NEW_SETTINGS } from "../../../src/schema/settings.ts";
import { runs } from "../../support/property-runs.ts";
import { type Shell, startShell } from "../support.ts";

const DEADLINE_MS = process.env.DUES_DEEP === "1" ? 1_800_000 : 180_000;

let shell: Shell;
let made = 0;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
});
afterAll(() => shell.close());

const CODES = ["a", "b", "c", "d"] as const;
const cents = fc.integer({ min: 0, max: 100_000 });
/** Text that YAML could take for something else. */
const text = fc.constantFrom("Plain", "yes", "null", "1", "0.10", "a: b", "# x", "-", "ü", "'q'");
const rate = fc.constantFrom("0", "0.10", "0.1", "12.345678901234", "007.50");

const catalog = entries((code) =>
  fc.record(
    {
      code: fc.constant(code),
      name: text,
      amount_cents: cents,
      metadata: fc.dictionary(text, cents),
    },
    { requiredKeys: ["code", "name", "amount_cents"] },
  ),
);
// How a metric counts never changes, so each code has its one way.
const MEASURES: Readonly<Record<string, object>> = {
  a: { aggregation_type: "count" },
  b: { aggregation_type: "weighted_sum", field_name: "n", weighted_by: "hour" },
  c: { aggregation_type: "sum", field_name: "n", dimensions: ["model", "k.nd"] },
  d: { aggregation_type: "sum", field_name: "n" },
};
const metrics = entries((code) =>
  fc.record({ code: fc.constant(code), name: text, ...constants(MEASURES[code] ?? {}) }),
);

/** The same units as a number, a string, or a string of more digits. */
function units(of: fc.Arbitrary<number>): fc.Arbitrary<number | string> {
  return fc
    .tuple(of, fc.constantFrom("number", "text", "digits"))
    .map(([count, as]) =>
      as === "number" ? count : as === "text" ? String(count) : `0${count}.0`,
    );
}

const few = units(fc.integer({ min: 0, max: 50 }));
const tiers = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { maxLength: 3 }).chain((ends) => {
  const rising = ends.toSorted((a, b) => a - b).map((end) => units(fc.constant(end)));
  const all = [...rising, fc.constant(null)].map((up_to) =>
    fc.record({ up_to, rate, flat_amount: rate }, { requiredKeys: ["up_to", "rate"] }),
  );
  return fc.tuple(...all);
});

/** The properties of a price of each model. */
const PRICES: Readonly<Record<string, fc.Arbitrary<object>>> = {
  standard: fc.record({ rate, free_units: few }, { requiredKeys: ["rate"] }),
  graduated: fc.record({ tiers }),
  volume: fc.record({ tiers }),
  package: fc.record(
    { rate, package_size: units(fc.integer({ min: 1, max: 50 })), free_units: few },
    { requiredKeys: ["rate", "package_size"] },
  ),
  percentage: fc.record(
    { percent: rate, fixed_amount: rate, free_units: few, free_events: cents },
    { requiredKeys: ["percent"] },
  ),
};

/** A charge by usage; a metric with dimensions may have prices for some of their values. */
function usageCharge(metric_ref: string): fc.Arbitrary<object> {
  return fc.constantFrom(...Object.keys(PRICES)).chain((type) => {
    const price = PRICES[type] as fc.Arbitrary<object>;
    const values = fc.uniqueArray(text, { minLength: 1, maxLength: 3 });
    const prices = values.chain((of) =>
      fc.tuple(...of.map((value) => price.map((own) => ({ match: { "k.nd": value }, ...own })))),
    );
    const named = fc.record(
      { name: text, minimum_cents: cents, ...(metric_ref === "c" && { prices }) },
      { requiredKeys: [] },
    );
    return fc.tuple(price, named).map(([own, more]) => ({ type, metric_ref, ...own, ...more }));
  });
}

const percent = fc.constantFrom("0", "20", "5.50", "7.125", "100.0", "05");
const taxes = entries((code) =>
  fc.record(
    { code: fc.constant(code), name: text, percent, description: text },
    { requiredKeys: ["code", "name", "percent"] },
  ),
);

/** Says nothing, no tax, or some; in any order. */
function taxCodes(of: readonly { code: string }[]): fc.Arbitrary<string[] | null> {
  const codes = of.map(({ code }) => code);
  const some = fc.shuffledSubarray(codes, { minLength: 1 });
  return fc.oneof(fc.constant(null), fc.constant<string[]>([]), some);
}

function settingsFor(of: readonly { code: string }[]) {
  return fc.record(
    {
      name: text,
      address: fc.constantFrom("", "1 rue A\nParis"),
      country: fc.constantFrom("", "FR", "DE"),
      tax_codes: taxCodes(of),
      footer: text,
      invoice_prefix: fc.constantFrom("INV", "R26", "1"),
      payment_url: fc.constantFrom("", "https://pay.test/{number}"),
      logo_color: fc.constantFrom("#3347c4", "#AbCdEf"),
      net_payment_days: fc.integer({ min: 0, max: 365 }),
      portal_access: fc.constantFrom("open", "signed"),
      invoice_grouping: fc.constantFrom("separate", "subscription", "customer"),
    },
    { requiredKeys: [] },
  );
}

function couponsFor(plans: readonly { code: string }[], metrics: readonly { code: string }[]) {
  const codes = (of: readonly { code: string }[]) =>
    fc.shuffledSubarray(
      of.map(({ code }) => code),
      { minLength: 1 },
    );
  const terms = fc.record(
    {
      times: fc.constantFrom(null, 1, 3),
      plan_codes: codes(plans),
      metric_codes: codes(metrics),
      redeem_by: fc.constantFrom("2030-01-01T00:00:00Z", "2030-01-01T01:00:00+01:00"),
      max_redemptions: fc.integer({ min: 1, max: 1000 }),
    },
    { requiredKeys: [] },
  );
  const price = fc.oneof(
    fc.record({ percent: fc.constantFrom("10", "10.0", "33.3333", "100") }),
    fc.record({
      amount_cents: fc.integer({ min: 1, max: 100_000 }),
      currency: fc.constantFrom("USD", "JPY"),
    }),
  );
  return entries((code) =>
    fc.tuple(text, price, terms).map(([name, own, more]) => ({ code, name, ...own, ...more })),
  );
}

function entries<T>(make: (code: string) => fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.subarray([...CODES], { minLength: 2 }).chain((codes) => fc.tuple(...codes.map(make)));
}

type Coded = readonly { readonly code: string }[];

function fileFor(items: Coded, counted: Coded, taxed: Coded) {
  const tax_codes = taxCodes(taxed);
  const item = items.length === 0 ? undefined : fc.constantFrom(...items.map(({ code }) => code));
  const priced = item
    ? fc.record({ catalog_ref: item })
    : fc.record({ amount_override_cents: cents });
  const terms = fc.record(
    {
      amount_override_cents: cents,
      invoice_timing: fc.constantFrom("arrears", "immediate", "advance"),
      quantity_from: fc.constant("subscription_property.seats"),
      tax_codes,
    },
    { requiredKeys: [] },
  );
  const flat = fc
    .tuple(priced, terms)
    .map(([price, more]) => ({ type: "flat_fee", ...more, ...price }));
  const taken = fc.record({
    type: fc.constant("flat_fee"),
    amount_override_cents: cents,
    name: text,
    quantity_from: fc.constant("subscription_property.seats"),
    quantity_mode: fc.constantFrom("last", "prorated", "max"),
  });
  const usage = counted.map(({ code }) => usageCharge(code));
  const charge: fc.Arbitrary<object> = fc.oneof(flat, taken, ...usage);
  const plans = entries((code) =>
    fc.record(
      {
        code: fc.constant(code),
        name: text,
        description: text,
        interval: fc.constant(code < "c" ? "monthly" : "yearly"),
        currency: fc.constant("USD"),
        amount_cents: cents,
        minimum_cents: cents,
        base_timing: fc.constantFrom("arrears", "advance"),
        trial_days: fc.integer({ min: 0, max: 730 }),
        tax_codes,
        charges: fc.array(charge, { minLength: 1, maxLength: 3 }),
      },
      { requiredKeys: ["code", "name", "interval", "currency", "charges"] },
    ),
  );
  const addons = entries((code) =>
    (item
      ? fc.oneof(fc.record({ amount_cents: cents }), fc.record({ catalog_ref: item }))
      : fc.record({ amount_cents: cents })
    ).chain((price) =>
      fc.record({ code: fc.constant(code), name: text, tax_codes, ...constants(price) }),
    ),
  );
  const event = fc.constantFrom("invoice.created", "payment.succeeded", "addon.applied");
  const webhooks = entries((code) =>
    fc.record({
      url: fc.constant(`https://hooks.example.com/${code}`),
      events: fc.uniqueArray(event, { minLength: 1 }),
    }),
  );
  const step = fc.record({
    days_after_due: fc.integer({ min: 1, max: 60 }),
    webhook_event: fc.constantFrom(
      "invoice.payment_overdue_reminder_1",
      "subscription.suspend_requested",
    ),
  });
  const steps = fc.uniqueArray(step, { selector: (each) => each.webhook_event, minLength: 1 });
  const dunning = fc.record({ enabled: fc.boolean(), steps });
  return plans.chain((priced) =>
    fc.record(
      {
        settings: settingsFor(taxed),
        taxes: fc.constant(taxed),
        catalog: fc.constant(items),
        metrics: fc.constant(counted),
        addons,
        plans: fc.constant(priced),
        coupons: couponsFor(priced, counted),
        dunning,
        webhooks,
      },
      { requiredKeys: ["taxes", "catalog", "metrics", "plans"] },
    ),
  );
}

function constants(value: object) {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fc.constant(each)]));
}

const file = fc.tuple(catalog, metrics, taxes).chain((each) => fileFor(...each));

type Entry = Readonly<Record<string, unknown>>;

/** What `declared` says, as `exported` has it: entries by code or URL, and no field besides. */
function declaredPart(declared: ServiceFile, exported: ServiceFile): unknown {
  const keyOf = (entry: Entry) => String(entry.code ?? entry.url);
  const part = (section: keyof ServiceFile) => {
    const wanted = declared[section];
    if (section === "settings") {
      const found: Entry = { ...NEW_SETTINGS, ...exported.settings };
      return Object.fromEntries(Object.keys(wanted ?? {}).map((key) => [key, found[key]]));
    }
    if (!Array.isArray(wanted)) return wanted === undefined ? undefined : exported[section];
    const found = (exported[section] ?? []) as unknown as readonly Entry[];
    return (wanted as unknown as readonly Entry[]).map((entry) => {
      const match = found.find((each) => keyOf(each) === keyOf(entry)) ?? {};
      return Object.fromEntries(Object.keys(entry).map((key) => [key, match[key]]));
    });
  };
  const sections = Object.keys(declared) as (keyof ServiceFile)[];
  return normal(Object.fromEntries(sections.map((key) => [key, part(key)])));
}

const DECIMALS = /^(rate|flat_amount|fixed_amount|percent|up_to|free_units|package_size)$/;
const NONE_BY_DEFAULT = /^(metadata|amount_cents|minimum_cents|trial_days)$/;

/** Spellings that mean the same: order of sets, digits of a decimal, defaults. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
    if (DECIMALS.test(key) && inner !== null)
      return String(inner)
        .replace(/^0+(?=\d)/, "")
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "");
    if (/^(invoice|base)_timing$/.test(key) && inner === "arrears") return undefined;
    if (NONE_BY_DEFAULT.test(key) && isEmpty(inner)) return undefined;
    if (key === "tax_codes" && inner === null) return undefined;
    if (key === "times" && inner === 1) return undefined;
    if (key === "redeem_by") return new Date(String(inner)).toISOString();
    if (key === "logo_color") return String(inner).toLowerCase();
    if (/^(tax|plan|metric)_codes$/.test(key)) return (inner as string[]).toSorted();
    if (key === "events" || key === "steps")
      return (inner as unknown[]).map((each) => JSON.stringify(each)).toSorted();
    return inner;
  });
}

function isEmpty(value: unknown): boolean {
  return value === 0 || (typeof value === "object" && Object.keys(value ?? {}).length === 0);
}

test(
  "sync A, sync B: the project is what B declares, B again changes nothing, order does not matter",
  async () => {
    await fc.assert(
      fc.asyncProperty(file, file, fc.boolean(), async (a, b, turned) => {
        const slug = `r${++made}`;
        const id = await shell.project(slug);
        const head = { version: "1", org: "acme", workspace: "main", project: slug };
        const write = (sections: object) =>
          shell.file(
            `${slug}.yaml`,
            stringify({ ...head, ...sections }, { aliasDuplicateObjects: false }),
          );
        const run = async (sections: object) => {
          const ran = await shell.run(["sync", write(sections), "--yes"]);
          expect(ran.code, ran.err).toBe(0);
          return ran;
        };
        await run(turned ? backwards(a) : a);
        await run(b);
        expect((await run(turned ? backwards(b) : b)).out).toContain("Nothing to do.");
        const { out } = await shell.run(["export", "--project", id]);
        const exported = parse(out) as ServiceFile;
        const wanted = { ...head, ...b } as unknown as ServiceFile;
        expect(declaredPart(wanted, exported)).toEqual(normal({ ...wanted }));
        const again = await shell.run(["sync", shell.file(`${slug}.yaml`, out)]);
        expect(again.out, again.err).toContain("Nothing to do.");
      }),
      runs(process.env.DUES_DEEP === "1" ? 300 : 8),
    );
  },
  DEADLINE_MS,
);

/** Sections and their entries the other way round. */
function backwards(sections: object): object {
  const turned = Object.entries(sections).toReversed();
  return Object.fromEntries(
    turned.map(([key, value]) => [key, Array.isArray(value) ? value.toReversed() : value]),
  );
}
