// The arguments of tools: their schemas, made from those of the routes they call, and the check
// that holds a call to all that a schema says.

import Type, { type TObject, type TSchema } from "typebox";
import { type Check, checker, namesChecker } from "../request/validation.ts";

/** What a tool's caller would write as numbers and booleans is text in a query. */
const TYPED: Readonly<Record<string, TSchema>> = {
  limit: Type.Integer({
    minimum: 1,
    description: "How many at most; 10 unless given, and 1000 of more than that.",
  }),
  offset: Type.Integer({ minimum: 0, description: "Skips this many records." }),
  all: Type.Boolean({ description: "True returns up to 1000 records." }),
  count: Type.Boolean({
    description:
      "True adds total_count, of all that match; of more than 100,000 only total_at_least.",
  }),
  archived: Type.Boolean({ description: "True lists archived ones too." }),
};

/** Descriptions of filters whose routes say no more than their shape. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  customer_id: "Only of this customer.",
  plan_id: "Only on this plan, by its UUID.",
  invoice_id: "Only of this invoice, by its UUID.",
  status: "Only in this status.",
  payment_status: "Only in this payment status.",
  external_id: "Only of this name.",
  subscription_id: "Only of this subscription, by its UUID.",
  period_start: "Only whose period starts on this date or later.",
  period_end: "Only whose period ends on this date or earlier.",
  issued_from: "Only those issued on this date or later.",
  issued_to: "Only those issued on this date or earlier.",
  paid_from: "Only those paid on this date (UTC) or later.",
  paid_to: "Only those paid on this date (UTC) or earlier.",
};

/** The filters and paging of a list route as arguments. */
export function argumentsOf(
  query: TSchema | undefined,
  leftOut: readonly string[],
  says: Readonly<Record<string, string>>,
): TObject {
  const { properties = {} } = (query ?? {}) as { properties?: Readonly<Record<string, TSchema>> };
  const kept = Object.entries(properties).filter(([name]) => !leftOut.includes(name));
  return noOthers(
    Object.fromEntries(
      kept.map(([name, shape]) => {
        const typed: TSchema & { description?: string } = TYPED[name] ?? shape;
        const description = says[name] ?? typed.description ?? DESCRIPTIONS[name];
        return [
          name,
          Type.Optional({ ...typed, ...(description !== undefined && { description }) }),
        ];
      }),
    ),
  );
}

/** An object of these properties, and of no others. */
export function noOthers(properties: Readonly<Record<string, TSchema>>): TObject {
  return Type.Object({ ...properties }, { additionalProperties: false });
}

/** Refuses arguments that the schema does not allow. */
export function argumentsChecker(schema: TObject): Check {
  const checkNames = namesChecker("argument", Object.keys(schema.properties));
  const check: Check = checker(schema, "body");
  return (given) => {
    // First, because it knows what a misspelled name was meant to be.
    checkNames(given as Readonly<Record<string, unknown>>);
    check(given);
  };
}

/** Arguments as a query: `true` is 1, and numbers are text. */
export function queryOf(given: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, textOf(value)]));
}

function textOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "1" : "0";
  return String(value);
}
