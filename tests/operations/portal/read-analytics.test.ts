// What analytics say of thirty days, at any instant, is what the rows of those days add up to: sums
// are kept by the hour, and the hours at either end count in part.

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { readAnalytics } from "../../../src/operations/portal/read-analytics.ts";
import { addDeltas } from "../../../src/store/feeds/analytics.ts";
import { getSettingsById } from "../../../src/store/tenants/tenants.ts";
import { type App, type Json, startApp } from "../../support/app.ts";
import { type Sandbox, sandbox } from "../../support/given.ts";
import {
  discount,
  grant,
  note,
  oneOff,
  paid,
  refund,
  topUp,
  vat,
  voidInvoice,
} from "../../support/money.ts";
import { closeSound } from "../../support/pricing.ts";

const DAY_MS = 86_400_000;
const START = Date.parse("2026-01-01T00:00:00.000Z");
/** Around whole hours, and one exactly thirty days after another. */
const INSTANTS = [
  ...["2026-01-01T00:00:00.000Z", "2026-01-01T00:59:59.999Z", "2026-01-01T01:00:00.000Z"],
  ...["2026-01-01T01:20:00.000Z", "2026-01-15T12:30:00.000Z", "2026-01-31T00:59:59.999Z"],
  ...["2026-01-31T01:00:00.000Z", "2026-01-31T01:00:00.001Z", "2026-02-14T23:59:59.999Z"],
];

let app: App;
let story: Sandbox;
let project: ProjectId;
/** What counts, when, and of which currency. */
type Row = { at: number; currency: string; net: number; tax: number; refunds: number };
const rows: Row[] = [];

beforeAll(async () => {
  app = await startApp();
  story = await sandbox(app, "2026-01-01");
  project = story.project_id as ProjectId;
  await vat(story, "20");
  const customer = await story.customer();
  await discount(story, customer, { percent: "10", times: null });
  for (const [i, at] of INSTANTS.entries()) {
    await story.travelTo(at);
    await live(customer, i, Date.parse(at));
  }
});
afterAll(() => closeSound(app));

/** An invoice, one that is voided, a top-up with a note on it, a note and a refund. */
async function live(customer: Json, i: number, at: number): Promise<void> {
  const currency = i % 3 === 0 ? "EUR" : "USD";
  const none = { at, currency, net: 0, tax: 0, refunds: 0 };
  const invoice = await oneOff(story, customer, `${1_000 + 37 * i}`, { currency });
  rows.push({ ...none, net: invoice.fees[0].taxable_cents, tax: invoice.tax_cents });
  await voidInvoice(story, await oneOff(story, customer, "5000", { currency }));
  const { invoice: top_up } = await topUp(story, customer, 300 + i, { currency });
  await paid(story, top_up, 300 + i);
  await note(story, top_up, { 0: 50 });
  const payment = await paid(story, invoice, invoice.amount_due_cents);
  const made = await note(story, invoice, { 0: 100 + i }, { refund_cents: 60 });
  rows.push({ ...none, net: -made.subtotal_cents, tax: -made.tax_cents });
  await refund(story, payment, 40 + i, { credit_note_id: made.id });
  rows.push({ ...none, refunds: 40 + i });
}

function wanted(now: number, currency: string) {
  const within = rows.filter(
    (row) => row.currency === currency && row.at > now - 30 * DAY_MS && row.at <= now,
  );
  const sum = (of: "net" | "tax" | "refunds") => within.reduce((all, row) => all + row[of], 0);
  const [net_revenue_30d_cents, tax_30d_cents] = [sum("net"), sum("tax")];
  return { net_revenue_30d_cents, tax_30d_cents, refunds_30d_cents: sum("refunds") };
}

async function expectAt(now: number): Promise<void> {
  const settings = await getSettingsById(app.context.db, project);
  const found = await app.context.db.snapshot((tx) => readAnalytics(tx, settings, new Date(now)));
  for (const { currency, ...figures } of found.by_currency) {
    expect([new Date(now), currency, figures]).toMatchObject([
      new Date(now),
      currency,
      wanted(now, currency),
    ]);
  }
}

test("at any instant, before and after the deltas are added up", async () => {
  const around = INSTANTS.flatMap((at) => [0, 30 * DAY_MS].map((days) => Date.parse(at) + days));
  const edges = around.flatMap((at) => [at - 1, at, at + 1]);
  for (const now of edges) await expectAt(now);
  const some = fc.integer({ min: 0, max: 80 * DAY_MS }).map((after) => START + after);
  await fc.assert(
    fc.asyncProperty(some, (now) => expectAt(now)),
    { numRuns: 40 },
  );
  while ((await addDeltas(app.context.db, project, 1_000)) > 0);
  for (const now of edges) await expectAt(now);
});

test("wallets count what is in them now", async () => {
  const customer = await story.customer({ currency: "GBP" });
  const balance = async () => {
    const { by_currency } = await story.get("/v1/analytics");
    const of = by_currency.find(({ currency }: Json) => currency === "GBP");
    return of?.wallet_balance_cents;
  };
  expect(await balance()).toBeUndefined();
  const { id } = await grant(story, customer, 700);
  expect(await balance()).toBe(700);
  await oneOff(story, customer, "100");
  expect(await balance()).toBe(580);
  await story.post(`/v1/grants/${id}/revoke`);
  expect(await balance()).toBe(0);
});
