// Where things stand in the PDF of an invoice: nothing is lost below the paper, no head is alone.

import { expect, test } from "vitest";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import { readXml, texts } from "../support/ubl.ts";
import { readPdf } from "./pdf-reader.ts";
import { documentOf, usage, type Variation } from "./samples.ts";

const FOOT = 30;

function pdf(variation: Variation): Promise<Buffer> {
  return renderInvoicePdf(documentOf(variation), { size: "a4", compress: false });
}

const lines = (count: number, word: string) =>
  Array.from({ length: count }, (_, i) => `${word} ${i + 1}`).join("\n");

test.each(["seller", "buyer"])("an address of 200 lines of the %s is whole", async (whose) => {
  const party = { name: "Acme", address: lines(200, "Line") };
  const { pages, pieces } = readPdf(await pdf({ invoice: { [whose]: party } }));
  const shown = pieces.filter(({ text }) => /^Line \d+$/.test(text));
  expect(shown.map(({ text }) => text)).toEqual(party.address.split("\n"));
  expect(pages).toBeGreaterThan(2);
  expect(Math.min(...pieces.map(({ y }) => y))).toBeGreaterThan(FOOT);
  const at = (wanted: string) => pieces.find(({ text }) => text === wanted);
  expect(at("Invoice number")).toMatchObject({
    page: at("Billed to")?.page,
    y: at("Billed to")?.y,
  });
  expect(at("Amount due")?.page).toBe(pages);
  // What comes after the address is below it.
  const last = pieces.filter(({ text }) => text === "Line 200")[0];
  const head = at("Description");
  expect(head?.page).toBe(last?.page);
  expect(head?.y).toBeLessThan(last?.y ?? 0);
});

test("the head of the table has its first two rows on its page, wherever that ends", async () => {
  const fees = ["First", "Second", "Third", "Fourth", "Fifth"].map((name) => usage(name));
  for (let high = 30; high <= 48; high++) {
    const { pieces } = readPdf(await pdf({ fees, invoice: { memo: lines(high, "Memo") } }));
    const pageOf = (wanted: string) => pieces.find(({ text }) => text === wanted)?.page;
    const head = pageOf("Description");
    expect([pageOf("First"), pageOf("Second")], `${high} lines`).toEqual([head, head]);
  }
});

test("a long name of the seller is cut at the foot with a mark", async () => {
  const name = "Northwind Metering and Measuring of Everything That Flows Limited by Guarantee";
  const { pieces } = readPdf(await pdf({ issuer: { name } }));
  const foot = pieces.filter(({ text }) => text.startsWith("INV-2025-0007 · "));
  expect(foot).toHaveLength(1);
  const [, shown = ""] = foot[0]?.text.split(" · ") ?? [];
  expect(shown).toMatch(/^Northwind Metering.*…$/);
  expect(name.startsWith(shown.slice(0, -1).trimEnd())).toBe(true);
});

test("what the file says of itself is XML, whatever the seller is called", async () => {
  const name = `Smith & Sons <Ltd> "A" 'B' \u0001é`;
  const text = (await pdf({ issuer: { name } })).toString("utf8");
  const [, xml = ""] = /(<x:xmpmeta[\s\S]*<\/x:xmpmeta>)/.exec(text) ?? [];
  expect(xml).toContain("Smith &amp; Sons &lt;Ltd&gt; &quot;A&quot; &apos;B&apos; é<");
  expect(texts(readXml(xml), "RDF/Description/creator/Seq/li")).toEqual([
    `Smith & Sons <Ltd> "A" 'B' é`,
  ]);
});
