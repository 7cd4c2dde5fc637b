// Documents with taxes, coupons, credit and credit notes, in a real browser and on paper.

import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { type Sandbox, sandbox } from "../support/given.ts";
import { discount, grant, note, oneOff, paid, refund, settings, tax } from "../support/money.ts";
import { CHROMIUM, LOOKS, launch, overflow, serve, shoot } from "./chromium.ts";

let app: App;
let browser: Browser;
let base: string;
let paths: Readonly<Record<string, string>>;

const SELLER = {
  name: "Example SARL",
  address: "1 rue A",
  city: "Paris",
  postal_code: "75001",
  region: "Île-de-France",
  country: "FR",
  tax_id: "FR00111222333",
  logo_color: "#4338ca",
  footer: "Example SARL, capital of 10,000 €, RCS Paris 000 000 000.\nThank you & goodbye.",
  payment_url: "https://pay.test/{number}",
};
const BUYER = {
  name: "Acme GmbH",
  email: "billing@acme.test",
  address: "Hof 2\nHaus 3",
  city: "Berlin",
  postal_code: "10115",
  country: "DE",
  tax_id: "DE123456789",
};

function invoicePath({ customer_id, number }: Json): string {
  return `/portal/${customer_id}/invoices/${number}`;
}

/** Two taxes, a coupon and credit; its receipt; a credit note that goes three ways. */
async function common(story: Sandbox) {
  await tax(story, "vat", "20", { name: "VAT" });
  await tax(story, "low", "5.5", { name: "VAT" });
  await settings(story, { ...SELLER, tax_codes: ["vat"] });
  const customer = await story.customer({ ...BUYER, currency: "EUR" });
  await discount(story, customer, { percent: "10", name: "Welcome", times: null });
  await grant(story, customer, 1000, { currency: "EUR" });
  const lines = [
    { name: "Onboarding workshop", unit_amount_cents: 2030 },
    { name: "Books", quantity: "12.5", unit_amount_cents: 150, tax_codes: ["low"] },
  ];
  const details = { memo: "For the spring.\nAs agreed on the phone.", po_number: "PO-77" };
  const open = await oneOff(story, customer, lines, details);
  const settled = await oneOff(story, customer, lines, details);
  const payment = await paid(story, settled, 2000, { reference: "Transfer 2026/17" });
  const rest = await paid(story, settled, settled.amount_due_cents - 2000);
  const made = await note(
    story,
    settled,
    { 0: 1000 },
    { refund_cents: 700, reason: "One day less" },
  );
  await refund(story, payment, 300, { credit_note_id: made.id });
  await refund(story, rest, 100);
  return { open: invoicePath(open), receipt: invoicePath(settled), credit: creditPath(made) };
}

function creditPath({ customer_id, number }: Json): string {
  return `/portal/${customer_id}/credit-notes/${number}`;
}

async function others(story: Sandbox) {
  const reverse = await story.customer({ ...BUYER, tax_exemption: "reverse_charge" });
  const rtl = await story.customer({
    name: "חשבונות בע״מ",
    address: "רחוב הרצל 5",
    city: "תל אביב",
    country: "IL",
  });
  const many = Array.from({ length: 80 }, (_, i) => ({
    name: `Line ${i + 1}`,
    unit_amount_cents: 1000 + i,
    ...(i % 2 === 0 && { tax_codes: ["low"] }),
  }));
  const hebrew = [{ name: "ייעוץ (2 ימים)", unit_amount_cents: 12_345 }];
  const large = [{ name: "Everything", quantity: "700", unit_amount_cents: 888_888_888_888 }];
  const in_ = (currency: string) => ({ currency });
  return {
    reverse: invoicePath(await oneOff(story, reverse, "10000")),
    rtl: invoicePath(await oneOff(story, rtl, hebrew, { memo: "תודה רבה" })),
    yen: invoicePath(await oneOff(story, reverse, "123456", in_("JPY"))),
    dinar: invoicePath(await oneOff(story, rtl, "1234567", in_("KWD"))),
    large: invoicePath(await oneOff(story, rtl, large, in_("ISK"))),
    long: invoicePath(await oneOff(story, rtl, many.slice(0, 80))),
  };
}

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  app = await startApp();
  base = await serve(app);
  browser = await launch();
  const story = await sandbox(app, "2026-01-01");
  paths = { ...(await common(story)), ...(await others(story)) };
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

describe.skipIf(CHROMIUM === undefined)("a document with everything on it", () => {
  test.each(LOOKS)(
    "%s: nothing is wider than the screen, amounts end at one edge",
    async (name, options) => {
      for (const [which, path] of Object.entries(paths)) {
        const page = await open(path, options);
        await shoot(page, `money-${which}-${name}`);
        expect([which, await overflow(page)]).toEqual([which, 0]);
        const edges =
          (await page.evaluate(`[...document.querySelectorAll("tbody td:last-child, .list dd")]
        .map((cell) => Math.round(cell.getBoundingClientRect().right))`)) as number[];
        expect(new Set(edges).size).toBe(1);
        await page.context().close();
      }
    },
  );

  test("on paper there is no way to go back, but a link to pay", async () => {
    const page = await open(paths.open ?? "");
    await page.emulateMedia({ media: "print" });
    await shoot(page, "money-open-print");
    expect(await page.locator("nav").isVisible()).toBe(false);
    const link = page.locator("main a.pay");
    expect([await link.isVisible(), await link.innerText()]).toEqual([true, "Pay €29.72"]);
    await page.context().close();
  });
});
