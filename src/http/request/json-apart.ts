// Reads a body with faults in it: the members of one list that hold them become refusals, and the
// others are read as ever.

import { isPlainText } from "../../domain/json-values.ts";
import { type Refusal, refuse } from "../../errors.ts";
import { type Faults, NOT_JSON, NOT_TEXT, START, scan } from "./json-scan.ts";

/** Begins the text that stands for what cannot be read and says why; no text that is sent does. */
const MARK = "\u0000 ";
const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;

type Fault = { readonly start: number; readonly end: number; readonly message: string };

export function parseApart(text: string, name: string): unknown {
  const body = parse(marked(text, faultsIn(text)));
  const list = (body as { readonly [name: string]: unknown } | null)?.[name];
  const isApart = Array.isArray(list);
  const elsewhere = faultOf(isApart ? { ...(body as object), [name]: null } : body);
  if (elsewhere !== undefined) throw elsewhere;
  if (!isApart) return body;
  return { ...(body as object), [name]: list.map(refusedOr) };
}

/** The refusal holds what was sent, so that requests with unlike faults are not taken for one. */
function refusedOr(member: unknown): unknown {
  const fault = faultOf(member);
  return fault === undefined ? member : Object.assign(fault, { sent: member });
}

function faultsIn(text: string): Fault[] {
  const found: Fault[] = [];
  let deep: { readonly start: number; readonly message: string } | undefined;
  const faults: Faults = {
    number(start, end, message) {
      if (deep === undefined && JSON_NUMBER.test(text.slice(start, end))) {
        found.push({ start, end, message });
      }
    },
    deep(start, message) {
      deep ??= { start, message };
    },
    shallow(end) {
      if (deep !== undefined) found.push({ ...deep, end });
      deep = undefined;
    },
  };
  scan(text, START, text.length, faults);
  // What nests too deep is not closed: nothing may come to parse it.
  if (deep !== undefined) throw refuse("invalid_json", NOT_JSON);
  return found;
}

function marked(text: string, faults: readonly Fault[]): string {
  let at = 0;
  const parts = faults.map(({ start, end, message }) => {
    const before = text.slice(at, start);
    at = end;
    return before + JSON.stringify(MARK + message);
  });
  return parts.join("") + text.slice(at);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse("invalid_json", NOT_JSON);
  }
}

/** The first fault in the value. */
function faultOf(value: unknown): Refusal | undefined {
  if (typeof value === "string") {
    if (isPlainText(value)) return undefined;
    const message = value.startsWith(MARK) ? value.slice(MARK.length) : NOT_TEXT;
    return refuse("validation_error", message);
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const fault = faultOf(key) ?? faultOf(member);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
