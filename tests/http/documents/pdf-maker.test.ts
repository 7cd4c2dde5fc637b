// PDFs are made by a thread: the same document once, a bounded queue, and callers who do not wait.

import { setImmediate as turn } from "node:timers/promises";
import { type ResourceLimits, Worker } from "node:worker_threads";
import { describe, expect, test, vi } from "vitest";
import type { InvoiceDocument } from "../../../src/domain/documents/document.ts";
import { Refusal } from "../../../src/errors.ts";
import { Bounds } from "../../../src/http/admission/bound.ts";
import { PdfMaker } from "../../../src/http/documents/pdf-maker.ts";
import { slowness } from "../../support/processes.ts";

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
    sections: [],
    lines: [line, line],
    totals: [{ label: "Amount due", amount, strong: true }],
    tax_note: "",
    note: "",
    pay: undefined,
    lists: [],
    footer: "",
    payment_instructions: "",
    support_email: "",
  };
}

/** A thread that does this with what it is asked. */
function threadThat(does: string, resourceLimits: ResourceLimits = {}): Worker {
  const text = `const { parentPort } = require("node:worker_threads");
    parentPort.on("message", () => { ${does} });`;
  return new Worker(text, { eval: true, resourceLimits });
}

/** In place of one that reads its fonts, for seconds on a busy machine. */
const answering = () => threadThat("parentPort.postMessage({ bytes: new Uint8Array(9) });");

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

  test("a document that takes longer than 30 s is refused as what can be had later", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const alone = new PdfMaker(new Bounds());
      const early = alone.make(documentOf("SLOW-1"), A4).catch((reason: unknown) => reason);
      vi.advanceTimersByTime(26_000);
      const late = alone.make(documentOf("SLOW-1"), A4).catch((reason: unknown) => reason);
      vi.advanceTimersByTime(4_000);
      expect(await early).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
      expect(await late).toMatchObject({ status: 503, headers: { "retry-after": "60" } });
    } finally {
      vi.useRealTimers();
    }
  });

  /** 503 with a hint, for the caller; with the cause, for the log. */
  const LATER = { status: 503, headers: { "retry-after": "5" }, cause: expect.any(Error) };

  test.each([
    ["runs out of memory", "const all = []; for (;;) all.push(new Array(100_000).fill(0.5));"],
    ["ends", "process.exit(7);"],
    ["throws", "setImmediate(() => { throw new Error('no'); });"],
    ["is not there", undefined],
  ])(
    "when its thread %s, who waits is told to ask again, and the next gets one",
    async (_, code) => {
      let starts = 0;
      const fallible = new PdfMaker(new Bounds(), () => {
        starts++;
        if (starts > 2) return answering();
        if (code === undefined) return new Worker(new URL("./none.js", import.meta.url));
        return threadThat(code, { maxOldGenerationSizeMb: 16 });
      });
      const asked = ["1", "2"].map((number) => fallible.make(documentOf(`LOST-${number}`), A4));
      const answers = await Promise.allSettled(asked);
      expect(answers.map((each) => each.status === "rejected" && each.reason)).toMatchObject([
        LATER,
        LATER,
      ]);
      expect(await made(fallible, documentOf("LOST-1"), A4)).toHaveLength(9);
      expect(starts).toBe(3);
    },
  );

  test("when no thread can be started, all who wait are told so, and it is tried again", async () => {
    let starts = 0;
    const fallible = new PdfMaker(new Bounds(), () => {
      starts++;
      if (starts === 1) return threadThat("process.exit(0);");
      if (starts === 2) throw new Error("Worker initialization failure: EAGAIN");
      return answering();
    });
    const asked = ["1", "2", "3"].map((number) => fallible.make(documentOf(`NONE-${number}`), A4));
    const answers = await Promise.allSettled(asked);
    expect(answers.map((each) => each.status === "rejected" && each.reason)).toMatchObject([
      LATER,
      LATER,
      LATER,
    ]);
    expect(await made(fallible, documentOf("NONE-1"), A4)).toHaveLength(9);
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
