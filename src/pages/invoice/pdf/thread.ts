// The entry point of the thread that sets PDFs: see http/documents/pdf-maker.ts.

import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import type { InvoiceDocument } from "../../../domain/documents/document.ts";
import { type PdfOptions, renderInvoicePdf } from "./render.ts";

export type PdfRequest = { readonly document: InvoiceDocument; readonly options: PdfOptions };
export type PdfResult = { readonly bytes: Uint8Array } | { readonly failure: string };

// On Linux priority is per thread: this one yields to the thread that answers callers.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on("message", async ({ document, options }: PdfRequest) => {
  parentPort?.postMessage(await resultOf(document, options));
});

async function resultOf(document: InvoiceDocument, options: PdfOptions): Promise<PdfResult> {
  try {
    return { bytes: await renderInvoicePdf(document, options) };
  } catch (error) {
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
