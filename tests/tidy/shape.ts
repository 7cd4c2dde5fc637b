// The shape of files: how they open, how wide and how long they are, what they may not say.

import {
  type Fault,
  fault,
  lineAt,
  type Node,
  nameOf,
  type Source,
  textOf,
  walk,
} from "./files.ts";

const WIDTH_MAX = 100;
const STRING_LONG = 30;
const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

export function openingFaults(source: Source): Fault[] {
  const text = source.text.replace(/^#!.*\n/, "");
  if (/^(\/\/|\/\*\*)/.test(text)) return [];
  return [`${source.path}:1: open the file with a sentence: what it owns, and what it does not.`];
}

/** A line that is long because of a string in it is left to its author. */
export function widthFaults(source: Source): Fault[] {
  const strings: [number, number][] = [];
  walk(source, (node) => {
    if (textOf(node) !== undefined || (node.type === "Literal" && "regex" in node)) {
      strings.push([node.start, node.end]);
    }
  });
  let start = 0;
  return source.text.split("\n").flatMap((line) => {
    const from = start;
    const to = start + line.length;
    start = to + 1;
    const quoted = strings.map(([first, last]) => Math.min(last, to) - Math.max(first, from));
    if (line.length <= WIDTH_MAX || quoted.some((length) => length >= STRING_LONG)) return [];
    return [fault(source, from, `${line.length} characters wide; break the line at ${WIDTH_MAX}.`)];
  });
}

export function fileLengthFaults(source: Source): Fault[] {
  const lines = source.text.split("\n").length - 1;
  if (lines <= FILE_LINES_MAX) return [];
  return [`${source.path}: ${lines} lines of ${FILE_LINES_MAX}. Look for the two things in it.`];
}

const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

/** `known` is a ratchet: the functions that were longer before, which may only become shorter. */
export function functionLengthFaults(
  source: Source,
  known: Readonly<Record<string, number>>,
): Fault[] {
  const faults: Fault[] = [];
  walk(source, (node, around) => {
    if (!FUNCTION.test(node.type)) return;
    const lines = lineAt(source.text, node.end) - lineAt(source.text, node.start) + 1;
    const name = functionName(node, around);
    const max = known[`${source.path} ${name}`] ?? FUNCTION_LINES_MAX;
    if (lines <= max) return;
    faults.push(
      fault(source, node.start, `${name} has ${lines} lines of ${max}. Take a step out of it.`),
    );
  });
  return faults;
}

function functionName(node: Node, around: readonly Node[]): string {
  const holder = around.at(-1);
  return nameOf(node.id) || nameOf(holder?.id) || nameOf(holder?.key) || "a function";
}

export function leftoverFaults(source: { path: string; text: string }): Fault[] {
  return [...source.text.matchAll(/\b(TODO|FIXME)\b/g)].map(({ 0: word, index }) =>
    fault(source, index, `${word}: do it now, or write down in prose why not.`),
  );
}

/** Folders of somebody's own machine. */
const MACHINE = /(?<![\w.~/-])\/(?:home|Users|root|work|mnt)\/[\w.-]+/g;

export function machinePathFaults(source: { path: string; text: string }): Fault[] {
  return [...source.text.matchAll(MACHINE)].map(({ 0: path, index }) =>
    fault(source, index, `${path} exists on one machine only.`),
  );
}

/** One name, one guarantee: in a report two tests of one name cannot be told apart. */
export function testNameFaults(source: Source): Fault[] {
  const seen = new Set<string>();
  const faults: Fault[] = [];
  walk(source, (node, around) => {
    const title = titleOf(node, /^(test|it)(\.|$)/);
    if (title === undefined) return;
    const groups = around.flatMap((each) => titleOf(each, /^describe(\.|$)/) ?? []);
    const name = [...groups, title].join(" > ");
    if (seen.has(name)) faults.push(fault(source, node.start, `a second test named "${name}".`));
    seen.add(name);
  });
  return faults;
}

function titleOf(node: Node, caller: RegExp): string | undefined {
  if (node.type !== "CallExpression") return undefined;
  const callee = node.callee as Node;
  // `test.each(table)("name", …)` and `` test.each`table`("name", …) ``
  const inner = (callee.callee ?? callee.tag ?? callee) as Node;
  const [first] = node.arguments as Node[];
  return caller.test(nameOf(inner)) && first ? textOf(first) : undefined;
}

export function markdownFaults(source: { path: string; text: string }): Fault[] {
  const prose = source.text.replace(/^```[\s\S]*?^```/gm, "");
  const titles = prose.match(/^# .+$/gm)?.length ?? 0;
  if (source.text.startsWith("# ") && titles === 1) return [];
  return [`${source.path}:1: open with one "# Title", and have no second one (${titles} found).`];
}

/** The test of a file is found by its path: `tests/http/json.test.ts` is of `src/http/json.ts`. */
export function testPathFaults(files: readonly string[]): Fault[] {
  const present = new Set(files);
  const rooms = new Set(files.flatMap((path) => /^src\/([\w-]+)\//.exec(path)?.[1] ?? []));
  return files.flatMap((path) => {
    const [, room = "", folders = "", name] =
      /^tests\/([\w-]+)\/((?:[\w-]+\/)*)([\w-]+)(?:\.[\w-]+)*\.(?:test|deep)\.ts$/.exec(path) ?? [];
    const tested = `src/${room}/${folders}${name}.ts`;
    if (!rooms.has(room) || present.has(tested)) return [];
    return [`${path}: there is no ${tested}. Name it by the file it tests, then by what about it.`];
  });
}
