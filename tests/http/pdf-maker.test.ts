// PDFs are made by a thread: the same document once, a bounded queue, and callers who do not wait.

import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { InvoiceDocument } from "../../src/domain/documents.ts";
import { Refusal } from "../../src/errors.ts";
import { Bounds } from "../../src/http/limits/bound.ts";
import { PdfMaker } from "../../src/http/pdf-maker.ts";
import { slowness } from "../support/processes.ts";

const A4 = { size: "a4" } as const;

function documentOf(number: string): InvoiceDocument {
  const amount = "$1.00";
  const line = {
    title: "東京の利用料 Größe",
    details: [],
    parts: [],
    units: "1",
    rate: amount,
    amount,
  };
  return {
    kind: "Invoice",
    number,
    created_at: new Date("2025-02-01T00:00:00.000Z"),
    state: { label: "Open", tone: "warn" },
    issuer: { name: "北方计量", lines: [], color: "#0b6e4f" },
    customer: { name: "Blue Harbour Shipping", lines: [] },
    facts: [["Invoice number", number]],
    memo: "",
    has_units: true,
    lines: [line, line],
    totals: [{ label: "Amount due", amount, strong: true }],
    ...{ tax_note: "", note: "", pay: undefined, lists: [], footer: "" },
    ...{ payment_instructions: "", support_email: "" },
  };
}

/** Asks again while it is still being made, as the refusal says: a busy machine takes long. */
async function made(pdfs: PdfMaker, ...asked: Parameters<PdfMaker["make"]>): Promise<Buffer> {
  for (let tries = 1; ; tries++) {
    try {
      return await pdfs.make(...asked);
    } catch (error) {
      const isStillMade = error instanceof Refusal && error.headers?.["retry-after"] === "2";
      if (!isStillMade || tries === 5) throw error;
    }
  }
}

describe("the thread of PDFs", () => {
  // One for all: a new thread reads its fonts first, which takes seconds on a busy machine.
  const pdfs = new PdfMaker(new Bounds());

  test("leaves this thread free while forty are asked for at once", async () => {
    await made(pdfs, documentOf("warm"), A4);
    let longest_ms = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      longest_ms = Math.max(longest_ms, now - last);
      last = now;
    }, 5);
    const asked = Array.from({ length: 40 }, (_, i) => pdfs.make(documentOf(`N-${i}`), A4));
    const refused: unknown[] = [];
    for (const one of asked) one.catch((reason) => refused.push(reason));
    await turn();
    // Those that wait too long on a busy machine are refused later, and told to wait longer.
    const at_once = refused.length;
    expect(at_once).toBe(40 - 16);
    await Promise.allSettled(asked);
    clearInterval(timer);
    for (const [i, reason] of refused.entries()) {
      expect(reason).toBeInstanceOf(Refusal);
      const headers = { "retry-after": i < at_once ? "1" : "2" };
      expect(reason).toMatchObject({ status: 503, headers });
    }
    expect(longest_ms).toBeLessThan(250 * slowness());
  });

  test("makes a document once, for all who ask meanwhile and after", async () => {
    let times = 0;
    const ask = () => made(pdfs, documentOf("ONCE-1"), A4, () => times++);
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(await ask()).toBe(first);
    expect(second).toBe(first);
    expect(first?.subarray(0, 5).toString()).toBe("%PDF-");
    expect(times).toBe(1);
  });

  test("makes another one when anything on it has changed", async () => {
    const open = documentOf("CHANGED-1");
    const paid: InvoiceDocument = { ...open, state: { label: "Paid", tone: "good" } };
    const first = await made(pdfs, open, A4);
    expect((await made(pdfs, paid, A4)).equals(first)).toBe(false);
    expect((await made(pdfs, open, { size: "letter" })).equals(first)).toBe(false);
  });

  test("goes on after a document that cannot be set", async () => {
    const broken = { ...documentOf("BROKEN-1"), lines: [null] } as unknown as InvoiceDocument;
    await expect(pdfs.make(broken, A4)).rejects.toThrow("A PDF could not be made");
    expect((await made(pdfs, documentOf("BROKEN-2"), A4)).length).toBeGreaterThan(1_000);
  });

  test("refuses nobody's share for what it has made already", async () => {
    await made(pdfs, documentOf("SHARE-1"), A4);
    const refuseAll = () => {
      throw new Error("no more");
    };
    await expect(pdfs.make(documentOf("SHARE-1"), A4, refuseAll)).resolves.toBeInstanceOf(Buffer);
    await expect(pdfs.make(documentOf("SHARE-2"), A4, refuseAll)).rejects.toThrow("no more");
  });
});
