// Documents of invoices of several parts: what stands under which heading, on the page, in the PDF
// and in the e-invoice.

import { describe, expect, test } from "vitest";
import { eInvoiceOf } from "../../src/domain/documents/e-invoices.ts";
import { renderInvoice } from "../../src/pages/invoice/html.ts";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import { renderUbl } from "../../src/pages/invoice/ubl.ts";
import type { Fee, InvoicePart } from "../../src/schema/invoices.ts";
import { at, readXml, texts } from "../support/ubl.ts";
import { billed } from "./billed.ts";
import { linesOf, readAloud, readPdf } from "./pdf-reader.ts";
import { documentOf, NAMES, partOf, usage, type Variation } from "./samples.ts";

const FOOT = 30;
const ONE_DAY = { period_start: "2026-01-01", period_end: "2026-01-31" };
const NEXT = { period_start: "2026-02-01", period_end: "2026-02-28", reason: "advance" as const };

function calls(part: number, cents: number): Fee {
  const charge_id = "00000000-0000-7000-8000-000000000006";
  const properties = { amount: "0.10", plan_code: "pro" };
  return usage("API calls", { part, charge_id, units: "10", amount_cents: cents, properties });
}

function base(part: number, name: string, cents: number): Fee {
  const days = { billable_days: 31, period_days: 31 };
  const plan_code = name === "Professional" ? "pro" : name.toLowerCase();
  const properties = { name, plan_code, amount: "1", ...days };
  const terms = { billable_metric_code: null, units: "1", amount_cents: cents, properties };
  return usage(name, { part, fee_type: "subscription", ...terms });
}

/** Parts of the subscriptions with these names, in their order. */
function several(names: readonly string[], periods: readonly Partial<InvoicePart>[]) {
  const parts = names.map((name, part) => {
    const of = { subscription_id: name, subscription_external_id: name };
    return partOf({ part, ...of, ...periods[part] });
  });
  const subscription_count = new Set(names).size;
  return { parts, part_count: parts.length, subscription_count };
}

const THREE: Variation = {
  fees: [calls(0, 1000), base(1, "Professional", 2000), base(2, "Starter", 500)],
  invoice: several(["b1", "b1", "a2"], [ONE_DAY, NEXT, { ...ONE_DAY, plan_code: "starter" }]),
};

const HEAD = "Description | Units | Price | Amount";

async function table(variation: Variation): Promise<string[]> {
  const pdf = await renderInvoicePdf(documentOf(variation), { size: "a4", compress: false });
  const lines = linesOf(pdf);
  return lines.slice(
    lines.indexOf(HEAD) + 1,
    lines.findIndex((line) => /^Total/.test(line)),
  );
}

function words(variation: Variation): string {
  const { body } = renderInvoice(documentOf(variation), "a4", { pdf: "/pdf" });
  const [, inner = ""] = /<tbody>([\s\S]*)<\/table>/.exec(body.text) ?? [];
  return inner
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

describe("of several subscriptions", () => {
  const told = [
    "b1",
    "Professional",
    "1 Jan 2026 – 31 Jan 2026",
    "API calls | 10 | $0.10 | $10.00",
    "1 Feb 2026 – 28 Feb 2026",
    "Professional | 1 | $20.00",
    "Subtotal | $30.00",
    "a2",
    "Starter, 1 Jan 2026 – 31 Jan 2026",
    "Starter | 1 | $5.00",
    "Subtotal | $5.00",
  ];

  test("each has a heading with its plan, a line for each period, and a subtotal", async () => {
    expect(await table(THREE)).toEqual(told);
  });

  test("the page says the same, and totals stand once at the end", () => {
    const text = words(THREE);
    expect(text).toContain("b1");
    expect(text.match(/Subtotal/g)).toHaveLength(2);
    const { facts, totals } = documentOf(THREE);
    expect(facts.map(([label]) => label)).not.toContain("Plan");
    expect(totals.map(({ label }) => label)).toEqual(["Total", "Amount due"]);
  });

  test("names of subscriptions are text, also where they look like markup", () => {
    const invoice = several(["<b>&1</b>", "a2"], [ONE_DAY, ONE_DAY]);
    const fees = [calls(0, 1000), calls(1, 1000)];
    const { body } = renderInvoice(documentOf({ fees, invoice }), "a4", { pdf: "/pdf" });
    expect(body.text).toContain("<bdi>&lt;b&gt;&amp;1&lt;/b&gt;</bdi>");
  });

  test("headings are read out before their lines", async () => {
    const pdf = await renderInvoicePdf(documentOf(THREE), { size: "a4", compress: false });
    const read = readAloud(pdf).join("\n");
    expect(read.indexOf("a2")).toBeGreaterThan(read.indexOf("b1"));
    expect(read.indexOf("a2")).toBeLessThan(read.lastIndexOf("Starter"));
  });
});

describe("of one subscription", () => {
  test("each period has a heading, and there are no subtotals", async () => {
    const invoice = several(["b1", "b1"], [ONE_DAY, NEXT]);
    const fees = [calls(0, 1000), { ...calls(1, 2000) }];
    expect(await table({ fees, invoice })).toEqual([
      "1 Jan 2026 – 31 Jan 2026",
      "API calls | 10 | $0.10 | $10.00",
      "1 Feb 2026 – 28 Feb 2026",
      "API calls | 10 | $0.10 | $20.00",
    ]);
    const { facts } = documentOf({ fees, invoice });
    expect(facts).toContainEqual(["Plan", "Professional"]);
  });

  test("a change of plan is told by the headings", async () => {
    const invoice = several(["b1", "b1"], [ONE_DAY, NEXT]);
    const fees = [base(0, "Basic", 1000), base(1, "Pro", 2000)];
    const found = await table({ fees, invoice });
    expect(found.filter((line) => / – /.test(line))).toEqual([
      "Basic, 1 Jan 2026 – 31 Jan 2026",
      "Pro, 1 Feb 2026 – 28 Feb 2026",
    ]);
    expect(documentOf({ fees, invoice }).facts).toContainEqual(["Plan", "Pro"]);
  });
});

describe("on paper", () => {
  const names = Array.from({ length: 40 }, (_, i) => `site-${i}`);
  const fees = names.flatMap((_, i) => [calls(i, 1000), base(i, "Pro", 2000)]);

  test("no heading is alone at the foot, no subtotal alone at the head", async () => {
    for (let high = 0; high < 12; high++) {
      const memo = Array.from({ length: high }, (_, i) => `Memo ${i}`).join("\n");
      const invoice = {
        ...several(
          names,
          names.map(() => ONE_DAY),
        ),
        memo,
      };
      const pdf = await renderInvoicePdf(documentOf({ fees, invoice }), {
        size: "a4",
        compress: false,
      });
      const { pieces, pages } = readPdf(pdf);
      expect(Math.min(...pieces.map(({ y }) => y))).toBeGreaterThan(FOOT);
      for (let page = 1; page <= pages; page++) {
        const own = pieces.filter((piece) => piece.page === page).map(({ text }) => text);
        const foot = own.findIndex((text) => text.startsWith("INV-2025-0007 ·"));
        expect(own[foot - 1], `${high} lines, page ${page}`).toMatch(/^(\$|Please)/);
        const head = own.lastIndexOf("Amount", own.indexOf("Amount"));
        if (page > 1) expect(own[head + 1]).not.toBe("Subtotal");
      }
    }
  });

  test("a subscription that goes on is named again", async () => {
    const long = Array.from({ length: 60 }, () => calls(0, 1000));
    const invoice = several(["b1", "a2"], [ONE_DAY, ONE_DAY]);
    const variation = { fees: [...long, calls(1, 5)], invoice };
    expect(await table(variation)).toContain("b1, continued");
  });
});

describe("an e-invoice", () => {
  const days = (period: readonly string[]) => period.join(" to ");

  test("has the days of each line, and whose it is; of one part it has neither", () => {
    const adjusted = { period_start: "2025-12-01", period_end: "2025-12-31" };
    const plain = billed([
      { cents: 1000, percent: "20" },
      { cents: 2000, percent: "20" },
      { cents: 500, percent: "20" },
    ]);
    const fees = plain.fees.map((fee, part) => ({ ...fee, part: Math.min(part, 1) }));
    const late = { ...fees[2], fee_type: "adjustment", properties: { name: "Late", ...adjusted } };
    const invoice = { ...plain, fees: [...fees.slice(0, 2), late as Fee] };
    const root = readXml(
      renderUbl(eInvoiceOf({ ...invoice, ...several(["b1", "a2"], [ONE_DAY, NEXT]) }, NAMES)),
    );
    expect(texts(root, "InvoiceLine/Note")).toEqual(["b1", "a2", "a2"]);
    const periods = at(root, "InvoiceLine/InvoicePeriod").map((each) =>
      days([...texts(each, "StartDate"), ...texts(each, "EndDate")]),
    );
    expect(periods).toEqual([
      "2026-01-01 to 2026-01-31",
      "2026-02-01 to 2026-02-28",
      "2025-12-01 to 2025-12-31",
    ]);
    expect([
      ...texts(root, "InvoicePeriod/StartDate"),
      ...texts(root, "InvoicePeriod/EndDate"),
    ]).toEqual(["2025-12-01", "2026-02-28"]);
    const one = readXml(renderUbl(eInvoiceOf(plain, NAMES)));
    expect(at(one, "InvoiceLine/InvoicePeriod")).toEqual([]);
    expect(at(one, "InvoiceLine/Note")).toEqual([]);
  });
});
