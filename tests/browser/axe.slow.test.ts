// Every page for people but the reference, which has a test of its own, looked at by axe-core in a
// real browser, light and dark: what it calls a violation shuts somebody out. One session for all,
// so that it is quick.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../support/given.ts";
import { note, oneOff, paid, settings } from "../support/money.ts";
import { CHROMIUM, LOOKS, launch, overflow, SKIPPED, serve, shoot } from "./chromium.ts";

const SUBSCRIPTIONS = 25;
const INVOICES = 75;

let app: App;
let browser: Browser;
let base: string;
let axe: string;
let paths: Readonly<Record<string, string>>;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  app = await startApp();
  base = await serve(app);
  browser = await launch();
  axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  paths = await pagesOf(await sandbox(app, "2026-01-10T09:00"));
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

async function pagesOf(story: Sandbox): Promise<Record<string, string>> {
  await settings(story, {
    name: "Northwind Metering",
    address: "1 Sample Street\nSampletown",
    logo_color: "#0b6e4f",
    payment_url: "https://pay.example.com/{number}",
    support_email: "help@northwind.test",
    payment_instructions: "By transfer to\nIBAN GB00 NWND 0000 0000 0000 00\nBIC NWNDGB00",
  });
  const customer = await busyCustomer(story);
  const bills = await story.invoices();
  const open = bills.find(({ status }) => status === "outstanding") as Json;
  const [first, second] = bills as [Json, Json];
  await paid(story, first, first.total_cents, { provider: "stripe" });
  const credited = await note(story, first, { 0: 500 });
  await story.post(`/v1/invoices/${second.id}/void`);
  const nobody = await story.customer({ name: "New Customer" });
  const portal = `/portal/${customer.id}`;
  return {
    portal,
    older: `${portal}/invoices?page=2`,
    empty: `/portal/${nobody.id}`,
    unknown: "/portal/00000000-0000-4000-8000-000000000000",
    invoice: `${portal}/invoices/${open.number}`,
    void: `${portal}/invoices/${second.number}`,
    credit: `${portal}/credit-notes/${credited.number}`,
    home: "/",
  };
}

async function busyCustomer(story: Sandbox): Promise<Json> {
  const calls = await story.metric("sum", { code: "calls", name: "API calls" });
  const idle = await story.metric("sum", { code: "idle", name: "Idle hours" });
  const seats = { ...flatFee({ amount_override_cents: 1_500, seats: true }), name: "Seats" };
  const charges = [{ ...perUnit(calls, "0.025"), name: "API calls, all regions" }];
  const plan = await story.plan({
    code: "pro",
    name: "Professional",
    amount_cents: 2_900,
    charges: [...charges, perUnit(idle, "1"), seats],
  });
  const customer = await story.customer({ name: "Blue Harbour Shipping" });
  const subscriptions: Json[] = [];
  for (let i = 0; i < SUBSCRIPTIONS; i++) {
    const external_id = `blue-${i + 1}`;
    const properties = { seats: "5" };
    subscriptions.push(await story.subscribe({ plan, customer, external_id, properties }));
    await story.use(subscriptions[i], calls, String(500 + i * 71));
  }
  for (let i = SUBSCRIPTIONS; i < INVOICES; i++) await oneOff(story, customer, `${1_000 + i}`);
  await story.travelTo("2026-02-10T09:00");
  for (const [i, each] of subscriptions.entries()) {
    await story.use(each, calls, String(300 + i * 71), `2026-02-0${1 + (i % 9)}`);
  }
  return customer;
}

/** What axe-core calls a violation, in words. */
async function violations(context: BrowserContext, name: string, path: string): Promise<string[]> {
  const page = await context.newPage();
  await page.goto(`${base}${path}`, { waitUntil: "load" });
  await page.evaluate(
    `document.querySelectorAll("details").forEach((each) => { each.open = true })`,
  );
  await page.evaluate(axe);
  const found = (await page.evaluate("axe.run().then(({ violations }) => violations)")) as Json[];
  await page.evaluate(
    `document.querySelectorAll("details").forEach((each) => { each.open = false })`,
  );
  await shoot(page, `axe-${name}`);
  expect([name, (await overflow(page)) <= 0]).toEqual([name, true]);
  await page.close();
  return found.map(({ id, nodes }) => `${name}: ${id} at ${nodes[0]?.html}`);
}

test("a Chromium is there to look with", (context) => {
  if (CHROMIUM === undefined) context.skip(SKIPPED);
});

describe.skipIf(CHROMIUM === undefined)("axe-core finds nothing", () => {
  test.each(LOOKS)(
    "%s",
    async (look, options) => {
      // The pages' own policy lets nothing run that is not theirs, and so not axe-core.
      const wide = { viewport: { width: 1_100, height: 900 }, bypassCSP: true };
      const context = await browser.newContext({ ...wide, ...options });
      const found: string[] = [];
      for (const [name, path] of Object.entries(paths)) {
        found.push(...(await violations(context, `${name}-${look}`, path)));
      }
      expect(found).toEqual([]);
      await context.close();
    },
    240_000,
  );
});
