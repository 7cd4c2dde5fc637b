// Documents as replies: a page, a PDF that is made once for all who ask for the same, or XML.

import Type from "typebox";
import type { InvoiceDocument } from "../../domain/documents/document.ts";
import {
  type DocumentLinks,
  PAPER_SIZES,
  type PaperSize,
  renderInvoice,
} from "../../pages/invoice/html.ts";
import { OneOf } from "../../schema/common.ts";
import type { Bounds } from "../admission/bound.ts";
import { RateLimit } from "../admission/rate-limit.ts";
import { Content, Reply } from "../route.ts";
import type { PdfMaker } from "./pdf-maker.ts";
import { PAGE_HEADERS, sendPage } from "./send-page.ts";

export const PaperQuery = { size: Type.Optional(OneOf(PAPER_SIZES, "Paper; a4 by default.")) };
export type Asked = { readonly size?: PaperSize };

/** PDFs that strangers have made of one customer's documents: ten at once, then one in 2 s. */
const PUBLIC_PER_CUSTOMER = { burst: 10, per_minute: 30 };
/** PDFs that strangers have made of all customers' documents together. */
const PUBLIC = { burst: 60, per_minute: 10 * 60 };
const NOTHING_RUNS = { ...PAGE_HEADERS, "content-security-policy": "default-src 'none'" };

/** Makes PDFs for owners, and within limits for those who have a link. */
export class PdfSender {
  readonly #pdfs: PdfMaker;
  readonly #perCustomer = new RateLimit(PUBLIC_PER_CUSTOMER);
  readonly #all: RateLimit;

  constructor(pdfs: PdfMaker, bounds: Bounds) {
    this.#pdfs = pdfs;
    this.#all = new RateLimit(PUBLIC, () => bounds.countRefusal("pdfs"));
  }

  async send(found: InvoiceDocument, { size = "a4" }: Asked): Promise<Reply> {
    return sendPdf(found, await this.#pdfs.make(found, { size }));
  }

  async sendToStranger(
    found: InvoiceDocument,
    { size = "a4" }: Asked,
    customer_id: string,
  ): Promise<Reply> {
    const admit = () => {
      this.#perCustomer.take(customer_id);
      this.#all.take("all");
    };
    return sendPdf(found, await this.#pdfs.make(found, { size }, admit));
  }
}

/** The query of a link to the PDF: on the paper that was asked for. */
export function paperQuery({ size }: Asked): Readonly<Record<string, string>> {
  return size === undefined ? {} : { size };
}

export function wantsPdf(accept: string | undefined): boolean {
  const wanted = accept?.toLowerCase() ?? "";
  return wanted.includes("application/pdf") && !wanted.includes("text/html");
}

export function sendHtml(found: InvoiceDocument, { size }: Asked, links: DocumentLinks): Reply {
  return sendPage(renderInvoice(found, size ?? "a4", links));
}

function sendPdf({ number }: InvoiceDocument, bytes: Buffer): Reply {
  return new Reply(200, new Content("application/pdf", bytes), {
    ...NOTHING_RUNS,
    "content-disposition": `inline; filename="${number}.pdf"`,
  });
}

export function sendXml(number: string, xml: string): Reply {
  return new Reply(200, new Content("application/xml; charset=utf-8", xml), {
    ...NOTHING_RUNS,
    "content-disposition": `inline; filename="${number}.xml"`,
  });
}
