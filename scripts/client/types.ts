// Writes the schemas of the OpenAPI document as TypeScript.

import { Schemas } from "../../src/http/openapi/schemas.ts";
import { Cents, Currency } from "../../src/schema/common.ts";
import { nameOf, type SchemaObject } from "../../src/schema/openapi.ts";

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

/** Written as `Base & { the other fields }` when all fields of one of the `bases` are in it. */
export function declaration(declared: Declared, bases: readonly Declared[]): string {
  const { name, schema, in_query = false } = declared;
  const base = bases.find((each) => each.name !== name && hasAllOf(schema, each.schema));
  const comment = doc(schema.description);
  if (base === undefined) return `${comment}export type ${name} = ${typeOf(schema, in_query)};`;
  const rest = without(schema, base.schema);
  const isMore = Object.keys(rest.properties ?? {}).length > 0;
  return `${comment}export type ${name} = ${base.name}${isMore ? ` & ${typeOf(rest, in_query)}` : ""};`;
}

function hasAllOf(schema: SchemaObject, other: SchemaObject): boolean {
  const fields = Object.entries(other.properties ?? {});
  const isSame = ([name, field]: [string, SchemaObject]) =>
    JSON.stringify(schema.properties?.[name]) === JSON.stringify(field) &&
    isRequired(schema, name) === isRequired(other, name);
  return fields.length > 0 && fields.every(isSame);
}

function without(schema: SchemaObject, other: SchemaObject): SchemaObject {
  const fields = Object.entries(schema.properties ?? {});
  const rest = fields.filter(([name]) => other.properties?.[name] === undefined);
  return { ...schema, properties: Object.fromEntries(rest) };
}

export function typeOf(schema: SchemaObject, in_query = false): string {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return union(choices.map((each) => typeOf(each)));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const types = [schema.type].flat();
  if (schema.enum !== undefined) {
    const values = schema.enum.map((value) => JSON.stringify(value));
    return union([...values, ...(types.includes("null") ? ["null"] : [])]);
  }
  return union(types.map((type) => plainType(schema, String(type), in_query)));
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(" | ");
}

function plainType(schema: SchemaObject, type: string, in_query: boolean): string {
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
      return `readonly (${typeOf(schema.items ?? {})})[]`;
    case "object":
      return objectType(schema, in_query);
    default:
      return "unknown";
  }
}

function valueName({ format, pattern }: SchemaObject): string | undefined {
  if (format === "int64") return "Cents";
  return pattern !== undefined && pattern === VALUES.Currency?.pattern ? "Currency" : undefined;
}

function objectType(schema: SchemaObject, in_query: boolean): string {
  if (schema.properties === undefined) return "Readonly<Record<string, unknown>>";
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const comment = doc(field.description);
    if (isRequired(schema, name)) return `${comment}readonly ${name}: ${typeOf(field)};`;
    return `${comment}readonly ${name}?: ${typeOf(field)}${in_query ? " | undefined" : ""};`;
  });
  // The formatter keeps an object on the lines that it comes on.
  const [only, ...others] = fields;
  if (only !== undefined && others.length === 0 && !only.includes("\n")) return `{ ${only} }`;
  return `{\n${fields.join("\n")}\n}`;
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
