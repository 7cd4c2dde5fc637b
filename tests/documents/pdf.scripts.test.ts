// Names in each script as the PDF of an invoice has them: with glyphs of their own, and read, found
// and copied as what they are.

import { beforeAll, describe, expect, test } from "vitest";
import { Faces, orderFor } from "../../src/pages/invoice/pdf/fonts.ts";
import { renderInvoicePdf } from "../../src/pages/invoice/pdf/render.ts";
import { asRead, readAloud } from "./pdf-reader.ts";
import { documentOf, usage } from "./samples.ts";

const NAMES = {
  Arabic: ["شركة الاختبار للتجارة المحدودة", "مبنى مثال خطة", "خدمة ١٢٣", "طلب ٧٨٩"],
  Hebrew: ["חשבונות מחשב 123", "רחוב הרצל 5"],
  Greek: ["Ελληνική Εταιρεία", "Ελληνικη Άλφα", "ή η ή η"],
  Cyrillic: ["Кириллица й и"],
  Latin: ["Jean‑Pierre Müller‐Weiß", "Việt Nam ưừ", "office ﬁ ﬃ"],
  Armenian: ["Հայկական ընկերություն"],
  Georgian: ["ქართული კომპანია"],
  Ethiopic: ["የኢትዮጵያ ድርጅት"],
  Devanagari: ["हिन्दी क्षत्रिय कंपनी"],
  Bengali: ["বাংলাদেশ লিমিটেড কোম্পানি ক্ষুদ্র"],
  Gujarati: ["ગુજરાતી કંપની ક્ષેત્ર"],
  Gurmukhi: ["ਪੰਜਾਬੀ ਕੰਪਨੀ"],
  Kannada: ["ಕನ್ನಡ ಕಂಪನಿ ಕ್ಷೇತ್ರ"],
  Malayalam: ["മലയാളം കമ്പനി ക്ഷേത്രം"],
  Sinhala: ["ලංකා සමාගම"],
  Tamil: ["தமிழ் நிறுவனம் கொடுக்க"],
  Telugu: ["తెలుగు సంస్థ క్షేత్రం"],
  Khmer: ["ក្រុមហ៊ុន កម្ពុជា ខ្មែរ"],
  Lao: ["ບໍລິສັດ ລາວ ຈຳກັດ"],
  Burmese: ["မြန်မာ ကုမ္ပဏီ"],
  Thai: ["บริษัท ไทย จำกัด น้ำ"],
  Chinese: ["北方计量有限公司", "王‧小明 ※注意 ― 年額"],
  Japanese: ["株式会社サンプル東京"],
  Korean: ["네이버 클라우드"],
  signs: ["Pre‑paid seats", "CO₂ offset, ⅓ share, 3 ‰", "✔ done ↓ 10⁶ calls", "† ‡ ‥ ‒ ‖ → № ½"],
} as const;
const ALL = Object.values(NAMES).flat();

/** What is read of an invoice with a line for each of the names, and of its buyer, in bold. */
async function readFrom(names: readonly string[], buyer: string): Promise<string[]> {
  const document = documentOf({
    fees: names.map((name) => usage(name)),
    customer: { name: buyer },
  });
  const bytes = await renderInvoicePdf(document, { size: "a4", compress: false });
  return readAloud(bytes).flatMap((element) => {
    const [text = ""] = element.replace(/^\w+ /, "").split(" | ");
    return [asRead(text)];
  });
}

// One process for all, as a glyph must not keep the letters of the text that came first.
test("every name is read as it was written, whatever was set before it", async () => {
  await readFrom(ALL.toReversed(), "");
  for (const { 0: buyer } of [NAMES.Arabic, NAMES.Thai]) {
    const read = await readFrom(ALL, buyer);
    const wanted = ALL.map((name) => name.normalize("NFC"));
    expect(read.filter((text) => wanted.includes(text))).toEqual([buyer, ...wanted]);
  }
});

describe("a glyph of its own", () => {
  let faces: Faces;
  beforeAll(async () => {
    faces = await Faces.of(ALL);
  });

  test.each(Object.entries(NAMES))("%s", (_, names) => {
    for (const name of names) {
      const order = orderFor(name);
      for (const char of name.normalize("NFC").replace(/ /g, "")) {
        const stand = faces.substitutesFor(char, order) ?? [{ char }];
        for (const each of stand) {
          const face = faces.faceFor(char, order, 700) ?? faces.faceFor(each.char, order, 700);
          expect(face, `${char} U+${char.codePointAt(0)?.toString(16)}`).toBeDefined();
        }
        const own = faces.faceFor(char, order, 400);
        expect(own?.font.hasGlyphForCodePoint(char.codePointAt(0) ?? 0) ?? true).toBe(true);
      }
    }
  });

  test("every sign of general punctuation that the fonts have is found", async () => {
    const signs = Array.from({ length: 0x2f }, (_, i) => String.fromCodePoint(0x2010 + i));
    const found = await Faces.of([signs.join("")]);
    const drawn = signs.filter((sign) => {
      const isDrawn = found.faceFor(sign, "zh", 400) ?? found.substitutesFor(sign, "zh");
      return isDrawn !== undefined;
    });
    for (const sign of "‐‑‒–—―‖‘’‚“”„†‡•‥…‧‰′″‹›※") expect(drawn).toContain(sign);
  });
});
