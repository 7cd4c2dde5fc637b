// What a file may hold is what the API takes: any value in any field of one's own is judged alike
// by `dues validate`, by `dues sync --dry-run`, by `dues sync` and by a request.

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { checkFile } from "../../../../src/cli/service-file/checking/file.ts";
import { runs } from "../../../support/property-runs.ts";
import { type Shell, startShell } from "../../support.ts";

const RUNS = process.env.DUES_DEEP === "1" ? 2_000 : 40;
const DEADLINE_MS = process.env.DUES_DEEP === "1" ? 3_600_000 : 300_000;

let shell: Shell;
/** Where the same is asked for by requests. */
let asked: Shell["app"];
let made = 0;

beforeAll(async () => {
  shell = await startShell({ env: { WEBHOOK_ALLOW_PRIVATE: "0" } });
  asked = shell.app.inProject(await shell.project("asked"));
});
afterAll(() => shell.close());

const ODD_TEXTS = [
  ...["", " ", "\t", "null", "~", "1e3", ".inf", "a: b", "- a", "# a", "!!set", "&a", "*a", "'\"'"],
  ...["\u0000", "a\u0000b", "\ud800", "a\udc00", "\ufeff", "\u2028", "\u202e", "\u200b", "\u0085"],
  ...["x".repeat(128), "x".repeat(129), "x".repeat(255), "x".repeat(256), "x".repeat(2_001)],
  ...[
    "株".repeat(255),
    "😀".repeat(128),
    "line\nbreak",
    "\r\n",
    "  a",
    "a  ",
    "0x10",
    "007",
    "yes",
  ],
];
const text = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ maxLength: 20 }),
);

const number = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    0.1,
    1.5,
    1e15,
    1e21,
    1e-7,
    1e300,
    5e-324,
    2 ** 53,
    2 ** 53 - 1,
    -(2 ** 53),
  ),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NaN, 0.1 + 0.2, 12345678901234567000),
  fc.double(),
  fc.integer(),
);

/** A list of so many levels. */
function nested(levels: number): unknown {
  return levels <= 1 ? [] : [nested(levels - 1)];
}

const key = fc.oneof(text, fc.constantFrom("setup_cents", "times", "up_to", "free_units", "rate"));
const inner = fc.oneof(
  { depthSize: "small" },
  text,
  number,
  fc.boolean(),
  fc.constant(null),
  fc.integer({ min: 26, max: 36 }).map(nested),
  fc.array(fc.oneof(text, number), { maxLength: 4 }),
  fc.dictionary(key, fc.oneof(text, number), { maxKeys: 3 }),
);
const object = fc.oneof(
  fc.dictionary(key, inner, { maxKeys: 4 }),
  // Around the most bytes of JSON, and the most entries of a list.
  fc.integer({ min: 16_370, max: 16_384 }).map((length) => ({ a: "x".repeat(length) })),
  fc.integer({ min: 8_180, max: 8_192 }).map((length) => ({ a: Array(length).fill(0) })),
);

const url = fc.oneof(
  fc.constantFrom(
    ...["https://example.com/a b", "https://10.0.0.5/x", "https://example.com:99/x", "https://a"],
    ...["https://example.com:8443", "https://[::1]/x", "https://2130706433/", "https://x.local/"],
    ...["https://é.example.com/", "https://example.com\\x", "https://127.0.0.1/x", "https://"],
    ...["https://192.0.2.1/", "https://example.com:0/", "https://a..b.com/", "HTTPS://EXAMPLE.COM"],
  ),
  fc.webUrl({ validSchemes: ["https"] }),
);

type Case = {
  readonly section: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly method?: string;
};

function entry(
  section: string,
  path: string,
  fields: Readonly<Record<string, unknown>>,
  field: string,
  values: fc.Arbitrary<unknown>,
  renamed: Readonly<Record<string, string>> = {},
): fc.Arbitrary<Case> {
  return values.map((value) => {
    const own = { code: `c${made}`, name: "Name", ...fields, [field]: value };
    const named = Object.entries(own).map(([name, each]) => [renamed[name] ?? name, each]);
    return { section, path, entry: own, body: Object.fromEntries(named) };
  });
}

const PLAN = { interval: "monthly", amount_cents: 100, currency: "USD" };
const AS_API = { currency: "amount_currency" };
const ITEM = { amount_cents: 1, currency: "USD" };
const COUNT = { aggregation_type: "count" };

function charged(field: string, values: fc.Arbitrary<unknown>): fc.Arbitrary<Case> {
  return values.map((value) => {
    const price = { amount_override_cents: 5, [field]: value };
    const own = { code: `c${made}`, name: "Name", interval: "monthly" };
    return {
      section: "plans",
      path: "/v1/plans",
      entry: { ...own, currency: "USD", charges: [{ type: "flat_fee", ...price }] },
      body: { ...own, amount_currency: "USD", charges: [{ charge_model: "flat_fee", ...price }] },
    };
  });
}

function setting(field: string): fc.Arbitrary<Case> {
  return text.map((value) => {
    const own = { [field]: value };
    return { section: "settings", method: "PUT", path: "/v1/settings", entry: own, body: own };
  });
}

const SETTINGS = [
  ...["name", "address", "city", "postal_code", "region", "country", "tax_id", "footer"],
  ...["payment_url", "payment_instructions", "support_email", "logo_color", "invoice_prefix"],
];

const cases = fc.oneof(
  { arbitrary: entry("catalog", "/v1/catalog", ITEM, "metadata", object), weight: 8 },
  { arbitrary: charged("properties", object), weight: 6 },
  charged("name", text),
  charged(
    "quantity_from",
    text.map((name) => `subscription_property.${name}`),
  ),
  entry("catalog", "/v1/catalog", ITEM, "name", text),
  entry("taxes", "/v1/taxes", { percent: "5" }, "name", text),
  entry("taxes", "/v1/taxes", { percent: "5" }, "description", text),
  entry("taxes", "/v1/taxes", {}, "percent", fc.oneof(text, fc.constantFrom("5.50", "100.1"))),
  entry("coupons", "/v1/coupons", { percent: "5" }, "name", text),
  entry("metrics", "/v1/metrics", COUNT, "name", text),
  entry("metrics", "/v1/metrics", { aggregation_type: "max" }, "field_name", text),
  entry("metrics", "/v1/metrics", COUNT, "dimensions", fc.array(text, { maxLength: 2 })),
  entry("addons", "/v1/addons", ITEM, "name", text),
  entry("addons", "/v1/addons", ITEM, "description", text),
  entry("plans", "/v1/plans", PLAN, "name", text, AS_API),
  entry("plans", "/v1/plans", PLAN, "description", text, AS_API),
  { arbitrary: fc.constantFrom(...SETTINGS).chain(setting), weight: 4 },
  {
    weight: 3,
    arbitrary: url.map((value): Case => {
      const own = { url: value, events: ["invoice.created"] };
      return { section: "webhooks", path: "/v1/webhooks", entry: own, body: own };
    }),
  },
);

/** What the API says to it, as the file's author would have written the request. */
async function isTaken({ method = "POST", path, body }: Case): Promise<boolean> {
  if (hasNoJson(body)) return false;
  const { status } = await asked.call(method, path, body);
  expect([200, 201, 400, 413, 422]).toContain(status);
  return status < 300;
}

/** JSON has no form for infinity: there is no such request. */
function hasNoJson(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasNoJson);
}

/** A project has 50 endpoints at most. */
async function removeEndpoints(): Promise<void> {
  for (const app of [asked, shell.app]) {
    const { webhook_endpoints } = await app.get("/v1/webhooks");
    for (const { id } of webhook_endpoints) await app.ok("DELETE", `/v1/webhooks/${id}`);
  }
}

test(
  "what one takes the others take, and what one refuses has no effect",
  async () => {
    const property = fc.asyncProperty(cases, async (given) => {
      made += 1;
      const head = { version: "1", org: "acme", workspace: "main", project: "test" };
      const entries = given.section === "settings" ? given.entry : [given.entry];
      const written = stringify({ ...head, [given.section]: entries }, { lineWidth: 0 });
      const file = shell.file("given.yaml", written);
      const isGood = !Array.isArray(checkFile(Buffer.from(written)));
      expect((await shell.run(["validate", file])).code).toBe(isGood ? 0 : 65);
      const taken = await isTaken(given);
      // Which addresses are taken is the service's to say, so it is asked.
      if (given.section !== "webhooks")
        expect({ written, isGood }).toEqual({ written, isGood: taken });
      const dry = await shell.run(["sync", file, "--dry-run"]);
      expect([taken ? [0, 2] : [65]].flat(), written + dry.err).toContain(dry.code);
      shell.takeWrites();
      const synced = await shell.run(["sync", file]);
      expect(synced.code, written + synced.err).toBe(taken ? 0 : 65);
      if (!taken) expect(shell.takeWrites()).toEqual([]);
      else expect((await shell.run(["diff", file])).code, written).toBe(0);
      if (given.section === "webhooks") await removeEndpoints();
    });
    await fc.assert(property, runs(RUNS));
  },
  DEADLINE_MS,
);
