// `dues invoices pdf` and `dues credit-notes pdf`: documents into files.

import { type Command, Option } from "commander";
import type { Dues } from "../../client/dues.ts";
import { remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { creditNoteId, invoiceId } from "../connection/refs.ts";
import type { Declared } from "../terminal/effects.ts";
import { writeWhole } from "../terminal/files.ts";
import { type Io, writeRaw } from "../terminal/io.ts";

type Size = { readonly size?: "a4" | "letter" };
type Flags = ConnectionFlags & Size & { readonly output?: string };

type Document = { readonly number: string; readonly pdf: Uint8Array };

export function invoicePdfCommand(io: Io): Command {
  return pdfCommand(io, "invoice", "INV-2026-0001", async (dues, ref, size) => {
    const { invoice } = await dues.getInvoice(await invoiceId(dues, ref));
    return { number: invoice.number, pdf: await dues.getInvoiceDocumentPdf(invoice.id, size) };
  });
}

export function creditNotePdfCommand(io: Io): Command {
  return pdfCommand(io, "credit-note", "CN-2026-0001", async (dues, ref, size) => {
    const { credit_note } = await dues.getCreditNote(await creditNoteId(dues, ref));
    const pdf = await dues.getCreditNoteDocumentPdf(credit_note.id, size);
    return { number: credit_note.number, pdf };
  });
}

const pdfEffect: Declared = ({ output }) => (output === "-" ? "reads" : "writes");

function pdfCommand(
  io: Io,
  what: string,
  example: string,
  read: (dues: Dues, ref: string, size: Size) => Promise<Document>,
): Command {
  return remote("pdf", pdfEffect, "Write the document as PDF.", [
    [`dues ${what}s pdf ${example}`, `into ${example}.pdf`],
    [`dues ${what}s pdf ${example} --output - | lp`, "to the output"],
  ])
    .argument(`<${what}>`, "id or number")
    .option("-o, --output <file>", "where to; <number>.pdf by default, - for the output")
    .addOption(new Option("--size <paper>", "paper; a4 by default").choices(["a4", "letter"]))
    .action(
      withConnection<Flags>(io, async ({ dues }, { output, size }, ref = "") => {
        const { number, pdf } = await read(dues, ref, size === undefined ? {} : { size });
        if (output === "-") return writeRaw(io.stdout, pdf);
        const file = output ?? `${number}.pdf`;
        await writeWhole(file, { replace: true }, (put) => put(pdf));
        io.out(`${file}\n`);
      }),
    );
}
