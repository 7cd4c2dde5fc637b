// A PDF does nothing: it runs no script, opens no file and sends nothing, whatever names it was
// made of. What can be followed is the link to pay, where there is one.

import { expect, test } from "vitest";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import { documentOf, usage, type Variation } from "./samples.ts";

/** What PDF has for acting by itself or on a click, and for carrying other files. */
const ACTS = [
  ...["OpenAction", "AA", "JavaScript", "JS", "Launch", "SubmitForm", "ImportData", "ResetForm"],
  ...["GoToR", "GoToE", "Named", "Rendition", "Sound", "Movie", "SetOCGState", "Trans", "Thread"],
  ...["AcroForm", "XFA", "RichMedia", "RichMediaExecute", "EmbeddedFile", "EmbeddedFiles"],
  ...["Outlines", "GoTo", "Filespec", "FileAttachment", "Screen", "Widget", "GoTo3DView"],
];
const ACTION = "<< /S /JavaScript /JS (app.alert\\(1\\)) >>";
const HOSTILE = [
  `) /OpenAction ${ACTION} (`,
  `> /AA << /O ${ACTION} >> <`,
  `\\) /A << /S /Launch /F (calc.exe) >> \\(`,
  `endstream\nendobj\n9 0 obj\n${ACTION}\nendobj`,
  `)) /OpenAction ${ACTION} ((東京`,
  `https://evil.test/ javascript:app.alert(1)`,
];

/** The names of a PDF (`/Type`), without what stands in its texts and streams. */
function namesIn(bytes: Buffer): string[] {
  const bare = bytes
    .toString("latin1")
    .replace(/\nstream\n[\s\S]*?\nendstream\n/g, "\n")
    .replace(/\((?:\\[\s\S]|[^\\()])*\)/g, "()")
    .replace(/<[\da-fA-F\s]*>/g, "<>");
  expect(bare.replaceAll("()", "")).not.toMatch(/[()]/);
  return [...bare.matchAll(/\/([^\s/<>[\](){}%]+)/g)].map(([, name = ""]) =>
    name.replace(/#([\da-fA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
  );
}

async function namesOf(variation: Variation): Promise<string[]> {
  const document = documentOf(variation);
  return namesIn(await renderInvoicePdf(document, { size: "a4", compress: false }));
}

/** Every text of an invoice that its seller or its customer writes. */
function written(text: string): Variation {
  return {
    fees: [usage(text)],
    issuer: { name: text, address: text, tax_id: text, footer: text, payment_instructions: text },
    customer: { name: text, email: text, reference: text },
    invoice: { number: text, memo: text, po_number: text, tax_note: text },
  };
}

test.each([undefined, ...HOSTILE])("%j in every text is no action", async (text) => {
  const names = await namesOf(text === undefined ? {} : written(text));
  expect(names).toEqual(expect.arrayContaining(["Catalog", "Page", "Info"]));
  expect(names.filter((name) => ACTS.includes(name))).toEqual([]);
  expect(names.filter((name) => ["URI", "Annot"].includes(name))).toEqual([]);
});

test("the link to pay is the only one, whatever its address tries", async () => {
  for (const text of HOSTILE) {
    const payment_url = `https://pay.test/?q=${text}`;
    const names = await namesOf({ ...written(text), invoice: { payment_url } });
    expect(names.filter((name) => ACTS.includes(name))).toEqual([]);
    expect(names.filter((name) => name === "Annot")).toHaveLength(1);
    // One says which kind of action it is, the other has the address.
    expect(names.filter((name) => name === "URI")).toHaveLength(2);
  }
});
