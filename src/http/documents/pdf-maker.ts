// Makes PDFs in a thread of their own, one at a time: one takes 0.1 to 1.3 s of a processor, and
// whoever has a link to a portal may ask. What was made is kept for the next who asks.

import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { ENTRIES } from "../../built.ts";
import type { InvoiceDocument } from "../../domain/documents/document.ts";
import { refuse } from "../../errors.ts";
import type { PdfOptions } from "../../pages/invoice/pdf/render.ts";
import type { PdfRequest, PdfResult } from "../../pages/invoice/pdf/thread.ts";
import { Bound, type Bounds } from "../admission/bound.ts";
import { within } from "../within.ts";

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
  readonly #startWorker: () => Worker;
  #thread: Thread | undefined;

  constructor(bounds: Bounds, start = () => new Worker(ENTRIES.pdf, { resourceLimits: LIMITS })) {
    this.#startWorker = start;
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
    try {
      this.#thread ??= this.#start();
    } catch (error) {
      // No memory or process id is left for a thread: nobody waits for one that may never come.
      for (const job of this.#waiting.splice(0)) job.reject(failed(error));
      return;
    }
    const thread = this.#thread;
    if (thread.job !== undefined) return;
    clearTimeout(thread.timer);
    const job = this.#waiting.shift();
    thread.job = job;
    const ms = job === undefined ? IDLE_MS : MAKING_MS;
    thread.timer = setTimeout(() => this.#end(thread, tooLong()), ms);
    thread.timer.unref();
    if (job !== undefined) thread.worker.postMessage(job.request);
  }

  #start(): Thread {
    const worker = this.#startWorker();
    worker.unref();
    const thread: Thread = { worker, job: undefined, timer: undefined };
    worker.on("message", (result: PdfResult) => {
      const { job } = thread;
      thread.job = undefined;
      if ("bytes" in result) job?.resolve(Buffer.from(result.bytes));
      else job?.reject(new Error(`A PDF could not be made: ${result.failure}`));
      this.#next();
    });
    worker.on("error", (error) => this.#end(thread, failed(error)));
    worker.on("exit", (code) => {
      this.#end(thread, failed(new Error(`The thread of PDFs ended by itself, with ${code}.`)));
    });
    return thread;
  }

  /** Gives the thread up: the next document gets a new one. */
  #end(thread: Thread, error: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    clearTimeout(thread.timer);
    thread.job?.reject(error);
    void thread.worker.terminate();
    if (this.#waiting.length > 0) this.#next();
  }
}

/** The key of a document, made of everything on it: one that has changed is another one. */
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

/** The refusal where nothing is broken: the machine is busy, or the document too large for it. */
function tooLong() {
  const message = `The PDF was not made within ${MAKING_MS / 1_000} s. Ask again when less is going on.`;
  return refuse("unavailable", message, { headers: { "retry-after": "60" } });
}

/** The refusal where the thread is gone, most often for want of memory: the next may have it. */
function failed(cause: unknown) {
  const message = "The PDF could not be made now. Ask again in a moment.";
  const refusal = refuse("unavailable", message, { headers: { "retry-after": "5" } });
  return Object.assign(refusal, { cause });
}

/** The PDFs that were used last, up to so many bytes. */
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
