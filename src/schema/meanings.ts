// What every field means, with an example: looked up by record and name, and put into the schemas
// of the OpenAPI document. A schema's own description stands, unless many fields share it.

import { CENTS_TEXT, Country, Currency } from "./common.ts";
import { BILLING } from "./meanings/billing.ts";
import { COMMON, type Meaning } from "./meanings/common.ts";
import { PRICING } from "./meanings/pricing.ts";
import { PROJECT } from "./meanings/project.ts";
import type { SchemaObject } from "./openapi.ts";
import { Percent, TaxCodes } from "./taxes.ts";
import { eventTitle } from "./webhook-payloads.ts";
import { TEST_EVENT, WEBHOOK_EVENTS } from "./webhooks.ts";

/** Meanings by owner: a record, or an operation for what it alone takes (`listInvoices`). */
const OF = { ...PRICING, ...BILLING, ...PROJECT };

/** Records whose fields are those of another. */
const LIKE: Readonly<Record<string, string>> = {
  ChargeInput: "Charge",
  CreditNotePreview: "CreditNote",
  InvoicePreview: "Invoice",
  InvoiceWithFees: "Invoice",
  UsageEventInput: "UsageEvent",
  WebhookCreatedInvoice: "Invoice",
  WebhookCreditNote: "CreditNote",
  WebhookCustomer: "Customer",
  WebhookInvoice: "Invoice",
  previewCreditNote: "createCreditNote",
  ...Object.fromEntries(
    [...WEBHOOK_EVENTS, TEST_EVENT].map((event) => [eventTitle(event), "Envelope"]),
  ),
};

/** Descriptions that say what a kind of value is, and not what it is here. */
const OF_KINDS: ReadonlySet<unknown> = new Set([
  CENTS_TEXT,
  ...[Currency, Country, Percent, TaxCodes].map((each) => (each as SchemaObject).description),
]);

/** Describes fields. `owners` are looked under, the nearest first; `path` leads to this schema. */
export function describeFields(
  schema: SchemaObject,
  owners: readonly string[],
  path = "",
): SchemaObject {
  const inner = (each: SchemaObject) => describeFields(each, owners, path);
  const { properties, items, anyOf, oneOf } = schema;
  return {
    ...schema,
    ...(items !== undefined && { items: inner(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(inner) }),
    ...(oneOf !== undefined && { oneOf: oneOf.map(inner) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => {
          return [name, describeField(name, field, owners, path)];
        }),
      ),
    }),
  };
}

function describeField(
  name: string,
  field: SchemaObject,
  owners: readonly string[],
  path: string,
): SchemaObject {
  const meaning = lookUp(name, owners, path);
  const isOfKind = field.description === undefined || OF_KINDS.has(field.description);
  const own = isOfKind ? undefined : field.description;
  const description = textOf(meaning.own) ?? own ?? textOf(meaning.common) ?? field.description;
  const isAmount = name.endsWith("_cents") && [field.type].flat().includes("integer");
  const described = {
    ...describeFields(field, owners, `${path}${name}.`),
    // Amounts go beyond 32 bits.
    ...(isAmount && { format: "int64" }),
    ...(description !== undefined && { description }),
  };
  const own_example = exampleIn(meaning.own);
  if (isStructured(field) && own_example === undefined) return described;
  const found = own_example ?? exampleIn(meaning.common) ?? madeExample(field);
  const example = field.const === undefined ? found : { value: field.const };
  return example === undefined ? described : { ...described, examples: [example.value] };
}

type Found = { readonly own: Meaning | undefined; readonly common: Meaning | undefined };

/** The meaning by whole path of an owner, then by the record around the field, then by name. */
function lookUp(name: string, owners: readonly string[], path: string): Found {
  const all = owners.flatMap((each) => [each, LIKE[each] ?? each]);
  const record = path === "" ? [] : [recordName(path.split(".").at(-2) ?? "")];
  const own = [
    ...all.map((owner) => OF[owner]?.[`${path}${name}`]),
    ...[...record, ...all].map((owner) => OF[owner]?.[name]),
  ].find((meaning) => meaning !== undefined);
  return { own, common: COMMON[name] };
}

/** The record that a field holds, mostly of the same name: `applied_add_on` is an AppliedAddOn. */
function recordName(field: string): string {
  return field.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function textOf(meaning: Meaning | undefined): string | undefined {
  return typeof meaning === "object" ? meaning[0] : meaning;
}

function exampleIn(meaning: Meaning | undefined): { readonly value: unknown } | undefined {
  return typeof meaning === "object" ? { value: meaning[1] } : undefined;
}

/** Whether the schema has fields, which have examples. */
export function isStructured(schema: SchemaObject): boolean {
  const { $ref, properties, items, anyOf, oneOf } = schema;
  if ($ref !== undefined || properties !== undefined) return true;
  return [items, ...(anyOf ?? []), ...(oneOf ?? [])].some((each) => each && isStructured(each));
}

/** An example where the schema leaves little choice. */
function madeExample(schema: SchemaObject): { readonly value: unknown } | undefined {
  const { type, format } = schema;
  if (schema.enum !== undefined) return { value: schema.enum[0] };
  if (format === "date-time") return { value: "2026-02-01T00:00:00.000Z" };
  if (format === "date") return { value: "2026-02-01" };
  if (type === "boolean") return { value: true };
  return undefined;
}
