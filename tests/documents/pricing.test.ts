// What a document says of every kind of fee, as a page and as a PDF.

import { beforeAll, describe, expect, test } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import { readDocument } from "../../src/operations/invoices/read-document.ts";
import { readInvoice } from "../../src/operations/invoices/shown.ts";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import * as invoices from "../../src/store/invoices/invoices.ts";
import { type App, type Json, sharedApp } from "../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../support/given.ts";
import { discount, note } from "../support/money.ts";
import { manyTiers, type PricedStory, pricedStory } from "../support/priced-story.ts";
import { packages, percentage, useOf, volume } from "../support/pricing.ts";
import { linesOf, readPdf } from "./pdf-reader.ts";

let app: App;
let story: PricedStory;

beforeAll(async () => {
  app = await sharedApp();
  story = await pricedStory(app);
});

async function pageOf(invoice: Json, project: Sandbox = story.project): Promise<string> {
  const { status, body } = await project.call("GET", `/v1/invoices/${invoice.id}/document`);
  expect(status).toBe(200);
  return body;
}

/** The rows of the table, cell by cell. */
async function rows(invoice: Json, project?: Sandbox): Promise<string[]> {
  const table = /<tbody>([\s\S]*?)<\/tbody>/.exec(await pageOf(invoice, project))?.[1] ?? "";
  return [...table.matchAll(/<tr[^>]*>([\s\S]*?)<\/tr>/g)].map(([, row = ""]) =>
    row
      .replace(/<\/(th|td)>|<small>/g, " | ")
      .replace(/<[^>]*>/g, "")
      .replace(/(\s*\|\s*)+$/, "")
      .replace(/&quot;/g, '"'),
  );
}

/** The fact of a document, such as its plan. */
async function fact(label: string, invoice: Json, project?: Sandbox): Promise<string | undefined> {
  const page = await pageOf(invoice, project);
  return new RegExp(`<dt>${label}</dt><dd>([^<]*)</dd>`).exec(page)?.[1];
}

async function pdfOf(invoice: Json, project: Sandbox = story.project): Promise<Buffer> {
  const { db } = app.context;
  const project_id = project.project_id as ProjectId;
  const found = await invoices.get(db, project_id, invoice.id);
  if (found === undefined) throw new Error("The invoice is there.");
  const whole = await readInvoice(db, project_id, found);
  const document = await readDocument(db, project_id, whole, "owner");
  return renderInvoicePdf(document, { size: "a4", compress: false });
}

describe("how an amount comes about", () => {
  test("each charge model in its own words, its parts below the line", async () => {
    expect(await rows(story.january)).toEqual([
      "Scale | 1 | $29.00 | $29.00",
      "API requests | 120 |  | $16.00",
      "0 to 100: 100 × $0.10 + $5.00 | $15.00",
      "Above 100: 20 × $0.05 | $1.00",
      "Exports | 100 |  | $100.00",
      "0 to 100, all units: 100 × $1.00 | $100.00",
      "Mails | 1,250 |  | $15.00",
      "1,000 free, 3 packages of 100 at $5.00 | $15.00",
      "Card payments | 150 | 2.9 % | $3.50",
      "50 free, 2.9 % of 100 | $2.90",
      "1 of 3 events free, 2 × $0.30 | $0.60",
      "Scans | 130 | $0.10 | $3.00",
      "100 free, 30 × $0.10 | $3.00",
      "Scans | Minimum of $5.00, $3.00 counted |  |  | $2.00",
      "Tokens, model large, no kind | 40 | $0.05 | $2.00",
      "Tokens, model large, kind output | 120 | $0.10 | $12.00",
      'Tokens, model small, kind "" | 11 | $0.02 | $0.22',
      "Seat | Average of 4.096774193548, 31 of 31 days | 4.096774193548 | $10.00 | $40.97",
      "Scale | Minimum of $400.00, $223.69 counted |  |  | $176.31",
    ]);
  });

  test("a correction adds up from what is due now and what was billed, by which invoice", async () => {
    const found = await rows(story.february);
    const late = "Late usage of 1 Jan 2026 – 31 Jan 2026";
    expect(found.slice(found.findIndex((row) => row.startsWith("Adjustment")))).toEqual([
      `Adjustment: API requests | ${late}: 120 billed, 150 used | 30 |  | $1.50`,
      "0 to 100: 100 × $0.10 + $5.00 | $15.00",
      "Above 100: 50 × $0.05 | $2.50",
      "Billed before, INV-2026-0001 | −$16.00",
      `Adjustment: Exports | ${late}: 100 billed, 101 used | 1 |  | −$49.50`,
      "Above 100, all units: 101 × $0.50 | $50.50",
      "Billed before, INV-2026-0001 | −$100.00",
      `Adjustment: Mails | ${late}: 1,250 billed, 1,650 used | 400 |  | $20.00`,
      "1,000 free, 7 packages of 100 at $5.00 | $35.00",
      "Billed before, INV-2026-0001 | −$15.00",
      `Adjustment: Tokens, model large, kind output | ${late}: 120 billed, 130 used | Corrects INV-2026-0001 | 10 | $0.10 | $1.00`,
      `Adjustment: Scale | ${late} |  |  | $27.00`,
      "Minimum of $400.00, $196.69 counted | $203.31",
      "Billed before, INV-2026-0001 | −$176.31",
    ]);
  });

  test("without usage there is nothing to explain", async () => {
    const found = await rows(story.february);
    expect(found.slice(1, 7)).toEqual([
      "API requests | 0 |  | $0.00",
      "Exports | 0 |  | $0.00",
      "Mails | 0 |  | $0.00",
      "Card payments | 0 | 2.9 % | $0.00",
      "Scans | 0 | $0.10 | $0.00",
      "Scans | Minimum of $5.00, $0.00 counted |  |  | $5.00",
    ]);
  });

  test("days given back of what was billed in advance, by which invoice", async () => {
    expect(await rows(story.ended)).toEqual([
      "Adjustment: Flat rate | Days given back, 1 Mar 2026 – 10 Mar 2026 |  |  | −$21.00",
      "10 of 31 days of $31.00 | $10.00",
      "Billed in advance, INV-2026-0003 | −$31.00",
    ]);
  });

  /** 3100 in advance on 1 January, a note of so much, and an end. */
  async function givenBack(percent: string, noted: number, end: string) {
    const project = await sandbox(app, "2026-01-01");
    const customer = await project.customer();
    await discount(project, customer, { percent });
    const plan = await project.plan({ name: "Flat", amount_cents: 3100, base_timing: "advance" });
    const subscription = await project.subscribe({ customer, plan });
    await note(project, (await project.invoices())[0] as Json, { 0: noted });
    await project.travelTo(end);
    await project.terminate(subscription);
    return { project, back: (await project.invoices())[1] as Json };
  }

  // 2480 of the base are left after the coupon, and half of that after the note: of −2100, −1050.
  test("days given back after a credit note say what it credited", async () => {
    const { project, back } = await givenBack("20", 1240, "2026-01-10T12:00");
    const days = "Days given back, 1 Jan 2026 – 10 Jan 2026";
    expect((await rows(back, project)).slice(0, 4)).toEqual([
      `Adjustment: Flat | ${days} | Discount given back $2.10 |  |  | −$10.50`,
      "10 of 31 days of $31.00 | $10.00",
      "Billed in advance, INV-2026-0001 | −$31.00",
      "Credited before | $10.50",
    ]);
    expect(linesOf(await pdfOf(back, project))).toContain("Credited before | $10.50");
  });

  // 500 · 1549 / 1550 is 499.68 → 500.
  test("a note that takes no cent of the days given back is not named", async () => {
    const { project, back } = await givenBack("50", 1, "2026-01-26T12:00");
    expect((await rows(back, project)).slice(1)).toEqual([
      "26 of 31 days of $31.00 | $26.00",
      "Billed in advance, INV-2026-0001 | −$31.00",
    ]);
  });

  test("a part of a period lowers a minimum, and fractions of a cent are shown", async () => {
    const project = await sandbox(app, "2026-01-15T10:30");
    const metric = await project.metric("sum", { name: "Exports" });
    const steps = await project.metric("sum", { name: "Steps" });
    const sales = await project.metric("sum", { name: "Sales" });
    const boxes = await project.metric("sum", { name: "Boxes" });
    const item = await project.item({ name: "Desk", amount_cents: 700 });
    const subscription = await project.subscribe({
      minimum_cents: 310_000,
      charges: [
        volume(metric, "<=100 @1, rest @0.0025 + 3"),
        volume(steps, "<=10 @0 + 10, rest @0 + 100"),
        percentage(sales, "1.37", { fixed_amount: "0.10" }),
        packages(boxes, "7", "0.99"),
        flatFee({
          catalog_item_code: item.code,
          seats: true,
          properties: { quantity_mode: "max" },
        }),
      ],
      properties: { seats: 2 },
    });
    for (const each of [metric, steps, sales, boxes]) {
      await project.use(subscription, each, each === metric ? "150.5" : "7");
    }
    await project.travelTo("2026-02-01");
    const [invoice] = await project.invoices();
    expect((await rows(invoice as Json, project)).slice(0, -1)).toEqual([
      "Exports | 150.5 |  | $3.38",
      "Above 100, all units: 150.5 × $0.0025 + $3.00 | $3.37625",
      "Steps | 7 |  | $10.00",
      "0 to 10, all units: $10.00 | $10.00",
      "Sales | 7 | 1.37 % | $0.20",
      "1.37 % of 7 | $0.0959",
      "1 event × $0.10 | $0.10",
      "Boxes | 7 |  | $0.99",
      "1 package of 7 at $0.99 | $0.99",
      "Desk | Highest quantity of the period | 2 | $7.00 | $14.00",
    ]);
    const last = (await rows(invoice as Json, project)).at(-1);
    const counted = "$28.57";
    expect(last).toContain(
      `Minimum of $3,100.00 for 17 of 31 days ($1,700.00), ${counted} counted |  |  | $1,671.43`,
    );
  });
});

describe("what a line is called", () => {
  test("and costs is not said by words of the caller's own, whatever they are called", async () => {
    const project = await sandbox(app, "2026-01-01");
    const metric = await project.metric("sum", { name: "Calls", dimensions: ["k"] });
    const item = await project.item({ name: "Seat", amount_cents: 700 });
    const own = { unit_amount_cents: 1, dimensions: { x: "y" }, match: { x: "y" } };
    const charge = (charge_model: string, price: object) => ({
      charge_model,
      billable_metric_id: metric.id,
      properties: { ...price, ...own },
    });
    const plan = await project.plan({
      amount_cents: 0,
      charges: [
        charge("standard", { amount: "0.05" }),
        charge("graduated", { tiers: [{ up_to: null, amount: "0.5" }] }),
        charge("percentage", { percent: "2.9" }),
        charge("package", { amount: "5", package_size: "100" }),
        flatFee({ catalog_item_code: item.code, properties: own }),
      ],
    });
    const subscription = await project.subscribe({ plan });
    await useOf(project, subscription, metric, { value: "400", of: { k: "z" } });
    await project.travelTo("2026-02-01");
    const [invoice] = await project.invoices();
    const found = await rows(invoice as Json, project);
    expect(found.filter((row) => row.includes("400 |") || row.startsWith("Seat"))).toEqual([
      "Calls | 400 | $0.05 | $20.00",
      "Calls | 400 |  | $200.00",
      "Calls | 400 | 2.9 % | $11.60",
      "Calls | 400 |  | $20.00",
      "Seat | 1 | $7.00 | $7.00",
    ]);
  });

  test("what it was called when it was issued, whatever is renamed since", async () => {
    const project = await sandbox(app, "2026-01-01");
    const metric = await project.metric("sum", { name: "Calls", dimensions: ["1", "b", "a"] });
    const item = await project.item({ name: "Seat", amount_cents: 700 });
    const prices = [{ match: { a: "x" }, amount: "2" }];
    const charges = [
      perUnit(metric, "1", { prices }),
      flatFee({ catalog_item_code: item.code, name: "Support" }),
      flatFee({ catalog_item_code: item.code }),
    ];
    const plan = await project.plan({ name: "Pro plan", amount_cents: 3_100, charges });
    const subscription = await project.subscribe({ plan });
    await useOf(project, subscription, metric, { value: "2", of: { a: "x", b: "y", "1": "z" } });
    await project.travelTo("2026-02-01");
    const addOn = await project.addOn({ name: "Set-up", amount_cents: 500, currency: "USD" });
    await project.apply(addOn, await project.customer());
    await project.patch(`/v1/plans/${plan.id}`, { name: "Renamed" });
    await project.patch(`/v1/metrics/${metric.id}`, { name: "Renamed" });
    await project.item({ code: item.code, name: "Renamed", amount_cents: 700 });
    await project.addOn({ ...addOn, name: "Renamed" });
    const [first, second] = await project.invoices();
    expect(await rows(first as Json, project)).toEqual([
      "Pro plan | 1 | $31.00 | $31.00",
      "Calls, 1 z, b y, a x | 2 | $2.00 | $4.00",
      "Support | 1 | $7.00 | $7.00",
      "Seat | 1 | $7.00 | $7.00",
    ]);
    expect(await fact("Plan", first as Json, project)).toBe("Pro plan");
    expect(await rows(second as Json, project)).toEqual(["Set-up | 1 | $5.00 | $5.00"]);
    expect((second as Json).fees[0].properties.name).toBe("Set-up");
    expect(await fact("Plan", second as Json, project)).toBeUndefined();
  });

  test("the plan is that of the period, for ever", async () => {
    expect(await fact("Plan", story.january)).toBe("Scale");
    expect(await fact("Plan", story.february)).toBe("Scale");
    expect(await fact("Plan", story.ended)).toBe("Flat rate");
  });

  test("also where no line is the plan's own, and another plan has its code since", async () => {
    const project = await sandbox(app, "2026-01-01");
    const metric = await project.metric("sum", { name: "Calls" });
    const charges = [perUnit(metric, "1")];
    const old = await project.plan({ code: "one", name: "Old plan", charges });
    const other = await project.plan({ code: "two", name: "New plan", charges });
    const subscription = await project.subscribe({ plan: old });
    await project.use(subscription, metric, "3");
    await project.travelTo("2026-01-10T10:00");
    await project.change(subscription, other);
    await project.ok("DELETE", `/v1/plans/${old.id}`);
    await project.plan({ code: "one", name: "Newest plan", charges });
    const [invoice] = await project.invoices();
    expect(await fact("Plan", invoice as Json, project)).toBe("Old plan");
    expect(await pageOf(invoice as Json, project)).not.toContain("New plan");
  });
});

describe("as a PDF", () => {
  test("it says the same, line by line", async () => {
    const found = linesOf(await pdfOf(story.january));
    expect(found).toEqual(
      expect.arrayContaining([
        "Plan | Scale",
        "API requests | 120 | $16.00",
        "0 to 100: 100 × $0.10 + $5.00 | $15.00",
        "Above 100: 20 × $0.05 | $1.00",
        "1,000 free, 3 packages of 100 at $5.00 | $15.00",
        "Card payments | 150 | 2.9 % | $3.50",
        "1 of 3 events free, 2 × $0.30 | $0.60",
        "Scans | $2.00",
        "Minimum of $5.00, $3.00 counted",
        "Tokens, model large, kind output | 120 | $0.10 | $12.00",
        "Average of 4.096774193548, 31 of 31 days",
      ]),
    );
    const ended = linesOf(await pdfOf(story.ended));
    const from = ended.indexOf("Adjustment: Flat rate | −$21.00");
    expect(ended.slice(from, from + 4)).toEqual([
      "Adjustment: Flat rate | −$21.00",
      "Days given back, 1 Mar 2026 – 10 Mar 2026",
      "10 of 31 days of $31.00 | $10.00",
      "Billed in advance, INV-2026-0003 | −$31.00",
    ]);
  });

  test.each([10, 100])(
    "%i tiers: each once, never cut from their fee, totals with the last",
    async (count) => {
      const project = await sandbox(app, "2026-01-01");
      const metric = await project.metric("sum", { name: "Calls" });
      const subscription = await project.subscribe({ charges: [manyTiers(metric, count)] });
      await project.use(subscription, metric, String(count * 10));
      await project.travelTo("2026-02-01");
      const [invoice] = await project.invoices();
      const { pages, pieces } = readPdf(await pdfOf(invoice as Json, project));
      const tiers = pieces.filter(({ text }) => / × /.test(text));
      expect(tiers).toHaveLength(count);
      expect(new Set(tiers.map(({ text }) => text)).size).toBe(count);
      for (let page = 1; page <= pages; page++) {
        const texts = pieces.filter((piece) => piece.page === page).map(({ text }) => text);
        if (!texts.some((text) => / × /.test(text))) continue;
        expect(texts, `page ${page}`).toContain("Description");
        expect(texts, `page ${page}`).toContain(page === 1 ? "Calls" : "Calls, continued");
      }
      const last = pieces.filter(({ page }) => page === pages).map(({ text }) => text);
      expect(last).toContain("Amount due");
      expect(last.filter((text) => / × /.test(text)).length).toBeGreaterThanOrEqual(2);
      expect(Math.min(...pieces.map(({ y }) => y))).toBeGreaterThan(30);
    },
  );
});
