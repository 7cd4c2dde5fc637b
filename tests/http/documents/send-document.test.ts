// PDFs for strangers: within a limit per customer and one for all of them.

import { expect, test } from "vitest";
import type { InvoiceDocument } from "../../../src/domain/documents/document.ts";
import { Bounds } from "../../../src/http/admission/bound.ts";
import { PdfMaker } from "../../../src/http/documents/pdf-maker.ts";
import { PdfSender } from "../../../src/http/documents/send-document.ts";
import { shownBound } from "../../support/bounds.ts";

/** Makes nothing, and asks for leave each time. */
class BlankMaker extends PdfMaker {
  override async make(_document: InvoiceDocument, _options: object, admit = () => {}) {
    admit();
    return Buffer.alloc(0);
  }
}

test("sixty at once for all customers, and what is beyond that is counted", async () => {
  const bounds = new Bounds();
  const pdfs = new PdfSender(new BlankMaker(bounds), bounds);
  const found = { number: "2025-1" } as InvoiceDocument;
  const asked = await Promise.allSettled(
    Array.from({ length: 70 }, (_, i) => pdfs.sendToStranger(found, {}, `customer-${i}`)),
  );
  const refused = asked.filter(({ status }) => status === "rejected");
  expect(refused.length).toBeGreaterThan(0);
  expect(asked.length - refused.length).toBeGreaterThanOrEqual(60);
  expect(refused[0]).toMatchObject({ reason: { status: 429 } });
  expect((await shownBound(bounds, "pdfs")).refusals).toBe(refused.length);
});
