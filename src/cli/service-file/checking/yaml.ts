// Reads YAML from an untrusted file: size and depth are limited before it is parsed, and the line
// of every value is known. What the values mean is checked in file.ts.

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
  type Scalar,
  visit,
} from "yaml";

/** Room for dozens of plans with a hundred charges and their tiers, as dues export writes them. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024;
/** Objects of one's own may have as many levels as a request, and stand deep in the file. */
const DEPTH_MAX = 40;
/** In one map: metadata, which is the longest, has 16 KiB of JSON. */
const KEYS_MAX = 5_000;
/** In one list: more than the schema allows plans, as many as metadata can hold. */
const ENTRIES_MAX = 8_192;
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
    const message = `The file is larger than ${FILE_BYTES_MAX} bytes (4 MiB).`;
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
    // Sets, ordered maps and bytes are no JSON: they would be kept as something else.
    resolveKnownTags: false,
    // Looked for below: the library compares each key with all before it, and took 10 s for 20,000.
    uniqueKeys: false,
    prettyErrors: false,
    // "silent" would also hide the error about a second document.
    logLevel: "error",
  });
  const faults = [...document.errors, ...document.warnings].slice(0, FAULTS_MAX).map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { line, column: col, field: "", ...faultMessage(error.code, error.message) };
  });
  if (faults.length > 0) return faults;
  const index = new KeyIndex();
  const odd = oddKeys(document.contents as Node | null).map((key) => {
    const { line, col } = lines.linePos(key?.range?.[0] ?? 0);
    const hint = "Write it as plain text, or with quotes.";
    return { line, column: col, field: "", message: "This is no plain text as a key.", hint };
  });
  if (odd.length > 0) return odd;
  const twice = repeatedKeys(document.contents as Node | null, index).map((key) => {
    const { line, col } = lines.linePos(key.range?.[0] ?? 0);
    return {
      line,
      column: col,
      field: "",
      message: `The key ${String(key.value)} is there twice.`,
    };
  });
  if (twice.length > 0) return twice;
  return parsed(document, lines, index);
}

type MapPair = Pair<Node, Node | null>;

/** The pairs of a map by their keys, as text: made once for each map that is looked into. */
class KeyIndex {
  readonly #pairs = new WeakMap<object, Map<string, MapPair>>();

  of(map: { readonly items: readonly unknown[] }): Map<string, MapPair> {
    const known = this.#pairs.get(map);
    if (known !== undefined) return known;
    const pairs = new Map<string, MapPair>();
    for (const pair of map.items as readonly MapPair[]) {
      if (!isScalar(pair.key)) continue;
      const key = String(pair.key.value);
      if (!pairs.has(key)) pairs.set(key, pair);
    }
    this.#pairs.set(map, pairs);
    return pairs;
  }
}

/** Keys that would be kept as other text than is written: lists, maps, nothing, 1.0. */
function oddKeys(whole: Node | null): (Node | null)[] {
  const found: (Node | null)[] = [];
  visit(whole, {
    Map(_key, map) {
      for (const { key } of map.items as readonly Pair<Node | null, Node | null>[]) {
        const isText = isScalar(key) && (isString(key) || String(key.value) === key.source);
        if (isText) continue;
        found.push(key);
        if (found.length >= FAULTS_MAX) return visit.BREAK;
      }
      return undefined;
    },
  });
  return found;
}

function isString({ value }: Scalar): boolean {
  return typeof value === "string";
}

/** Keys of one map that are there before, in the order of the file; not more than are told. */
function repeatedKeys(whole: Node | null, index: KeyIndex): Scalar[] {
  const found: Scalar[] = [];
  visit(whole, {
    Map(_key, map) {
      const first = index.of(map);
      for (const pair of map.items as readonly MapPair[]) {
        if (!isScalar(pair.key) || first.get(String(pair.key.value)) === pair) continue;
        found.push(pair.key);
        if (found.length >= FAULTS_MAX) return visit.BREAK;
      }
      return undefined;
    },
  });
  return found.toSorted((a, b) => (a.range?.[0] ?? 0) - (b.range?.[0] ?? 0));
}

function faultMessage(code: string, message: string): { message: string; hint?: string } {
  if (code === "MULTIPLE_DOCS") return { message: "The file holds more than one document." };
  if (code === "TAG_RESOLVE_FAILED") {
    return { message: "Tags of one's own are not read here.", hint: "Write the value without it." };
  }
  if (code === "TAB_AS_INDENT") return { message: "A tab cannot indent.", hint: "Use spaces." };
  return { message: `This is not valid YAML: ${message.replace(/\s+/g, " ")}` };
}

/**
 * Refuses deep nesting, aliases and endless blocks from the tokens alone, before anything is built
 * of them: they let a small file take memory or time without bound.
 */
function scan(text: string): Fault | undefined {
  let [offset, line, lineStart] = [0, 1, 0];
  let [scalar, fresh] = [false, true];
  const blocks: Block[] = [];
  const flows: Block[] = [];
  for (const token of new Lexer().lex(text)) {
    const type = scalar ? "text" : CST.tokenType(token);
    scalar = type === "scalar";
    if (type === "scalar" || type === "doc-mode" || type === "flow-error-end") continue;
    const column = offset - lineStart + 1;
    if (type === "alias" || type === "anchor") {
      const message = "Anchors and aliases are not read here.";
      return { line, column, field: "", message, hint: "Write the value out in each place." };
    }
    if (type === "flow-seq-start" || type === "flow-map-start") flows.push(opened(column));
    else if (type === "flow-seq-end" || type === "flow-map-end") flows.pop();
    else if (flows.length === 0 && type !== "space" && type !== "newline" && type !== "comment") {
      const indicator = type === "seq-item-ind" || type === "explicit-key-ind";
      if (fresh || indicator) nest(blocks, column);
      fresh = indicator;
    }
    const message = excess(type, blocks, flows);
    if (message !== undefined) return { line, column, field: "", message };
    for (let i = token.indexOf("\n"); i >= 0; i = token.indexOf("\n", i + 1)) {
      line++;
      lineStart = offset + i + 1;
      fresh = true;
    }
    offset += token.length;
  }
  return undefined;
}

/** An open map or list: where it began, and how many keys and entries it has so far. */
type Block = { readonly column: number; keys: number; entries: number };

function opened(column: number): Block {
  return { column, keys: 0, entries: 0 };
}

/** What is too much once this token is counted. */
function excess(type: string | null, blocks: readonly Block[], flows: readonly Block[]) {
  if (flows.length + blocks.length > DEPTH_MAX + 1) {
    return `The file nests more than ${DEPTH_MAX} levels deep.`;
  }
  const inner = flows.at(-1) ?? blocks.at(-1);
  if (inner !== undefined && type === "map-value-ind") {
    inner.keys += 1;
    // A list may begin in the column of its key: the next key ends it.
    inner.entries = 0;
    if (inner.keys > KEYS_MAX) return `There are more than ${KEYS_MAX} keys in one block.`;
  }
  if (inner !== undefined && type === "seq-item-ind") {
    inner.entries += 1;
    if (inner.entries > ENTRIES_MAX) return `A list has more than ${ENTRIES_MAX} entries.`;
  }
  return undefined;
}

/** A token further left closes the blocks right of it. */
function nest(blocks: Block[], column: number): void {
  while ((blocks.at(-1)?.column ?? 0) > column) blocks.pop();
  if ((blocks.at(-1)?.column ?? 0) < column) blocks.push(opened(column));
}

function parsed(document: Document, lines: LineCounter, index: KeyIndex): Parsed {
  const whole = document.contents as Node | null;
  const place = (node: Node | null | undefined) => {
    const { line, col } = lines.linePos(node?.range?.[0] ?? 0);
    return { line, column: col };
  };
  return {
    value: document.toJS({ maxAliasCount: 0 }),
    at(path, part = "value") {
      const { node, key } = find(whole, path, index);
      return place(part === "key" ? (key ?? node) : (node ?? key));
    },
    sourceOf(path) {
      const { node } = find(whole, path, index);
      return isScalar(node) ? node.source : undefined;
    },
  };
}

/** The node at a path, or the last one on the way to it. */
function find(
  whole: Node | null,
  path: Path,
  index: KeyIndex,
): { node: Node | null; key: Node | null } {
  let node = whole;
  let key: Node | null = null;
  for (const step of path) {
    if (isMap(node)) {
      const pair = index.of(node).get(String(step));
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
