// Tables of fields for the reference: parameters, bodies and records, nested ones indented.

import { DECIMAL_PATTERN, SIGNED_DECIMAL_PATTERN } from "../../schema/common.ts";
import { nameOf, type Parameter, resolved, type SchemaObject } from "../../schema/openapi.ts";
import { type Html, html, prose } from "../html.ts";

type NamedSchemas = Readonly<Record<string, SchemaObject>>;

const DEPTH_MAX = 4;

export type Field = {
  readonly name: string;
  readonly schema: SchemaObject;
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly depth: number;
};

/**
 * How named records are shown: field by field in place, or as a link to their own table. Those that
 * several requests take have one too, and are `shared`.
 */
export type Nesting = "open" | "linked";
export type Shared = ReadonlySet<string>;

export function fieldsOf(
  schema: SchemaObject,
  named: NamedSchemas,
  nesting: Nesting,
  shared: Shared = new Set(),
  depth = 0,
  from: readonly string[] = [],
): Field[] {
  const shape = resolved(schema, named);
  return Object.entries(shape.properties ?? {}).flatMap(([name, each]) => {
    const required = shape.required?.includes(name) ?? false;
    const description = each.description ?? resolved(each, named).description;
    const field: Field = { name, schema: each, required, description, depth };
    const inner = innerOf(each);
    const innerName = inner && nameOf(inner);
    const isClosed =
      inner === undefined ||
      depth + 1 >= DEPTH_MAX ||
      (innerName !== undefined &&
        (nesting === "linked" || shared.has(innerName) || from.includes(innerName)));
    if (isClosed) return [field];
    const path = innerName === undefined ? from : [...from, innerName];
    return [field, ...fieldsOf(inner, named, nesting, shared, depth + 1, path)];
  });
}

/** The record inside a field: the field itself, an entry of a list, or one that may be null. */
function innerOf(schema: SchemaObject): SchemaObject | undefined {
  if (schema.items !== undefined) return innerOf(schema.items);
  if (schema.$ref !== undefined || schema.properties !== undefined) return schema;
  return schema.anyOf?.map(innerOf).find((each) => each !== undefined);
}

export function parameterFields(parameters: readonly Parameter[]): Field[] {
  return parameters.map(({ name, schema, required, description }) => {
    return { name, schema, required, description, depth: 0 };
  });
}

/** A request marks the required fields, an answer the optional ones; `last` is one more row. */
export function fieldTable(
  caption: string,
  fields: readonly Field[],
  nesting: Nesting,
  shared: Shared = new Set(),
  last: Html | false = false,
): Html {
  if (fields.length === 0 && last === false) return html``;
  const title = caption !== "" && html`<caption>${caption}</caption>`;
  const rows = fields.map((field) => fieldRow(field, nesting, shared));
  const kind = nesting === "open" ? "f req" : "f";
  return html`<table class="${kind}">${title}${rows}${last}</table>`;
}

/** A heading that stands first in a row of data is the row's, without saying so. */
function fieldRow(field: Field, nesting: Nesting, shared: Shared): Html {
  const { name, schema, required, description, depth } = field;
  const mark = required === (nesting === "open") && (required ? "required" : "optional");
  const label = html`<code>${name}</code> ${mark && html`<em>${mark}</em>`}`;
  const indent = depth > 0 && html` class="d${depth}"`;
  const type = html`<i>${typeName(schema, nesting, shared)}</i>`;
  const content = description !== undefined && prose(description);
  if (nesting === "linked") {
    return html`<tr${indent}><th>${label}</th><td>${type} ${content}${valueText(schema)}</td></tr>\n`;
  }
  const limits = html`${limitText(schema)}${description === undefined && patternText(schema)}`;
  return html`<tr${indent}><th>${label}${type}</th><td>${content}${limits}</td></tr>\n`;
}

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "timestamp",
  date: "date",
  uri: "URL",
  uuid: "UUID",
};

function typeName(schema: SchemaObject, nesting: Nesting, shared: Shared): Html {
  const name = nameOf(schema);
  if (name !== undefined && nesting === "open" && !shared.has(name)) return html`object`;
  if (name !== undefined) return html`<a href="#object-${name}">${name}</a>`;
  if (schema.items !== undefined) return html`list of ${typeName(schema.items, nesting, shared)}`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    return html`${choices.map((each, i) => html`${i > 0 && " or "}${typeName(each, nesting, shared)}`)}`;
  }
  const format = schema.format === undefined ? undefined : FORMATS[schema.format];
  const types = [schema.type ?? "any"].flat();
  return html`${types.map((type) => (type === "string" ? (format ?? type) : type)).join(" or ")}`;
}

function limitText(schema: SchemaObject): Html {
  const entries = [schema.minItems, schema.maxItems].some((limit) => limit !== undefined);
  const content = [
    // A format, such as UUID, implies its length.
    schema.format === undefined && range("character", schema.minLength ?? 0, schema.maxLength),
    range("", schema.minimum, schema.maximum),
    entries && range("entries", schema.minItems ?? 0, schema.maxItems),
    schema["x-unique-items"] === true && "no repeats",
    schema["x-max-bytes"] !== undefined && `at most ${schema["x-max-bytes"] / 1024} KiB of JSON`,
  ].filter((each) => typeof each === "string" && each !== "");
  const sentence = content.length > 0 && html`<small>${capital(content.join(", "))}.</small>`;
  return html`${valueText(schema)}${sentence}`;
}

function valueText(schema: SchemaObject): Html {
  const values = schema.enum ?? schema.items?.enum;
  if (values === undefined) return html``;
  return html`<span class="v">One of${values.map((value) => html` <code>${String(value)}</code>`)}</span>`;
}

function range(unit: string, min: number | undefined, max: number | undefined): string {
  if (max === undefined) return unit === "" && min !== undefined ? `at least ${min}` : "";
  const plural = unit === "" ? "" : ` ${unit.endsWith("s") ? unit : `${unit}s`}`;
  if (min === undefined || (unit !== "" && min === 0)) return `at most ${grouped(max)}${plural}`;
  return `${grouped(min)} to ${grouped(max)}${plural}`;
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

function patternText(schema: SchemaObject): Html {
  const { pattern, format } = schema;
  if (pattern === undefined || format !== undefined) return html``;
  if (pattern === DECIMAL_PATTERN || pattern === SIGNED_DECIMAL_PATTERN) {
    return html`<small>A decimal as text, such as <code>12.50</code>.</small>`;
  }
  if (pattern.includes("@")) return html`<small>An email address.</small>`;
  if (pattern.includes("\\u001f")) return html`<small>No control characters.</small>`;
  return html`<small>Matches <code>${pattern}</code></small>`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
