// Makes PDFs in a thread of their own, one at a time: one takes 0.1 to 1.3 s of a processor, and
// whoever has a link to a portal may ask. What was made is kept for the next who asks.

import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { InvoiceDocument } from "../domain/documents.ts";
import { refuse } from "../errors.ts";
import type { PdfOptions } from "../pages/invoice/pdf.ts";
import type { PdfRequest, PdfResult } from "../pages/invoice/pdf-thread.ts";
import { Bound, type Bounds } from "./limits/bound.ts";
import { within } from "./within.ts";

/** A thread runs what was built, also in tests, where the rest is run from its source. */
const BUILT = new URL(import.meta.url.endsWith(".ts") ? "../../dist/http/" : "./", import.meta.url);
const THREAD = new URL("../pages/invoice/pdf-thread.js", BUILT);
const WAITING_MAX = 16;
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
/** A caller is answered by then; the document goes on being made and is kept. */
const ANSWER_MS = 4_500;
/** A document that takes longer is given up, with its thread. */
const MAKING_MS = 30_000;
/** A thread holds about 60 MB for its fonts: one that nobody needs ends. */
const IDLE_MS = 60_000;
const LIMITS = { maxOldGenerationSizeMb: 256 };

type Job = {
  readonly request: PdfRequest;
  resolve(bytes: Buffer): void;
  reject(error: unknown): void;
};

type Thread = { readonly worker: Worker; job: Job | undefined; timer: NodeJS.Timeout | undefined };

export class PdfMaker {
  readonly #limit: Bound;
  readonly #waiting: Job[] = [];
  readonly #making = new Map<string, Promise<Buffer>>();
  readonly #kept = new KeptBytes();
  #thread: Thread | undefined;

  constructor(bounds: Bounds) {
    const message = "Too many PDFs are being made. Try again in a moment.";
    this.#limit = new Bound(bounds, "pdfs", WAITING_MAX, message);
  }

  /** `admit` may refuse by throwing; it is asked only when the document has to be made. */
  async make(
    document: InvoiceDocument,
    options: PdfOptions,
    admit: () => void = () => {},
  ): Promise<Buffer> {
    const key = keyOf(document, options);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    return answeredInTime(this.#making.get(key) ?? this.#begin(key, { document, options }, admit));
  }

  #begin(key: string, request: PdfRequest, admit: () => void): Promise<Buffer> {
    admit();
    this.#limit.take(1);
    const made = new Promise<Buffer>((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
    });
    this.#making.set(key, made);
    const end = () => {
      this.#making.delete(key);
      this.#limit.give(1);
    };
    made
      .then(
        (bytes) => this.#kept.add(key, bytes),
        () => {},
      )
      .finally(end);
    this.#next();
    return made;
  }

  #next(): void {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    if (thread.job !== undefined) return;
    clearTimeout(thread.timer);
    const job = this.#waiting.shift();
    thread.job = job;
    const ms = job === undefined ? IDLE_MS : MAKING_MS;
    thread.timer = setTimeout(() => this.#end(thread, new Error("The PDF took too long.")), ms);
    thread.timer.unref();
    if (job !== undefined) thread.worker.postMessage(job.request);
  }

  #start(): Thread {
    const worker = new Worker(THREAD, { resourceLimits: LIMITS });
    worker.unref();
    const thread: Thread = { worker, job: undefined, timer: undefined };
    worker.on("message", (result: PdfResult) => {
      const { job } = thread;
      thread.job = undefined;
      if ("bytes" in result) job?.resolve(Buffer.from(result.bytes));
      else job?.reject(new Error(`A PDF could not be made: ${result.failure}`));
      this.#next();
    });
    worker.on("error", (error) => this.#end(thread, error));
    worker.on("exit", () => this.#end(thread, new Error("The thread of PDFs ended by itself.")));
    return thread;
  }

  /** The next document gets a new thread. */
  #end(thread: Thread, error: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    clearTimeout(thread.timer);
    thread.job?.reject(error);
    void thread.worker.terminate();
    if (this.#waiting.length > 0) this.#next();
  }
}

/** Of everything that stands on it, so a document that changed is another one. */
function keyOf(document: InvoiceDocument, options: PdfOptions): string {
  return createHash("sha256")
    .update(JSON.stringify([options, document]))
    .digest("base64");
}

function answeredInTime(made: Promise<Buffer>): Promise<Buffer> {
  const refusal = refuse("unavailable", "The PDF is still being made. Ask again in a moment.", {
    headers: { "retry-after": "2" },
  });
  return within(ANSWER_MS, made, refusal);
}

/** The last used, up to so many bytes. */
class KeptBytes {
  readonly #entries = new Map<string, Buffer>();
  #bytes = 0;

  get(key: string): Buffer | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, found);
    return found;
  }

  add(key: string, bytes: Buffer): void {
    this.#entries.set(key, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, { length }] of this.#entries) {
      if (this.#bytes <= KEPT_BYTES_MAX) return;
      this.#entries.delete(oldest);
      this.#bytes -= length;
    }
  }
}
