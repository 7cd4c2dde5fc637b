// Reads YAML from an untrusted file: size and depth are limited before it is parsed, and the line
// of every value is known. What the values mean is checked in check-file.ts.

import {
  CST,
  type Document,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
} from "yaml";

export const FILE_BYTES_MAX = 1024 * 1024;
const DEPTH_MAX = 32;
const FAULTS_MAX = 20;

export type Path = readonly (string | number)[];

/** What is wrong, where, and what to write instead. */
export type Fault = {
  readonly line: number;
  readonly column: number;
  readonly field: string;
  readonly message: string;
  readonly hint?: string | undefined;
};

/** Parsed YAML and where each of its values stands. */
export type Parsed = {
  readonly value: unknown;
  at(path: Path, part?: "key" | "value"): { line: number; column: number };
  /** How a scalar is written, without quotes; undefined when it is no scalar. */
  sourceOf(path: Path): string | undefined;
};

export function readYaml(bytes: Uint8Array): Parsed | Fault[] {
  if (bytes.length > FILE_BYTES_MAX) {
    const message = `The file is larger than ${FILE_BYTES_MAX} bytes (1 MiB).`;
    return [{ line: 1, column: 1, field: "", message, hint: "Is this the right file?" }];
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return [{ line: 1, column: 1, field: "", message: "The file is not UTF-8 text." }];
  }
  const lines = new LineCounter();
  const early = scan(text);
  if (early !== undefined) return [early];
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: "core",
    version: "1.2",
    merge: false,
    uniqueKeys: true,
    prettyErrors: false,
    // "silent" would also hide the error about a second document.
    logLevel: "error",
  });
  const faults = [...document.errors, ...document.warnings].slice(0, FAULTS_MAX).map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    const word = /^["']?[\w.-]+/.exec(text.slice(error.pos[0]))?.[0] ?? "";
    return { line, column: col, field: "", ...wordsFor(error.code, error.message, word) };
  });
  if (faults.length > 0) return faults;
  return parsed(document, lines);
}

function wordsFor(code: string, message: string, word: string): { message: string; hint?: string } {
  if (code === "DUPLICATE_KEY") return { message: `The key ${word} is there twice.` };
  if (code === "MULTIPLE_DOCS") return { message: "The file holds more than one document." };
  if (code === "TAG_RESOLVE_FAILED") {
    return { message: "Tags of one's own are not read here.", hint: "Write the value without it." };
  }
  if (code === "TAB_AS_INDENT") return { message: "A tab cannot indent.", hint: "Use spaces." };
  return { message: `This is not valid YAML: ${message.replace(/\s+/g, " ")}` };
}

/**
 * Refuses deep nesting and aliases from the tokens alone, before anything is built of them: both
 * let a small file take memory without bound.
 */
function scan(text: string): Fault | undefined {
  let [offset, line, lineStart, flow] = [0, 1, 0, 0];
  let [scalar, fresh] = [false, true];
  const columns: number[] = [];
  for (const token of new Lexer().lex(text)) {
    const type = scalar ? "text" : CST.tokenType(token);
    scalar = type === "scalar";
    if (type === "scalar" || type === "doc-mode" || type === "flow-error-end") continue;
    const column = offset - lineStart + 1;
    if (type === "alias" || type === "anchor") {
      const message = "Anchors and aliases are not read here.";
      return { line, column, field: "", message, hint: "Write the value out in each place." };
    }
    if (type === "flow-seq-start" || type === "flow-map-start") flow++;
    else if (type === "flow-seq-end" || type === "flow-map-end") flow--;
    else if (flow === 0 && type !== "space" && type !== "newline" && type !== "comment") {
      const indicator = type === "seq-item-ind" || type === "explicit-key-ind";
      if (fresh || indicator) nest(columns, column);
      fresh = indicator;
    }
    if (flow + columns.length > DEPTH_MAX + 1) {
      const message = `The file nests more than ${DEPTH_MAX} levels deep.`;
      return { line, column, field: "", message };
    }
    for (let i = token.indexOf("\n"); i >= 0; i = token.indexOf("\n", i + 1)) {
      line++;
      lineStart = offset + i + 1;
      fresh = true;
    }
    offset += token.length;
  }
  return undefined;
}

/** `columns` are where open blocks began; a token further left closes those right of it. */
function nest(columns: number[], column: number): void {
  while ((columns.at(-1) ?? 0) > column) columns.pop();
  if ((columns.at(-1) ?? 0) < column) columns.push(column);
}

function parsed(document: Document, lines: LineCounter): Parsed {
  const whole = document.contents as Node | null;
  const place = (node: Node | null | undefined) => {
    const { line, col } = lines.linePos(node?.range?.[0] ?? 0);
    return { line, column: col };
  };
  return {
    value: document.toJS({ maxAliasCount: 0 }),
    at(path, part = "value") {
      const { node, key } = find(whole, path);
      return place(part === "key" ? (key ?? node) : (node ?? key));
    },
    sourceOf(path) {
      const { node } = find(whole, path);
      return isScalar(node) ? node.source : undefined;
    },
  };
}

/** The node at a path, or the last one on the way to it. */
function find(whole: Node | null, path: Path): { node: Node | null; key: Node | null } {
  let node = whole;
  let key: Node | null = null;
  for (const step of path) {
    if (isMap(node)) {
      const pair = (node.items as Pair<Node, Node | null>[]).find(
        (each) => isScalar(each.key) && String(each.key.value) === String(step),
      );
      if (pair === undefined) break;
      key = pair.key;
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(step)] as Node | undefined;
      if (item === undefined) break;
      node = item;
      key = null;
    } else break;
  }
  return { node, key };
}
