// The portal's page of a customer with credit, taxes, discounts, credit notes and invoices to pay,
// in a real browser.

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";
import {
  discount,
  grant,
  note,
  oneOff,
  paid,
  refund,
  settings,
  tax,
  topUp,
} from "../support/money.ts";
import { CHROMIUM, launch, leastContrast, overflow, PHONE, serve, shoot } from "./chromium.ts";

let app: App;
let browser: Browser;
let base: string;
let customer: Json;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  app = await startApp();
  base = await serve(app);
  browser = await launch();
  customer = await prepaidCustomer(await sandbox(app, "2026-01-10T09:00"));
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

async function prepaidCustomer(story: Sandbox): Promise<Json> {
  await tax(story, "vat", "20");
  await settings(story, {
    name: "Northwind Metering",
    logo_color: "#0b6e4f",
    tax_codes: ["vat"],
    payment_url: "https://pay.example.com/{number}",
  });
  const calls = await story.metric("sum", { code: "calls", name: "API calls" });
  const found = await story.customer({ name: "Blue Harbour Shipping" });
  const plan = await story.plan({
    code: "pro",
    name: "Professional",
    amount_cents: 4_900,
    charges: [perUnit(calls, "0.025")],
  });
  const subscription = await story.subscribe({ plan, customer: found, external_id: "blue-pro" });
  await discount(story, found, { percent: "10", times: null });
  const first = await oneOff(story, found, "12000");
  const payment = await paid(story, first, first.total_cents);
  const made = await note(story, first, { 0: 3_000 }, { refund_cents: 2_000 });
  await refund(story, payment, 1_500, { credit_note_id: made.id });
  await story.travelTo("2026-02-20T08:00");
  await note(story, await oneOff(story, found, "1000"), { 0: 200 });
  const given_up = await oneOff(story, found, "2500");
  await story.post(`/v1/invoices/${given_up.id}/write-off`);
  await oneOff(story, found, "123456");
  await topUp(story, found, 10_000);
  await grant(story, found, 20_000);
  await story.use(subscription, calls, "2600");
  return found;
}

async function visit(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  await page.goto(`${base}/portal/${customer.id}`, { waitUntil: "networkidle" });
  return page;
}

describe.skipIf(CHROMIUM === undefined)("the page of a customer with money", () => {
  test("says what I have, what was credited, and where to pay", async () => {
    const page = await visit();
    await shoot(page, "portal-money");
    const text = await page.innerText("main");
    for (const part of ["Your credit", "not yet invoiced", "Credit notes", "Top-up", "discount"]) {
      expect(text).toContain(part);
    }
    const buttons = page.getByRole("link", { name: /^Pay .*invoice INV-/ });
    expect(await buttons.count()).toBeGreaterThan(2);
    expect(await buttons.first().getAttribute("href")).toMatch(
      /^https:\/\/pay\.example\.com\/INV-/,
    );
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await page.emulateMedia({ media: "print" });
    expect(await buttons.first().isVisible()).toBe(false);
    await page.context().close();
  });

  test.each(["light", "dark"] as const)(
    "fits a phone and is readable when it is %s",
    async (is) => {
      const page = await visit({ viewport: PHONE, colorScheme: is });
      await shoot(page, `portal-money-phone-${is}`);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(await leastContrast(page)).toBeGreaterThan(4.5);
      // Large enough for a thumb.
      const box = await page.locator("a.pay").first().boundingBox();
      expect(box?.height).toBeGreaterThanOrEqual(44);
      await page.context().close();
    },
  );

  test("is readable in the dark on a wide screen", async () => {
    const page = await visit({ colorScheme: "dark" });
    await shoot(page, "portal-money-dark");
    expect(await leastContrast(page)).toBeGreaterThan(4.5);
    await page.context().close();
  });
});
