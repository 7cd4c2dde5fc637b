// The pieces of SQL as they stand in the source text of src/store, to prove that every one of them
// was part of a statement that was looked at.

import {
  lineAt,
  type Node,
  nameOf,
  projectFiles,
  readText,
  type Source,
  sourceOf,
  textOf,
  walk,
} from "../../tidy/files.ts";
import type { Sent } from "./collect.ts";

export type Piece = {
  readonly place: string;
  readonly file: string;
  /** The function that it stands in, when that is one that is called by name. */
  readonly owner: string | undefined;
  /** What stands between the values and pieces that are put in. */
  readonly texts: readonly string[];
};

export function storeSources(): Source[] {
  return projectFiles()
    .filter((path) => /^src\/store\/[\w-]+\/[\w-]+\.ts$/.test(path))
    .map((path) => sourceOf(path, readText(path)));
}

export function piecesOf(source: Source): Piece[] {
  const pieces: Piece[] = [];
  walk(source, (node, around) => {
    if (node.type !== "TaggedTemplateExpression" || nameOf(node.tag) !== "sql") return;
    const { quasis } = node.quasi as { quasis: { value: { cooked: string } }[] };
    pieces.push({
      place: `${source.path}:${lineAt(source.text, node.start)}`,
      file: source.path,
      owner: exportedName(around),
      texts: quasis.map(({ value }) => value.cooked.trim()).filter((text) => text !== ""),
    });
  });
  return pieces;
}

function exportedName(around: readonly Node[]): string | undefined {
  const [, exported, declared] = around;
  if (exported?.type !== "ExportNamedDeclaration") return undefined;
  return declared?.type === "FunctionDeclaration" ? nameOf(declared.id) : undefined;
}

/** A piece of a called function must be in what that function sent, any other in any statement. */
export function unsentPieces(pieces: readonly Piece[], sent: readonly Sent[]): string[] {
  const called = new Set(sent.map(({ file, sender }) => `${file} ${sender}`));
  return pieces.flatMap(({ place, file, owner, texts }) => {
    const own = owner !== undefined && called.has(`${file} ${owner}`);
    const where = own ? sent.filter((one) => one.file === file && one.sender === owner) : sent;
    if (where.some(({ text }) => inOrder(text, texts))) return [];
    return [`${place}: no call sent this: ${texts.join(" … ").replace(/\s+/g, " ").slice(0, 80)}`];
  });
}

function inOrder(text: string, parts: readonly string[]): boolean {
  let at = 0;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

const FIXED = /^\s*(select|insert|update|delete|with)\s/i;

/** Statements that are sent as plain strings, on connections of their own. */
export function fixedStatements(source: Source): Sent[] {
  const found: Sent[] = [];
  walk(source, (node, around) => {
    const text = textOf(node);
    const call = around.at(-1);
    if (text === undefined || call?.type !== "CallExpression") return;
    if (!/\.query$/.test(nameOf(call.callee)) || !FIXED.test(text)) return;
    found.push({ file: source.path, sender: "a connection of its own", text, values: [] });
  });
  return found;
}
