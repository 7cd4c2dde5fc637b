// Reads the text of PDFs made without compression: enough to say what stands where, independent of
// the code that drew it.

export type Piece = { readonly page: number; readonly x: number; readonly y: number } & {
  readonly text: string;
};

type Objects = ReadonlyMap<string, string>;

/** Every drawn piece of text, page by page from top to bottom, left to right. */
export function readPdf(bytes: Buffer): { pages: number; pieces: Piece[]; size: string } {
  const objects = objectsOf(bytes.toString("latin1"));
  const pages = [...objects.values()].filter((body) => /\/Type \/Page\b(?!s)/.test(body));
  const pieces = pages.flatMap((page, i) => {
    const fonts = fontsOf(page, objects);
    const content = streamOf(objects.get(refIn(page, "Contents")) ?? "");
    return drawn(content, fonts).map((piece) => ({ page: i + 1, ...piece }));
  });
  const sorted = pieces.sort((a, b) => a.page - b.page || b.y - a.y || a.x - b.x);
  const size = /\/MediaBox \[([^\]]*)\]/.exec(pages[0] ?? "")?.[1] ?? "";
  return { pages: pages.length, pieces: sorted, size };
}

/** The lines of a page: what stands at one height, joined from left to right. */
export function linesOf(bytes: Buffer): string[] {
  const lines: { key: string; text: string[] }[] = [];
  for (const { page, y, text } of readPdf(bytes).pieces) {
    const key = `${page} ${Math.round(y)}`;
    const last = lines.at(-1);
    if (last?.key === key) last.text.push(text);
    else lines.push({ key, text: [text] });
  }
  return lines.map(({ text }) => text.join(" | "));
}

/**
 * What is read out of a tagged PDF, in its order: headings, paragraphs and links with their text,
 * and rows of tables with their cells.
 */
export function readAloud(bytes: Buffer): string[] {
  const objects = objectsOf(bytes.toString("latin1"));
  const all = [...objects.values()];
  const tree = objects.get(
    refIn(all.find((body) => /\/Type \/Catalog/.test(body)) ?? "", "StructTreeRoot"),
  );
  const [, root = ""] = /\/K \[(\d+) 0 R\]/.exec(tree ?? "") ?? [];
  const marked = (page: string, mcid: string): string => {
    const body = objects.get(page) ?? "";
    const content = streamOf(objects.get(refIn(body, "Contents")) ?? "");
    const block = markedBy(content, mcid);
    return drawn(block, fontsOf(body, objects))
      .map(({ text }) => text)
      .join("");
  };
  const walk = (id: string): { type: string; text: string; kids: string[] } => {
    const body = objects.get(id) ?? "";
    const [, type = ""] = /\/S \/(\w+)/.exec(body) ?? [];
    const [, list = ""] = /\/K \[([\s\S]*?)\]\n/.exec(body) ?? [];
    const texts: string[] = [];
    const kids: string[] = [];
    for (const [token] of list.matchAll(/\d+ 0 R|<<[\s\S]*?>>|\d+/g)) {
      if (token.startsWith("<<")) {
        const [, mcid] = /\/MCID (\d+)/.exec(token) ?? [];
        if (mcid !== undefined) texts.push(marked(refIn(token, "Pg"), mcid));
      } else if (token.endsWith("R")) {
        const kid = walk(token.split(" ")[0] ?? "");
        if (type === "TR") texts.push(kid.text);
        else kids.push(...(kid.text === "" ? kid.kids : [`${kid.type} ${kid.text}`]));
      } else texts.push(marked(refIn(body, "Pg"), token));
    }
    return { type, text: texts.join(type === "TR" ? " | " : " "), kids };
  };
  return walk(root).kids;
}

/** What is marked with a number, up to where that ends: words told beside glyphs end within it. */
function markedBy(content: string, mcid: string): string {
  const start = new RegExp(`/MCID ${mcid}\\n>> BDC\\n`).exec(content);
  if (start === null) return "";
  const rest = content.slice(start.index + start[0].length);
  let open = 1;
  for (const { 0: token, index } of rest.matchAll(/\bBDC\b|\bBMC\b|\bEMC\b/g)) {
    open += token === "EMC" ? -1 : 1;
    if (open === 0) return rest.slice(0, index);
  }
  return rest;
}

function objectsOf(text: string): Objects {
  const found = new Map<string, string>();
  for (const [, id = "", body = ""] of text.matchAll(/(\d+) 0 obj\n([\s\S]*?)\nendobj/g)) {
    found.set(id, body);
  }
  return found;
}

function refIn(body: string, name: string): string {
  return new RegExp(`/${name} (\\d+) 0 R`).exec(body)?.[1] ?? "";
}

function streamOf(body: string): string {
  return /stream\n([\s\S]*?)\nendstream/.exec(body)?.[1] ?? "";
}

type Decode = ReadonlyMap<number, string>;

function fontsOf(page: string, objects: Objects): Map<string, Decode> {
  const resources = objects.get(refIn(page, "Resources")) ?? page;
  const list = /\/Font <<([\s\S]*?)>>/.exec(resources)?.[1] ?? "";
  const fonts = new Map<string, Decode>();
  for (const [, name = "", id = ""] of list.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
    const map = streamOf(objects.get(refIn(objects.get(id) ?? "", "ToUnicode")) ?? "");
    fonts.set(name, decodeOf(map));
  }
  return fonts;
}

function decodeOf(map: string): Decode {
  const decode = new Map<number, string>();
  for (const [, block = ""] of map.matchAll(/beginbfrange([\s\S]*?)endbfrange/g)) {
    for (const [, from = "", list = ""] of block.matchAll(/<(\w+)> <\w+> \[([^\]]*)\]/g)) {
      const texts = [...list.matchAll(/<([\w ]*)>/g)].map(([, hex = ""]) => utf16(hex));
      texts.forEach((text, i) => {
        decode.set(Number.parseInt(from, 16) + i, text);
      });
    }
  }
  return decode;
}

function utf16(hex: string): string {
  const units = hex.replaceAll(" ", "").match(/.{4}/g) ?? [];
  return String.fromCharCode(...units.map((unit) => Number.parseInt(unit, 16)));
}

const TOKEN = /\/Span <<\/ActualText <(\w+)>>> BDC|\/(F\d+) [\d.]+ Tf|(?<!\w)<(\w+)>|\b(EMC)\b/g;

/** What a reader takes each text for: the words told beside glyphs, else the letters of these. */
function drawn(content: string, fonts: ReadonlyMap<string, Decode>) {
  const pieces: Omit<Piece, "page">[] = [];
  for (const [, block = ""] of content.matchAll(/BT\n([\s\S]*?)ET/g)) {
    const [, x = "0", y = "0"] = /1 0 0 1 ([\d.-]+) ([\d.-]+) Tm/.exec(block) ?? [];
    let decode: Decode | undefined;
    let isTold = false;
    let text = "";
    for (const [, told, font, glyphs, end] of block.matchAll(TOKEN)) {
      if (font !== undefined) decode = fonts.get(font);
      if (end !== undefined) isTold = false;
      if (glyphs !== undefined && !isTold) text += lettersOf(glyphs, decode);
      if (told === undefined) continue;
      text += utf16(told.replace(/^feff/, ""));
      isTold = true;
    }
    pieces.push({ x: Number(x), y: Number(y), text });
  }
  return pieces;
}

function lettersOf(hex: string, decode: Decode | undefined): string {
  const glyphs = hex.match(/.{4}/g) ?? [];
  return glyphs.map((glyph) => decode?.get(Number.parseInt(glyph, 16)) ?? "?").join("");
}

/**
 * A line as pdftotext gives it: what runs from the right is turned around, but for the numbers and
 * the words of other scripts in it.
 */
export function asRead(line: string): string {
  if (!/[\p{Script=Hebrew}\p{Script=Arabic}]/u.test(line)) return line;
  const turned = [...line].reverse().join("");
  return turned.replace(/[\p{Script=Latin}\p{N}]+/gu, (word) => [...word].reverse().join(""));
}
