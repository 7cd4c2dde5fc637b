// The generated files of src/client: types by resource, methods by what they do.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { OpenApiDocument } from "../../../src/schema/openapi.ts";
import { methodOf } from "./methods.ts";
import { type ClientOperation, operationsOf } from "./operations.ts";
import { placedTypes, type TypesFile } from "./placing.ts";
import { namesIn } from "./types.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const OPENING = "// Generated from the OpenAPI document:";

type Methods = {
  readonly file: string;
  readonly name: string;
  readonly says: string;
  readonly has: (operation: ClientOperation) => boolean;
};

/** Each class extends the one before it. An operation is a method of the first that has it. */
const METHODS: readonly Methods[] = [
  { file: "reads", name: "Reads", says: "what is read", has: ({ method }) => method === "GET" },
  {
    file: "changes",
    name: "Changes",
    says: "what makes, changes and removes records",
    has: ({ name }) => /^(create|upsert|update|set|archive|remove|revoke)[A-Z]/.test(name),
  },
  { file: "acts", name: "Acts", says: "what else can be done", has: () => true },
];

/** The texts by their paths in src/client. */
export function clientFiles(document: OpenApiDocument): Record<string, string> {
  const operations = operationsOf(document);
  const types = placedTypes(document, operations);
  return formatted({
    ...methodFiles(operations, types),
    "types.ts": entryText(types),
    ...Object.fromEntries(types.map((file) => [`types/${file.name}.ts`, typesText(file, types)])),
  });
}

function methodFiles(
  operations: readonly ClientOperation[],
  types: readonly TypesFile[],
): Record<string, string> {
  const classOf = (operation: ClientOperation) => METHODS.find(({ has }) => has(operation));
  const files = METHODS.map((each, i): [string, string] => {
    const own = operations.filter((operation) => classOf(operation) === each);
    return [`${each.file}.ts`, methodsText(each, METHODS[i - 1], own.map(methodOf), types)];
  });
  return Object.fromEntries(files);
}

function methodsText(
  { name, says }: Methods,
  base: Methods | undefined,
  methods: readonly string[],
  types: readonly TypesFile[],
): string {
  const text = methods.join("\n\n");
  const imports =
    base === undefined
      ? 'import { type CallOptions, Calls, path } from "./call.ts";'
      : `import { type CallOptions, path } from "./call.ts";
import { ${base.name} } from "./${base.file}.ts";`;
  return `${OPENING} ${says}. Do not edit.

${imports}
${importsOf(text, types, "./types/")}

export abstract class ${name} extends ${base?.name ?? "Calls"} {
${text}
}`;
}

function typesText(file: TypesFile, types: readonly TypesFile[]): string {
  const declarations = [...file.declarations.values()].join("\n\n");
  const others = types.filter((each) => each !== file);
  return `${OPENING} ${file.says}. Do not edit.

${importsOf(declarations, others, "./")}

${declarations}`;
}

/** All of them under one name, for those who import `dues/client/types`. */
function entryText(types: readonly TypesFile[]): string {
  const exported = types.map(({ name, declarations }) => {
    const names = [...declarations.keys()].sort().join(", ");
    return `export type { ${names} } from "./types/${name}.ts";`;
  });
  return `${OPENING} what \`dues/client/types\` offers. Do not edit.\n\n${exported.join("\n")}`;
}

function importsOf(text: string, types: readonly TypesFile[], folder: string): string {
  const used = namesIn(text);
  const lines = types.flatMap(({ name, declarations }) => {
    const names = used.filter((each) => declarations.has(each));
    return names.length === 0
      ? []
      : [`import type { ${names.join(", ")} } from "${folder}${name}.ts";`];
  });
  return lines.join("\n");
}

/** As the formatter of the project writes them. Starting it takes longer than its work: one run. */
function formatted(files: Readonly<Record<string, string>>): Record<string, string> {
  const args = ["format", "--log-level=error", "--stdin-file-path=src/client/types.ts"];
  const output = execFileSync(`${ROOT}node_modules/.bin/biome`, args, {
    input: Object.values(files).join("\n\n"),
    cwd: ROOT,
    encoding: "utf8",
  });
  const [, ...texts] = output.split(OPENING);
  const entries = Object.keys(files).map((path, i) => [path, `${OPENING}${texts[i]?.trimEnd()}\n`]);
  return Object.fromEntries(entries);
}
