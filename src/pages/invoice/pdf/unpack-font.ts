// A font of the kind WOFF as the plain one that was packed into it.

import { inflateSync } from "node:zlib";

const WOFF = { header_bytes: 44, entry_bytes: 20, tables_at: 12 };
const PLAIN = { header_bytes: 12, entry_bytes: 16 };
const ALIGNMENT = 4;

type Table = { readonly entry: Buffer; readonly bytes: Buffer };

/**
 * From a packed font, fontkit unpacks the whole table of outlines again for each glyph that it
 * reads or embeds: that was more than half of the time of an invoice.
 */
export function unpackFont(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(WOFF.tables_at);
  const tables = Array.from({ length: count }, (_, i) => tableOf(woff, i));
  const parts: Buffer[] = [];
  let at = PLAIN.header_bytes + count * PLAIN.entry_bytes;
  for (const { entry, bytes } of tables) {
    entry.writeUInt32BE(at, 8);
    const padded = Buffer.alloc(Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT);
    bytes.copy(padded);
    parts.push(padded);
    at += padded.length;
  }
  return Buffer.concat([headerOf(woff, count), ...tables.map(({ entry }) => entry), ...parts]);
}

/** Tag, checksum, place and length; the place is not known yet. */
function tableOf(woff: Buffer, i: number): Table {
  const at = WOFF.header_bytes + i * WOFF.entry_bytes;
  const [offset, packed, length] = [4, 8, 12].map((field) => woff.readUInt32BE(at + field)) as [
    number,
    number,
    number,
  ];
  const stored = woff.subarray(offset, offset + packed);
  const entry = Buffer.alloc(PLAIN.entry_bytes);
  woff.copy(entry, 0, at, at + 4);
  woff.copy(entry, 4, at + 16, at + WOFF.entry_bytes);
  entry.writeUInt32BE(length, 12);
  return { entry, bytes: packed < length ? inflateSync(stored) : stored };
}

/** The kind of font, how many tables, and three numbers for a search by halves. */
function headerOf(woff: Buffer, count: number): Buffer {
  const header = Buffer.alloc(PLAIN.header_bytes);
  woff.copy(header, 0, 4, 8);
  const halvings = Math.floor(Math.log2(count));
  const range = 2 ** halvings * PLAIN.entry_bytes;
  for (const [i, value] of [count, range, halvings, count * PLAIN.entry_bytes - range].entries()) {
    header.writeUInt16BE(value, 4 + i * 2);
  }
  return header;
}
