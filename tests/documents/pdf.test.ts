// The PDF of an invoice, read back: figures in every kind of currency, pages, scripts, states.

import { describe, expect, test } from "vitest";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import type { Fee } from "../../src/schema/invoices.ts";
import { linesOf, readPdf } from "./pdf-reader.ts";
import { documentOf, usage, type Variation } from "./samples.ts";

function pdf(variation: Variation, size: "a4" | "letter" = "a4"): Promise<Buffer> {
  return renderInvoicePdf(documentOf(variation), { size, compress: false });
}

async function lines(variation: Variation): Promise<string[]> {
  return linesOf(await pdf(variation));
}

describe("what it says", () => {
  test("one fee: everything that belongs on an invoice, from top to bottom", async () => {
    expect(await lines({})).toEqual([
      "Northwind Metering Ltd",
      "Invoice",
      "N",
      "1 Sample Street",
      "Open",
      "Sampletown AB1 2CD",
      "Tax number GB000000000",
      "Billed to | Invoice number | INV-2025-0007",
      "Blue Harbour Shipping | Issued | 1 Feb 2025",
      "billing@blue.test",
      "Due | 15 Feb 2025",
      "Customer no. cus-1029",
      "Period | 10 Jan 2025 – 31 Jan 2025",
      "Description | Units | Price | Amount",
      "API calls | 430.5 | $0.25 | $107.63",
      "Total | $107.63",
      "Amount due | $107.63",
      "Please pay $107.63 by 15 Feb 2025 and name INV-2025-0007.",
      "INV-2025-0007 · Northwind Metering Ltd | Page 1 of 1",
    ]);
  });

  test.each([
    ["JPY", "500", "¥500", "¥0.25"],
    ["KWD", "1250", "KWD 1.250", "KWD 0.250"],
    ["USD", "900719925474099", "$9,007,199,254,740.99", "$0.25"],
    ["IQD", "1", "IQD 0.001", "IQD 0.250"],
  ])("%s has its own decimals, at any size", async (amount_currency, cents, amount, rate) => {
    const fees = [usage("Calls", { amount_currency, amount_cents: Number(cents) })];
    const found = await lines({ fees });
    expect(found).toContain(`Calls | 430.5 | ${rate} | ${amount}`);
    expect(found).toContain(`Amount due | ${amount}`);
  });

  test("a price of many decimals is shown with all of them", async () => {
    const fees = [usage("Calls", { properties: { amount: "0.000000000125" } })];
    expect(await lines({ fees })).toContain("Calls | 430.5 | $0.000000000125 | $107.63");
  });

  test("a part of a period, an adjustment, credit and payments each have their line", async () => {
    const base = usage("Professional", {
      fee_type: "subscription",
      billable_metric_code: null,
      units: "1",
      amount_cents: 2_200,
      properties: { amount_cents: 3_100, billable_days: 22, period_days: 31 },
    });
    const adjustment = usage("Calls", {
      fee_type: "adjustment",
      units: "-20",
      amount_cents: -500,
      properties: {
        amount: "0.25",
        period_start: "2024-12-01",
        period_end: "2024-12-31",
        billed_units: "120",
        corrected_units: "100",
      },
    });
    const invoice = {
      payment_status: "partially_paid",
      credit_applied_cents: 300,
      amount_paid_cents: 1_000,
      amount_due_cents: 400,
    } as const;
    const found = await lines({ fees: [base, adjustment], invoice });
    const from = found.indexOf("Description | Units | Price | Amount");
    expect(found.slice(from + 1, -2)).toEqual([
      "Professional | 1 | $31.00 | $22.00",
      "22 of 31 days",
      "Adjustment: Calls | −20 | $0.25 | −$5.00",
      "Late usage of 1 Dec 2024 – 31 Dec 2024: 120",
      "billed, 100 used",
      "Total | $17.00",
      "Credit applied | −$3.00",
      "Paid | −$10.00",
      "Amount due | $4.00",
    ]);
    expect(found).toContain("Partly paid");
  });

  test("a negative sum becomes credit, and nothing is due", async () => {
    const fees = [usage("Calls", { amount_cents: -500 })];
    const invoice = { status: "succeeded", subtotal_cents: -500, total_cents: 0 } as const;
    const found = await lines({ fees, invoice: { ...invoice, amount_due_cents: 0 } });
    expect(found).toEqual(
      expect.arrayContaining([
        "Subtotal | −$5.00",
        "Added to your credit | $5.00",
        "Total | $0.00",
        "Amount due | $0.00",
      ]),
    );
  });

  test.each([
    ["succeeded", "Paid", "Nothing is left to pay. Thank you."],
    ["voided", "Void", "This invoice is void. Nothing is to be paid."],
    ["voided", "VOID", "This invoice is void. Nothing is to be paid."],
    [
      "overdue",
      "Overdue",
      "$107.63 was due on 15 Feb 2025. Please pay now and name INV-2025-0007.",
    ],
  ] as const)("%s says so", async (status, label, note) => {
    expect(await lines({ invoice: { status } })).toEqual(expect.arrayContaining([label, note]));
  });
});

describe("how it is set", () => {
  test("300 fees: each line once, heads on every page, totals whole on the last", async () => {
    const fees = Array.from({ length: 300 }, (_, i) => usage(`Metric ${i + 1}`));
    const bytes = await pdf({ fees });
    const { pages, pieces } = readPdf(bytes);
    const found = linesOf(bytes);
    for (let i = 1; i <= 300; i++) {
      expect(found.filter((line) => line.startsWith(`Metric ${i} |`))).toHaveLength(1);
    }
    expect(pages).toBeGreaterThan(5);
    for (let page = 1; page <= pages; page++) {
      const texts = pieces.filter((piece) => piece.page === page).map(({ text }) => text);
      expect(texts).toContain(`Page ${page} of ${pages}`);
      if (texts.some((text) => text.startsWith("Metric"))) expect(texts).toContain("Description");
    }
    const last = pieces.filter(({ page }) => page === pages).map(({ text }) => text);
    expect(last).toEqual(expect.arrayContaining(["Total", "Amount due"]));
    const lowest = Math.min(...pieces.map(({ y }) => y));
    expect(lowest).toBeGreaterThan(30);
  });

  test("totals never stand alone on a page: the last two fees are with them", async () => {
    for (let count = 18; count <= 30; count++) {
      const fees = Array.from({ length: count }, (_, i) => usage(`Metric ${i + 1}`));
      const { pages, pieces } = readPdf(await pdf({ fees }));
      const last = pieces.filter(({ page }) => page === pages).map(({ text }) => text);
      const wanted = [`Metric ${count - 1}`, `Metric ${count}`, "Amount due", "Description"];
      expect(last, `${count} fees`).toEqual(expect.arrayContaining(wanted));
    }
  });

  /** A fee with so many tiers. */
  function tiered(count: number): Fee {
    const amounts = { units: "10", amount: "0.10", flat_amount: "0", precise_amount: "100" };
    const tiers = Array.from({ length: count }, (_, i) => {
      return { from: String(i * 10), up_to: String((i + 1) * 10), ...amounts };
    });
    return usage("Tiered", {
      units: String(count * 10),
      properties: { charge_model: "graduated", precise_amount: String(count * 100), tiers },
    });
  }

  test("tiers end with the totals, at least two of them, wherever the page ends", async () => {
    for (let count = 29; count <= 42; count++) {
      const { pages, pieces } = readPdf(await pdf({ fees: [tiered(count)] }));
      const tiers = pieces.filter(({ text }) => / × /.test(text));
      expect(tiers, `${count} tiers`).toHaveLength(count);
      const last = pieces.filter(({ page }) => page === pages).map(({ text }) => text);
      const shown = last.filter((text) => / × /.test(text)).length;
      expect([last.includes("Amount due"), shown >= 2], `${count} tiers`).toEqual([true, true]);
      if (pages > 1) expect(last).toContain("Tiered, continued");
      expect(Math.min(...pieces.map(({ y }) => y))).toBeGreaterThan(30);
    }
  });

  test.each([1, 4, 5, 6])("under %i lines of address, a fee keeps its first tier", async (high) => {
    const issuer = { address: Array.from({ length: high }, () => "Sample Street").join("\n") };
    for (let count = 17; count <= 22; count++) {
      const before = Array.from({ length: count }, (_, i) => usage(`Metric ${i + 1}`));
      const fees = [...before, tiered(6), usage("Last")];
      const { pieces } = readPdf(await pdf({ fees, issuer }));
      const pageOf = (wanted: string) => pieces.find(({ text }) => text === wanted)?.page;
      const first = pieces.find(({ text }) => text.startsWith("0 to 10:"))?.page;
      expect(first, `after ${count} fees`).toBe(pageOf("Tiered"));
      expect(pageOf("Last"), `after ${count} fees`).toBe(pageOf("Amount due"));
    }
  });

  test("letter paper is letter paper", async () => {
    expect(readPdf(await pdf({}, "letter")).size).toBe("0 0 612 792");
    expect(readPdf(await pdf({})).size).toBe("0 0 595.28 841.89");
  });

  test("long names wrap inside their column, also without a space", async () => {
    const fees = [usage("word ".repeat(40).trim()), usage("x".repeat(200))];
    const { pieces } = readPdf(await pdf({ fees }));
    const titles = pieces.filter(({ text }) => /^(word|x+)/.test(text));
    expect(
      titles
        .map(({ text }) => text)
        .join(" ")
        .match(/word/g),
    ).toHaveLength(40);
    expect(
      titles
        .map(({ text }) => text)
        .join("")
        .match(/x/g),
    ).toHaveLength(200);
    for (const { text } of titles) expect(text.length).toBeLessThan(50);
  });

  test("Chinese, Japanese and Korean names are written, in bold too", async () => {
    const found = await lines({
      fees: [usage("株式会社サンプル東京"), usage("네이버 클라우드")],
      issuer: { name: "중앙 상사" },
      customer: { name: "中国有限公司 北京" },
    });
    const text = found.map((line) => line.replaceAll(" | ", "")).join("\n");
    for (const name of [
      "株式会社サンプル東京",
      "네이버 클라우드",
      "중앙 상사",
      "中国有限公司 北京",
    ]) {
      expect(text).toContain(name);
    }
  });

  test("right-to-left names are drawn from right to left, with numbers left to right", async () => {
    const { pieces } = readPdf(
      await pdf({ customer: { name: "חשבונות בע״מ (2020) Ltd", email: "شركة الفجر" } }),
    );
    const hebrew = pieces.filter(({ x, y }) => {
      const name = pieces.find(({ text }) => text.includes("תונובשח"));
      return name !== undefined && Math.abs(name.y - y) < 1 && x < 290;
    });
    expect(hebrew.map(({ text }) => text).join("")).toBe("Ltd (2020) מ״עב תונובשח");
    expect(pieces.map(({ text }) => text)).toContain("رجفلا ةكرش");
  });

  test("other alphabets are written; what no face has is a mark, and nothing steers the line", async () => {
    const fees = [usage("Ελληνικά Кириллица Việt žluťoučký 😀\u202egnp\u0007.")];
    const text = (await lines({ fees })).map((line) => line.replaceAll(" | ", "")).join("\n");
    expect(text).toContain("Ελληνικά Кириллица Việt žluťoučký \ufffdgnp .");
  });
});
