// The portal's page in a real browser: what people see, on which screens, and that no name runs.

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";
import {
  CHROMIUM,
  launch,
  leastContrast,
  overflow,
  PHONE,
  SKIPPED,
  serve,
  shoot,
} from "./chromium.ts";

const PAGE_BYTES_MAX = 100 * 1024;
const HOSTILE = `"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>'\${7*7}{{7*7}}<!--`;

let app: App;
let browser: Browser;
let base: string;
let project: Sandbox;
let customer: Json;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  app = await startApp();
  base = await serve(app);
  browser = await launch();
  project = await sandbox(app, "2025-01-10T09:00");
  customer = await busyCustomer();
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

async function busyCustomer(): Promise<Json> {
  await project.ok("PUT", "/v1/settings", {
    name: "Northwind Metering",
    address: "1 Sample Street\nSampletown AB1 2CD",
    tax_id: "GB000000000",
    logo_color: "#0b6e4f",
  });
  const calls = await project.metric("sum", { code: "calls", name: "API calls" });
  const storage = await project.metric("max", { code: "storage", name: "Storage (GB)" });
  const found = await project.customer({ name: "Blue Harbour Shipping", email: "pay@blue.test" });
  const plan = (
    await project.post("/v1/plans", {
      code: "pro",
      name: "Professional",
      interval: "monthly",
      amount_cents: 4_900,
      amount_currency: "USD",
      charges: [perUnit(calls, "0.025"), perUnit(storage, "0.3")],
    })
  ).plan;
  const subscription = await project.subscribe({ plan, customer: found, external_id: "blue-pro" });
  const extra = await project.addOn({ name: "Set-up", amount_cents: 12_000, currency: "USD" });
  await project.apply(extra, found);
  await project.travelTo("2025-02-20T08:00");
  const [first] = await project.invoices();
  await project.pay(first, 12_000);
  for (let day = 1; day <= 20; day++) {
    const date = `2025-02-${String(day).padStart(2, "0")}T06:00`;
    await project.use(subscription, calls, String(200 + ((day * 137) % 900)), date);
    await project.use(subscription, storage, String(40 + day), date);
  }
  return found;
}

type Visit = { page: Page; requests: string[]; faults: string[]; bytes: () => number };

async function visit(path: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  const requests: string[] = [];
  const faults: string[] = [];
  let bytes = 0;
  page.on("request", (request) => requests.push(request.url()));
  page.on("response", async (response) => {
    bytes += (await response.body().catch(() => Buffer.alloc(0))).length;
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    // The browser notes an error status of the page itself; that is what some tests are about.
    if (message.type() === "error" && !/status of (404|429)/.test(message.text())) {
      faults.push(message.text());
    }
  });
  await page.goto(`${base}${path}`, { waitUntil: "networkidle" });
  return { page, requests, faults, bytes: () => bytes };
}

test("a Chromium is there to test with", (context) => {
  if (CHROMIUM === undefined) context.skip(SKIPPED);
});

describe.skipIf(CHROMIUM === undefined)("the page", () => {
  test("says who bills me, what I use, what I owe and have paid", async () => {
    const { page, requests, faults, bytes } = await visit(`/portal/${customer.id}`);
    await shoot(page, "portal");
    const text = await page.innerText("body");
    for (const part of [
      "Northwind Metering",
      "Billing for Blue Harbour Shipping",
      "Professional",
      "$49.00 per month",
      "1 Feb 2025 – 28 Feb 2025",
      "API calls",
      "Storage (GB)",
      "INV-2025-0002",
      "15 Feb 2025",
      "Overdue",
      "Paid",
      "Tax number GB000000000",
    ]) {
      expect(text).toContain(part);
    }
    expect(await page.locator("svg[role=img]").count()).toBe(2);
    expect(await page.locator("svg .bar").count()).toBe(40);
    expect(faults).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(base))).toEqual([]);
    expect(bytes()).toBeLessThan(PAGE_BYTES_MAX);
    await page.context().close();
  });

  test("fits a phone of 360 pixels, and stays readable in the dark", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await visit(`/portal/${customer.id}`, { viewport: PHONE, colorScheme });
      await shoot(page, `portal-phone-${colorScheme}`);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(await page.innerText("main")).toContain("Due 15 Feb 2025");
      expect(await leastContrast(page)).toBeGreaterThan(4.5);
      await page.context().close();
    }
  });

  test("is worked by keyboard: skip link, refresh, invoices", async () => {
    const { page } = await visit(`/portal/${customer.id}`);
    const stops: string[] = [];
    for (let i = 0; i < 4; i++) {
      await page.keyboard.press("Tab");
      stops.push((await page.evaluate("document.activeElement.innerText")) as string);
    }
    expect(stops.slice(0, 2)).toEqual(["Skip to content", "Refresh"]);
    expect(stops[2]).toMatch(/^INV-/);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/invoices\/INV-/);
    expect(await page.innerText("h1")).toBe("Invoice");
    await page.context().close();
  });

  test("is as of now, and again at every refresh", async () => {
    const reader = await project.customer({ name: "Reader" });
    const { page, faults } = await visit(`/portal/${reader.id}`);
    await project.travelTo("2025-02-23T08:00");
    await page.click("button");
    await page.waitForLoadState("networkidle");
    expect(await page.innerText(".asof")).toContain("23 Feb 2025, 08:00 UTC");
    expect(page.url()).toMatch(new RegExp(`^${base}/portal/${reader.id}\\??$`));
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test("works without a script", async () => {
    const { page } = await visit(`/portal/${customer.id}`, { javaScriptEnabled: false });
    await page.click("button");
    expect(await page.innerText("h1")).toBe("Northwind Metering");
    await page.context().close();
  });

  test("says so when there is nothing yet", async () => {
    const nobody = await project.customer({ name: "New Customer" });
    const { page } = await visit(`/portal/${nobody.id}`, { viewport: PHONE });
    await shoot(page, "portal-empty");
    const text = await page.innerText("main");
    for (const part of ["No subscription yet", "No invoice yet", "No payment yet", "$0.00"]) {
      expect(text).toContain(part);
    }
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await page.context().close();
  });

  test("says so when the link leads nowhere", async () => {
    const { page } = await visit("/portal/00000000-0000-4000-8000-000000000000", {
      viewport: PHONE,
    });
    await shoot(page, "portal-error");
    expect(await page.innerText("[role=alert]")).toContain("This page does not exist");
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await page.context().close();
  });

  test("says so when too many ask for it, and offers to try again", async () => {
    const wanted = await project.customer({ name: "Wanted" });
    const path = `/portal/${wanted.id}`;
    const { page } = await visit(path, { viewport: PHONE, colorScheme: "dark" });
    do {
      // Others use up what may be read; half a second later there is one more.
      while ((await app.call("GET", path)).status === 200);
      await page.click("button");
    } while ((await page.locator("[role=alert]").count()) === 0);
    await shoot(page, "portal-busy");
    expect(await page.innerText("[role=alert]")).toContain("One moment, please");
    // Nobody else asks any more.
    await page.waitForTimeout(1_000);
    await page.click("a.button");
    await page.waitForURL(`${base}${path}`);
    expect(await page.innerText("main")).toContain("Amount due");
    await page.context().close();
  });

  test("shows hostile names as text, in every field", async () => {
    const wild = await sandbox(app, "2025-01-10T09:00");
    const issuer = { name: HOSTILE, address: `${HOSTILE}\n${HOSTILE}`, tax_id: HOSTILE };
    await wild.ok("PUT", "/v1/settings", issuer);
    const metric = await wild.metric("sum", { code: HOSTILE, name: HOSTILE });
    const charges = [perUnit(metric, "1")];
    const terms = { code: HOSTILE, name: HOSTILE, interval: "monthly", amount_currency: "USD" };
    const { plan } = await wild.post("/v1/plans", { ...terms, charges });
    const email = `"><script>/**/@x.test`;
    const victim = await wild.customer({ name: HOSTILE, external_id: HOSTILE, email });
    const external_id = HOSTILE;
    const subscription = await wild.subscribe({ plan, customer: victim, external_id });
    const addOn = await wild.addOn({ name: HOSTILE, amount_cents: 500, currency: "USD" });
    await wild.apply(addOn, victim);
    await wild.use(subscription, metric, "7");
    const [invoice] = await wild.invoices();
    await wild.pay(invoice, 500, { provider: HOSTILE });
    const paths = [`/portal/${victim.id}`, `/portal/${victim.id}/invoices/${invoice.number}`];
    for (const path of paths) {
      const { page, faults, requests } = await visit(path, { viewport: PHONE });
      await shoot(page, `hostile-${paths.indexOf(path)}`);
      expect(await page.title()).not.toBe("owned");
      expect(await page.locator("img").count()).toBe(0);
      expect(await page.locator("body script").count()).toBe(0);
      expect(await page.innerText("body")).toContain("<img src=x onerror=");
      expect(faults).toEqual([]);
      expect(requests.filter((url) => !url.startsWith(base))).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      await page.context().close();
    }
  });
});

describe.skipIf(CHROMIUM === undefined)("an invoice", () => {
  test("is a page that prints, on phone and paper, with a PDF to take along", async () => {
    const path = `/portal/${customer.id}/invoices/INV-2025-0002`;
    const { page, faults } = await visit(path);
    await shoot(page, "invoice");
    expect(await page.innerText("main")).toContain("Professional");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("nav").isVisible()).toBe(false);
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize(PHONE);
    await shoot(page, "invoice-phone");
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.click("text=Download PDF"),
    ]);
    expect(download.suggestedFilename()).toBe("INV-2025-0002.pdf");
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
