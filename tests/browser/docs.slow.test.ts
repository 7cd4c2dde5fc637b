// The reference in a real browser: search, tabs, copying, the sidebar; whole without scripts; and
// what axe-core calls a violation is none.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { CHROMIUM, LOOKS, launch, overflow, SKIPPED, serve, shoot } from "./chromium.ts";

let app: App;
let browser: Browser;
let base: string;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  app = await startApp();
  base = await serve(app);
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

async function opened(hash = "", options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`${base}/docs${hash}`);
  return page;
}

describe.skipIf(CHROMIUM === undefined)(`the reference${CHROMIUM ? "" : ` (${SKIPPED})`}`, () => {
  test("a slash leads to the search, and Enter to what was found first", async () => {
    const page = await opened();
    await page.keyboard.press("/");
    await page.keyboard.type("record a refund");
    await page.keyboard.press("Enter");
    // The browser goes there after the key was handled.
    await page.waitForURL((url) => url.hash === "#recordRefund");
    await page.keyboard.press("/");
    await page.keyboard.press("Escape");
    expect(await page.locator("aside nav").isVisible()).toBe(true);
    await page.context().close();
  });

  test("words of a field find its record, and nonsense finds nothing", async () => {
    const page = await opened();
    await page.fill("aside input", "written_off_cents");
    expect(await page.locator("aside .hits").innerText()).toContain("The invoice record");
    await page.fill("aside input", "zzzz");
    expect(await page.locator("aside .state").innerText()).toBe("Nothing found");
    await page.context().close();
  });

  test("the language of samples is chosen once for all, and kept", async () => {
    const page = await opened("#createCustomer");
    const sample = page.locator("#createCustomer .sample");
    expect(await sample.innerText()).toContain("curl -X POST");
    await sample.locator("figure.sh button[value=ts]").click();
    expect(await sample.innerText()).toContain("await dues.createCustomer({");
    await page.goto(`${base}/docs#createPlan`);
    await page.reload();
    expect(await page.locator("#createPlan .sample").innerText()).toContain("dues.createPlan({");
    await page.context().close();
  });

  test("a sample is copied as it is shown", async () => {
    const page = await opened("#getCustomer", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.locator("#getCustomer figure.sh .copy").click();
    await page.locator("#getCustomer figure.sh .copy:text('Copied')").waitFor();
    const copied = (await page.evaluate("navigator.clipboard.readText()")) as string;
    expect(copied).toMatch(/^curl "http.*\/v1\/customers\/\$ID"/);
    await page.context().close();
  });

  test("a link arrives at once, opens what is closed, and the sidebar follows", async () => {
    const page = await opened("#event-invoice.created");
    expect(await page.locator("[id='event-invoice.created']").isVisible()).toBe(true);
    await page.locator("aside [aria-current]:text('invoice.created')").waitFor();
    await page.evaluate("document.getElementById('getClock').scrollIntoView()");
    const link = page.locator("aside [aria-current][href='#getClock']");
    await link.waitFor();
    const box = await link.boundingBox();
    expect(box?.y).toBeGreaterThan(0);
    expect(box?.y).toBeLessThan(720);
    await page.context().close();
  });

  test("is whole without scripts", async () => {
    const page = await opened("#createCustomer", { javaScriptEnabled: false });
    const sample = page.locator("#createCustomer .sample");
    expect(await sample.locator("figure.sh").isVisible()).toBe(true);
    expect(await sample.locator("figure.ts").isVisible()).toBe(true);
    expect(await page.locator("aside nav").isVisible()).toBe(true);
    await page.context().close();
  });

  test.each(LOOKS)(
    "%s: no violation by axe-core, and no sideways scrolling",
    async (name, options) => {
      const page = await opened("", { ...options, bypassCSP: true });
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      // axe-core takes 18 to 47 s for the whole page: a deep run has them.
      if (process.env.DUES_DEEP !== "1") {
        await page.evaluate(`document.querySelectorAll("section:nth-of-type(n + 5) article")
          .forEach((article) => article.replaceChildren())`);
      }
      await shoot(page, `docs-${name}`);
      const menu = page.locator(".menu summary");
      if (await menu.isVisible()) await menu.click();
      const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
      await page.evaluate(await readFile(axe, "utf8"));
      const found = (await page.evaluate(
        "axe.run().then(({ violations }) => violations)",
      )) as Json[];
      expect(found.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)).toEqual([]);
      await page.context().close();
    },
    240_000,
  );
});
