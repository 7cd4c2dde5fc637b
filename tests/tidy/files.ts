// The project's files as the law looks at them: text, syntax tree, comments, and where a fault is.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export type Node = { readonly type: string; readonly start: number; readonly end: number } & {
  readonly [field: string]: unknown;
};

export type Source = {
  /** From the root of the project, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  readonly comments: readonly {
    readonly value: string;
    readonly start: number;
    readonly end: number;
  }[];
};

/** A place and what to do about it. */
export type Fault = string;

export function fault(source: { path: string; text: string }, at: number, advice: string): Fault {
  return `${source.path}:${lineAt(source.text, at)}: ${advice}`;
}

export function lineAt(text: string, at: number): number {
  let line = 1;
  for (let i = text.indexOf("\n"); i >= 0 && i < at; i = text.indexOf("\n", i + 1)) line++;
  return line;
}

export function sourceOf(path: string, text: string): Source {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  return { path, text, program: program as unknown as Node, comments };
}

/** Calls `visit` with every node and the nodes around it, outermost first. */
export function walk(source: Source, visit: (node: Node, around: readonly Node[]) => void): void {
  const around: Node[] = [];
  const step = (value: object): void => {
    if (Array.isArray(value)) {
      for (const each of value) if (typeof each === "object" && each !== null) step(each);
      return;
    }
    const node = value as Node;
    if (node.type === undefined) return;
    visit(node, around);
    around.push(node);
    // Every test of the law comes through here for every node: a list of the fields takes time.
    for (const field in node) {
      const inner = node[field];
      if (typeof inner === "object" && inner !== null) step(inner);
    }
    around.pop();
  };
  step(source.program);
}

/** `Date.now` of `Date.now()`, `sql` of a tag: names joined by dots, else "". */
export function nameOf(node: unknown): string {
  const { type, name, object, property, computed } = (node ?? {}) as Record<string, unknown>;
  if (type === "Identifier") return String(name);
  if (type !== "MemberExpression" || computed === true) return "";
  return `${nameOf(object)}.${nameOf(property)}`;
}

/** Stands in a template's text for what is put in. */
export const HOLE = "$?";

/** The text of a string or of a template. */
export function textOf(node: Node): string | undefined {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type !== "TemplateLiteral") return undefined;
  const quasis = node.quasis as { value: { cooked: string | null; raw: string } }[];
  return quasis.map(({ value }) => value.cooked ?? value.raw).join(HOLE);
}

/** Every file that belongs to the project: all that `.gitignore` does not leave out. */
export function projectFiles(): string[] {
  const ignored = readFileSync(join(ROOT, ".gitignore"), "utf8").split("\n").filter(Boolean);
  const patterns = [".git/", ...ignored].map(patternOf);
  const found: string[] = [];
  const enter = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const full = join(folder, entry.name);
      const path = relative(ROOT, full).replaceAll("\\", "/") + (entry.isDirectory() ? "/" : "");
      if (patterns.some((pattern) => pattern.test(path))) continue;
      if (entry.isDirectory()) enter(full);
      else if (entry.isFile()) found.push(path);
    }
  };
  enter(ROOT);
  return found.sort();
}

function patternOf(line: string): RegExp {
  const text = line.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", "[^/]*");
  const whole = text.endsWith("/") ? text : `${text}/?`;
  return new RegExp(whole.startsWith("/") ? `^${whole.slice(1)}` : `(^|/)${whole}$`);
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

export function sizeOf(path: string): number {
  return statSync(join(ROOT, path)).size;
}
