// Writes src/client/types.ts and src/client/operations.ts from the OpenAPI document: a type for
// every record and request, and a method for every operation.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { OpenApiDocument, Operation, Parameter, Reference } from "../../src/http/openapi.ts";
import type { SchemaObject } from "../../src/http/openapi-schema.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const REF = "#/components/schemas/";
const COMMENT_WIDTH = 84;
const JSON_TYPE = "application/json";

type Named = { readonly path: string; readonly method: string; readonly operation: Operation };

/** The two files as they should stand in src/client. */
export function clientFiles(document: OpenApiDocument): Record<"types" | "operations", string> {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]): Named => ({ path, method: method.toUpperCase(), operation }),
    ),
  );
  return { types: formatted(typesFile(document, all)), operations: formatted(methodsFile(all)) };
}

/** As the formatter of the project writes it. */
function formatted(text: string): string {
  const args = ["format", "--log-level=error", "--stdin-file-path=src/client/types.ts"];
  return execFileSync(`${ROOT}node_modules/.bin/biome`, args, {
    input: text,
    cwd: ROOT,
    encoding: "utf8",
  });
}

function typesFile(document: OpenApiDocument, all: readonly Named[]): string {
  const records = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)};`,
  );
  const requests = all.flatMap((each) => {
    const body = bodySchema(each.operation);
    const query = queryType(each.operation);
    return [
      ...(body !== undefined && body.$ref === undefined
        ? [`export type ${requestName(each.operation)} = ${typeOf(body)};`]
        : []),
      ...(query === undefined ? [] : [`export type ${queryName(each.operation)} = ${query};`]),
      ...(isNamedReply(each.operation)
        ? [
            `export type ${replyName(each.operation)} = ${typeOf(successSchema(each.operation) ?? {})};`,
          ]
        : []),
    ];
  });
  return [
    "// Generated from the OpenAPI document: what the API takes and gives. Do not edit.",
    ...records,
    ...requests,
  ].join("\n\n");
}

function methodsFile(all: readonly Named[]): string {
  const methods = all.map(methodOf);
  return `// Generated from the OpenAPI document: a method for every operation. Do not edit.

import type * as T from "./types.ts";

export type CallOptions = {
  /** Makes the call safe to repeat. Every write gets a random one unless told otherwise. */
  readonly idempotency_key?: string;
  /** Another project than the client's. */
  readonly project_id?: string;
  readonly signal?: AbortSignal;
};

/** What an operation sends, and how the door treats it. */
export type Wanted = {
  readonly method: string;
  readonly path: string;
  readonly query?: object | undefined;
  readonly body?: unknown;
  /** Whether X-Project-Id goes along. */
  readonly project: boolean;
  /** Whether the answer is kept under an Idempotency-Key. */
  readonly keyed: boolean;
};

/** Path parameters come first, then the body or the query, then the options of the call. */
export abstract class Operations {
  protected abstract call<Reply>(wanted: Wanted, options?: CallOptions): Promise<Reply>;

${methods.join("\n\n")}
}
`;
}

function methodOf({ path, method, operation }: Named): string {
  const inPath = parameters(operation).filter((each) => each.in === "path");
  const body = bodySchema(operation);
  const query = queryType(operation) === undefined ? undefined : `T.${queryName(operation)}`;
  const optional = operation.requestBody?.required !== true;
  const args = [
    ...inPath.map(({ name }) => `${camel(name)}: string`),
    ...(body === undefined
      ? []
      : [
          `body${optional ? "?" : ""}: ${body.$ref ? typeOf(body, "T.") : `T.${requestName(operation)}`}`,
        ]),
    ...(query === undefined ? [] : [`query?: ${query}`]),
  ];
  const sent = [
    `method: "${method}"`,
    `path: ${pathExpression(path)}`,
    ...(body === undefined ? [] : ["body"]),
    ...(query === undefined ? [] : ["query"]),
    `project: ${hasHeader(operation, "ProjectId") || hasHeader(operation, "OptionalProjectId")}`,
    `keyed: ${hasHeader(operation, "IdempotencyKey")}`,
  ];
  const name = operation.operationId;
  const reply = replyType(operation);
  const call = `this.call({ ${sent.join(", ")} }, options)`;
  const signature = (list: readonly string[], answer: string) =>
    `  ${name}(${[...list, "options?: CallOptions"].join(", ")}): Promise<${answer}>`;
  const lookup = lookupOf(operation);
  if (lookup === undefined || query === undefined) {
    return `${comment(operation)}${signature(args, reply)} {\n    return ${call};\n  }`;
  }
  const key = `query: ${query} & { readonly ${lookup.key}: string }`;
  const others = `query?: Omit<${query}, "${lookup.key}">`;
  return [
    `${comment(operation)}${signature([key], lookup.one)};`,
    `${signature([others], lookup.many)};`,
    `  ${name}(query?: ${query}, options?: CallOptions): Promise<unknown> {\n    return ${call};\n  }`,
  ].join("\n");
}

/** Lists that answer with one record when its code is given: two signatures. */
function lookupOf(operation: Operation) {
  const key = parameters(operation).find((each) => /^Answers \{\w+\}/.test(each.description ?? ""));
  const { properties = {} } = successSchema(operation) ?? {};
  const one = /^Answers \{(\w+)\}/.exec(key?.description ?? "")?.[1];
  const many = Object.keys(properties).find((name) => properties[name]?.type === "array");
  if (key === undefined || one === undefined || many === undefined) return undefined;
  const single = typeOf(properties[one] ?? {}, "T.");
  const list = typeOf(properties[many] ?? {}, "T.");
  return {
    key: key.name,
    one: `{ readonly ${one}: ${single} }`,
    many: `{ readonly ${many}: ${list}; readonly has_more: boolean; readonly total_count?: number }`,
  };
}

function comment({ summary, description }: Operation): string {
  const words = [summary, description].flatMap((each) => (each ? [each.replace(/\.$/, "")] : []));
  return doc(`${words.join(". ")}.`);
}

function pathExpression(path: string): string {
  if (!path.includes("{")) return `"${path}"`;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => `\${segment(${camel(name)})}`);
  return `\`${filled.replaceAll("segment(", "encodeURIComponent(")}\``;
}

function parameters(operation: Operation): Parameter[] {
  return (operation.parameters ?? []).flatMap((each) => ("in" in each ? [each] : []));
}

function hasHeader(operation: Operation, name: string): boolean {
  const refs = (operation.parameters ?? []).flatMap((each: Parameter | Reference) =>
    "$ref" in each ? [each.$ref] : [],
  );
  return refs.includes(`#/components/parameters/${name}`);
}

function bodySchema(operation: Operation): SchemaObject | undefined {
  return operation.requestBody?.content[JSON_TYPE].schema;
}

function successSchema(operation: Operation): SchemaObject | undefined {
  const [first] = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  const response = first?.[1];
  if (response === undefined || "$ref" in response) return undefined;
  return response.content?.[JSON_TYPE].schema;
}

/** A reply of one field is written where it is used; a list that looks up has two of its own. */
function isNamedReply(operation: Operation): boolean {
  const schema = successSchema(operation);
  if (schema === undefined || schema.$ref !== undefined) return false;
  return Object.keys(schema.properties ?? {}).length !== 1 && lookupOf(operation) === undefined;
}

function replyType(operation: Operation): string {
  const schema = successSchema(operation);
  if (schema === undefined) return "void";
  if (isNamedReply(operation)) return `T.${replyName(operation)}`;
  const [[name, field] = []] = Object.entries(schema.properties ?? {});
  if (name === undefined || field === undefined) return typeOf(schema, "T.");
  return `{ readonly ${name}: ${typeOf(field, "T.")} }`;
}

function queryType(operation: Operation): string | undefined {
  const inQuery = parameters(operation).filter((each) => each.in === "query");
  if (inQuery.length === 0) return undefined;
  const fields = inQuery.map(
    ({ name, required, description, schema }) =>
      `${doc(description)}readonly ${name}${required ? "" : "?"}: ${typeOf(schema)} ${required ? "" : "| undefined"};`,
  );
  return `{\n${fields.join("\n")}\n}`;
}

/** The type of a schema; records of other files are found under `prefix`. */
function typeOf(schema: SchemaObject, prefix = ""): string {
  if (schema.$ref !== undefined) return `${prefix}${schema.$ref.slice(REF.length)}`;
  if (schema.enum !== undefined) {
    const values = schema.enum.map((value) => JSON.stringify(value));
    return [...values, ...([schema.type].flat().includes("null") ? ["null"] : [])].join(" | ");
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((each) => typeOf(each, prefix)).join(" | ");
  const types = [schema.type].flat().map((type) => plainType(schema, String(type), prefix));
  return [...new Set(types)].join(" | ");
}

function plainType(schema: SchemaObject, type: string, prefix: string): string {
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `readonly (${typeOf(schema.items ?? {}, prefix)})[]`;
    case "object":
      return objectType(schema, prefix);
    default:
      return "unknown";
  }
}

function objectType(schema: SchemaObject, prefix: string): string {
  if (schema.properties === undefined) return "Readonly<Record<string, unknown>>";
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const optional = !(schema.required?.includes(name) ?? false);
    const type = typeOf(field, prefix);
    return `${doc(field.description)}readonly ${name}${optional ? "?" : ""}: ${type};`;
  });
  return `{\n${fields.join("\n")}\n}`;
}

/** A comment above what it says, broken where lines become too wide. */
function doc(description: string | undefined): string {
  if (description === undefined) return "";
  const text = description.replaceAll("*/", "* /").replaceAll("\n", " ");
  if (text.length < COMMENT_WIDTH) return `/** ${text} */\n`;
  const lines = text.match(new RegExp(`.{1,${COMMENT_WIDTH}}(\\s|$)`, "g")) ?? [text];
  return `/**\n${lines.map((line) => ` * ${line.trim()}`).join("\n")}\n */\n`;
}

function requestName(operation: Operation): string {
  return `${pascal(operation.operationId)}Body`;
}

function replyName(operation: Operation): string {
  return `${pascal(operation.operationId)}Reply`;
}

function queryName(operation: Operation): string {
  return `${pascal(operation.operationId)}Query`;
}

function pascal(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
