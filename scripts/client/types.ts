// Writes the schemas of the OpenAPI document as TypeScript.

import { Schemas } from "../../src/http/openapi/schemas.ts";
import { Cents, Currency } from "../../src/schema/common.ts";
import { nameOf, type SchemaObject } from "../../src/schema/openapi.ts";
import { type Field, formOf, kinOf, type Named } from "./forms.ts";

const COMMENT_WIDTH = 84;

export type Declared = {
  readonly name: string;
  readonly schema: SchemaObject;
  /** Optional fields of a query may also be undefined: the client leaves those out. */
  readonly in_query?: boolean;
};

/** Values with a type name of their own. */
const VALUES: Readonly<Record<string, SchemaObject>> = {
  Cents: new Schemas().convert(Cents),
  Currency: new Schemas().convert(Currency),
};

export function valueDeclarations(): [string, string][] {
  return Object.entries(VALUES).map(([name, { description, type }]) => [
    name,
    `${doc(description)}export type ${name} = ${typeOf({ type: type ?? "string" })};`,
  ]);
}

/** `known` are the objects that it may be written by. */
export function declaration(declared: Declared, known: readonly Named[]): string {
  const { name, schema, in_query = false } = declared;
  const type = typeOf(schema, { in_query, known, subject: subjectOf(name) });
  return `${doc(schema.description)}export type ${name} = ${type};`;
}

/** The object and those in its fields, by which others may be written once it is declared. */
export function namedIn({ name, schema, in_query = false }: Declared): Named[] {
  if (schema.properties === undefined) return [];
  const parts = Object.entries(schema.properties).flatMap(([field, { items, ...own }]): Named[] => {
    const part = items ?? own;
    if (part.properties === undefined || !isRequired(schema, field)) return [];
    const path = `${name}["${field}"]${items === undefined ? "" : "[number]"}`;
    return [{ name: path, subject: subjectOf(field), fields: fieldsOf(part, {}) }];
  });
  return [{ name, subject: subjectOf(name), fields: fieldsOf(schema, { in_query }) }, ...parts];
}

/** `UpdateCreditNoteBody` and the field `credit_notes` are about a `CreditNote`. */
function subjectOf(name: string): string {
  if (name.endsWith("Query")) return "Query";
  if (name.endsWith("Reply")) return "Page";
  if (name.endsWith("Body")) return name.replace(/^[A-Z][a-z]+|Body$/g, "");
  const words = name.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join("").replace(/s$/, "");
}

type Choices = {
  readonly in_query?: boolean;
  readonly known?: readonly Named[] | undefined;
  readonly subject?: string;
};

export function typeOf(schema: SchemaObject, choices: Choices = {}): string {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  const { in_query, ...inner } = choices;
  const any = schema.anyOf ?? schema.oneOf;
  if (any !== undefined) return union(any.map((each) => typeOf(each, inner)));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const types = [schema.type].flat();
  if (schema.enum !== undefined) {
    const values = schema.enum.map((value) => JSON.stringify(value));
    return union([...values, ...(types.includes("null") ? ["null"] : [])]);
  }
  return union(types.map((type) => plainType(schema, String(type), choices)));
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(" | ");
}

function plainType(schema: SchemaObject, type: string, choices: Choices): string {
  switch (type) {
    case "boolean":
    case "null":
      return type;
    case "string":
      return valueName(schema) ?? "string";
    case "integer":
    case "number":
      return valueName(schema) ?? "number";
    case "array":
      return `readonly (${typeOf(schema.items ?? {}, { ...choices, in_query: false })})[]`;
    case "object":
      return objectType(schema, choices);
    default:
      return "unknown";
  }
}

function valueName({ format, pattern }: SchemaObject): string | undefined {
  if (format === "int64") return "Cents";
  return pattern !== undefined && pattern === VALUES.Currency?.pattern ? "Currency" : undefined;
}

function objectType(schema: SchemaObject, choices: Choices): string {
  if (schema.properties === undefined) return "Readonly<Record<string, unknown>>";
  const { subject = "", known = [] } = choices;
  return formOf(fieldsOf(schema, choices), kinOf(subject, known));
}

function fieldsOf(schema: SchemaObject, { in_query = false, known = [] }: Choices): Field[] {
  return Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const optional = !isRequired(schema, name);
    const undefinable = optional && in_query ? " | undefined" : "";
    return {
      name,
      optional,
      comment: doc(field.description),
      type: `${typeOf(field, { known, subject: subjectOf(name) })}${undefinable}`,
      full_type: `${typeOf(field)}${undefinable}`,
    };
  });
}

function isRequired(schema: SchemaObject, name: string): boolean {
  return schema.required?.includes(name) ?? false;
}

/** A comment above what it says, broken where lines become too wide. */
export function doc(description: string | undefined): string {
  if (description === undefined) return "";
  const text = description.replaceAll("*/", "* /").replaceAll("\n", " ");
  if (text.length < COMMENT_WIDTH) return `/** ${text} */\n`;
  const lines = text.match(new RegExp(`.{1,${COMMENT_WIDTH}}(\\s|$)`, "g")) ?? [text];
  return `/**\n${lines.map((line) => ` * ${line.trim()}`).join("\n")}\n */\n`;
}

/** The capitalized words of a text without its comments: all type names are among them. */
export function namesIn(text: string): string[] {
  const code = text.replace(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  return [...new Set(code.match(/\b[A-Z]\w+/g))].sort();
}
