// How the values that PostgreSQL sends become values here.

import pg from "pg";
import { OutOfRange } from "../../errors.ts";

/** Days stay text, integers come as numbers when they are safe, exact numerics stay text. */
export const TYPES = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (format !== "binary") {
      if (oid === pg.types.builtins.INT8) return safeInteger;
      if (oid === pg.types.builtins.DATE) return (text: string) => text;
    }
    return pg.types.getTypeParser(oid, format);
  },
};

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw new OutOfRange(`The sum ${text} is beyond ${Number.MAX_SAFE_INTEGER}.`);
  }
  return value;
}
