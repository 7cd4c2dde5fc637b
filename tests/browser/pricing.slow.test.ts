// Invoices and the portal of a customer with every kind of price, in a real browser.

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { perUnit, sandbox } from "../support/given.ts";
import { type PricedStory, pricedStory } from "../support/priced-story.ts";
import { useOf } from "../support/pricing.ts";
import { CHROMIUM, LOOKS, launch, overflow, serve, shoot } from "./chromium.ts";

let app: App;
let browser: Browser;
let base: string;
let story: PricedStory;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  app = await startApp();
  base = await serve(app);
  browser = await launch();
  story = await pricedStory(app);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  await page.goto(`${base}${path}`, { waitUntil: "networkidle" });
  return page;
}

function invoicePath(customer: Json, { number }: Json): string {
  return `/portal/${customer.id}/invoices/${number}`;
}

describe.skipIf(CHROMIUM === undefined)("an invoice with every kind of line", () => {
  test.each(LOOKS)(
    "%s: parts stand below their line, amounts below each other",
    async (name, options) => {
      for (const [which, invoice] of Object.entries({
        january: story.january,
        february: story.february,
        ended: story.ended,
      })) {
        const page = await open(invoicePath(story.customer, invoice), options);
        await shoot(page, `priced-${which}-${name}`);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
        const edges = (await page.evaluate(`[...document.querySelectorAll("tbody td:last-child")]
        .map((cell) => Math.round(cell.getBoundingClientRect().right))`)) as number[];
        expect(new Set(edges).size).toBe(1);
        await page.context().close();
      }
    },
  );
});

describe.skipIf(CHROMIUM === undefined)("the portal of subscriptions that run in every way", () => {
  async function customerOfAll(): Promise<Json> {
    const project = await sandbox(app, "2026-01-10T09:00");
    const settings = { name: "Northwind Metering", logo_color: "#0b6e4f" };
    await project.ok("PUT", "/v1/settings", settings);
    const dimensions = ["model", "kind"];
    const tokens = await project.metric("sum", { name: "Tokens", code: "tokens", dimensions });
    const pages = await project.metric("sum", { name: "Pages", code: "pages", dimensions });
    const prices = [{ match: { model: "large" }, amount: "0.05" }];
    const customer = await project.customer({ name: "Blue Harbour Shipping" });
    const charges = (metric: Json) => [perUnit(metric, "0.02", { prices })];
    const plan = (name: string, metric: Json) =>
      project.plan({ name, amount_cents: 2_900, charges: charges(metric) });
    const pro = await plan("Professional", tokens);
    const library = await plan("Library", pages);
    const named = (external_id: string) => ({ customer, plan: pro, external_id });
    await project.subscribe({ ...named("later"), starts_at: "2026-03-01T10:30", trial_days: 7 });
    const ending = { ...named("ending"), ends_at: "2026-02-01" };
    const subscriptions = [
      await project.subscribe({ ...named("trial"), trial_days: 14 }),
      await project.subscribe(ending),
    ];
    const many = await project.subscribe({ customer, plan: library, external_id: "many" });
    for (const subscription of subscriptions) {
      for (const kind of ["input", "output"]) {
        const use = { value: "120", of: { model: "large", kind } };
        await useOf(project, subscription, tokens, use);
      }
    }
    for (let i = 0; i < 15; i++) {
      const of = { model: `edition-${i}`, kind: i % 2 === 0 ? "color" : null };
      await useOf(project, many, pages, { value: String(100 + i), of });
    }
    return customer;
  }

  test("says when they start, are free and end, on every screen", async () => {
    const customer = await customerOfAll();
    for (const [name, options] of LOOKS) {
      const page = await open(`/portal/${customer.id}`, options);
      await shoot(page, `priced-portal-${name}`);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      const text = await page.innerText("main");
      for (const part of [
        "Free of charge up to and including 23 Jan 2026.",
        "Starts on 1 Mar 2026, 10:30 UTC.",
        "Ends after 31 Jan 2026.",
        "Tokens, model large, kind input",
        "Pages, model edition-1, no kind",
      ]) {
        expect(text).toContain(part);
      }
      expect(await page.locator("svg").count()).toBe(4);
      await page.context().close();
    }
  });
});
