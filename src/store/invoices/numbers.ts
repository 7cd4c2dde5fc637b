// The numbers of invoices and credit notes: a prefix, the year, and a count without gaps.

import { raw } from "../db/rows.ts";
import { type Sql, sql } from "../db/sql.ts";

/** The number of the invoice `i` or credit note `n` as text. */
export function numberText(alias: "i" | "n"): Sql {
  return raw(
    `${alias}.prefix || '-' || ${alias}.number_year::text || '-' || ` +
      `case when ${alias}.number_seq < 10000 then lpad(${alias}.number_seq::text, 4, '0') ` +
      `else ${alias}.number_seq::text end`,
  );
}

export const NUMBER: Sql = numberText("i");

/** The number of a document that is about to be written. */
export function formatNumber(prefix: string, year: number, seq: number): string {
  return `${prefix}-${year}-${String(seq).padStart(4, "0")}`;
}

const SHAPE = /^([A-Z0-9]{1,8})-(\d{4})-(\d{4,9})$/;

/** Whether the invoice `i` or credit note `n` has this number: never, if the text is none. */
export function hasNumber(alias: "i" | "n", text: string): Sql {
  const number = parseNumber(text);
  if (number === undefined) return sql`false`;
  const row = raw(alias);
  return sql`${row}.number_year = ${number.year} and ${row}.number_seq = ${number.seq}
       and ${row}.prefix = ${number.prefix}`;
}

export function parseNumber(
  text: string,
): { prefix: string; year: number; seq: number } | undefined {
  const [, prefix, year, seq] = SHAPE.exec(text) ?? [];
  if (prefix === undefined || year === undefined || seq === undefined) return undefined;
  if (seq.length > 4 && seq.startsWith("0")) return undefined;
  return { prefix, year: Number(year), seq: Number(seq) };
}
