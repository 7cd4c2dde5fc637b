// The numbers of invoices and credit notes: a prefix, the year, and a count without gaps.

import { raw } from "./rows.ts";
import type { Sql } from "./sql.ts";

/** Of the table behind this alias. */
export function numberText(alias: "i" | "n"): Sql {
  return raw(
    `${alias}.prefix || '-' || ${alias}.number_year::text || '-' || ` +
      `case when ${alias}.number_seq < 10000 then lpad(${alias}.number_seq::text, 4, '0') ` +
      `else ${alias}.number_seq::text end`,
  );
}

export const NUMBER: Sql = numberText("i");

/** The same, of one that is about to be written. */
export function formatNumber(prefix: string, year: number, seq: number): string {
  return `${prefix}-${year}-${String(seq).padStart(4, "0")}`;
}

const SHAPE = /^([A-Z0-9]{1,8})-(\d{4})-(\d{4,9})$/;

export function parseNumber(
  text: string,
): { prefix: string; year: number; seq: number } | undefined {
  const [, prefix, year, seq] = SHAPE.exec(text) ?? [];
  if (prefix === undefined || year === undefined || seq === undefined) return undefined;
  if (seq.length > 4 && seq.startsWith("0")) return undefined;
  return { prefix, year: Number(year), seq: Number(seq) };
}
