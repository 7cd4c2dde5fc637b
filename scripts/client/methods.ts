// Writes an operation of the OpenAPI document as a method of the client.

import type { ClientOperation } from "./operations.ts";
import { doc } from "./types.ts";

export function methodOf(operation: ClientOperation): string {
  const { name, text, body, query, reply, lookup } = operation;
  const args = [
    ...operation.path_names.map((each) => `${camel(each)}: string`),
    ...(body === undefined ? [] : [`body${operation.body_required ? "" : "?"}: ${body}`]),
    ...(query === undefined ? [] : [`query?: ${query}`]),
  ];
  const signature = (list: readonly string[], answer: string) =>
    `${name}(${[...list, "options?: CallOptions"].join(", ")}): Promise<${answer}>`;
  const implementation = (answer: string) =>
    `${signature(args, answer)} {\n  return ${callOf(operation)};\n}`;
  if (lookup === undefined || query === undefined) {
    return `${doc(text)}${implementation(reply)}`;
  }
  const one = `query: ${query} & { readonly ${lookup.key}: string }`;
  const many = `query?: Omit<${query}, "${lookup.key}">`;
  return [
    `${doc(text)}${signature([one], lookup.reply)};`,
    `${doc(text)}${signature([many], reply)};`,
    implementation("unknown"),
  ].join("\n");
}

/** Leaves out what has its default: see `CallParts` in src/client/call.ts. */
function callOf(operation: ClientOperation): string {
  const { method, path, body, query, answer, project, keyed } = operation;
  const parts = [
    ...(body === undefined ? [] : ["body"]),
    ...(query === undefined ? [] : ["query"]),
    ...(answer === "json" ? [] : [`answer: "${answer}"`]),
    ...(project ? [] : ["project: false"]),
    ...(keyed === (method !== "GET") ? [] : [`keyed: ${keyed}`]),
  ];
  const args = [
    `"${method}"`,
    pathOf(path),
    "options",
    ...(parts.length === 0 ? [] : [`{ ${parts.join(", ")} }`]),
  ];
  return `this.call(${args.join(", ")})`;
}

function pathOf(path: string): string {
  if (!path.includes("{")) return `"${path}"`;
  return `path\`${path.replace(/\{(\w+)\}/g, (_, name: string) => `\${${camel(name)}}`)}\``;
}

export function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
