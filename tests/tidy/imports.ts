// The law of imports: which folder may use which, and what no import may do.

import { posix } from "node:path";
import { type Fault, fault, type Node, type Source, walk } from "./files.ts";

/** Files of the root that both http and workers may use. */
const OF_BOTH = ["all-read", "api-activity", "clock", "config", "context", "telemetry"];

/** What stands left of a folder. `errors` and `ids` may be used by all. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  schema: [],
  domain: ["schema"],
  store: ["domain", "schema"],
  operations: ["store", "domain", "schema"],
  pages: ["domain", "schema"],
  http: ["operations", "pages", "store", "domain", "schema", ...OF_BOTH, "version"],
  workers: ["operations", "store", "domain", "schema", ...OF_BOTH, "log"],
  client: ["clock"],
  cli: ["client", "domain", "schema", "clock", "config", "version"],
  doctor: ["store", "config", "key-file"],
  embedded: [],
  errors: [],
  ids: ["clock"],
  "api-activity": ["clock"],
  clock: [],
  config: [],
  "key-file": ["config"],
  log: ["config"],
  "all-read": [],
  telemetry: [],
  version: [],
  context: ["api-activity", "clock", "config", "store"],
  // Wires an operator's work on a whole database, with what `main` opens.
  backups: ["main", "store", "embedded", "config", "key-file"],
};

const BY_ALL = ["errors", "ids"];

/** The commands that are the service itself and not its client. */
const SERVER_COMMANDS =
  /^src\/cli\/(main|(server|cluster|backup|organization)-commands|doctor-command)\.ts$/;
const OF_THE_SERVICE = ["main", "backups", "key-file"];

export type Import = {
  readonly from: string;
  readonly at: number;
  readonly wholesale: boolean;
  /** What is imported by name; undefined where that cannot be told, as for a whole module. */
  readonly names: readonly string[] | undefined;
};

/** Every import of a file, however it is written: also types, dynamic ones and re-exports. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  walk(source, (node) => {
    const target = (node.source ?? node.argument) as Node | undefined;
    const imports = /^(ImportDeclaration|ExportNamedDeclaration|ExportAllDeclaration)$/;
    if (!imports.test(node.type) && !/^(ImportExpression|TSImportType)$/.test(node.type)) return;
    const literal = target?.type === "TSLiteralType" ? (target.literal as Node) : target;
    if (typeof literal?.value !== "string") return;
    const wholesale = node.type === "ExportAllDeclaration";
    found.push({ from: literal.value, at: node.start, wholesale, names: namesIn(node) });
  });
  return found;
}

function namesIn(node: Node): string[] | undefined {
  const specifiers = node.specifiers as readonly Node[] | undefined;
  const names = specifiers?.map(({ imported, local }) => ((imported ?? local) as Node).name);
  const isPlain = specifiers?.every(({ type }) => /^(Import|Export)Specifier$/.test(type));
  return isPlain ? names?.map(String) : undefined;
}

/** `src/http/routes/keys.ts` is of http; `src/clock.ts` counts as a folder of its own. */
export function folderOf(path: string): string | undefined {
  return /^src\/(?:([\w-]+)\/.*|([\w-]+)\.ts)$/.exec(path)?.slice(1).find(Boolean);
}

export function targetOf(source: Source, from: string): string | undefined {
  return from.startsWith(".") ? posix.join(posix.dirname(source.path), from) : undefined;
}

export function lawFaults(source: Source): Fault[] {
  const folder = folderOf(source.path);
  if (folder === undefined || folder === "main") return [];
  const allowed = [folder, ...BY_ALL, ...(FOLDERS[folder] ?? [])];
  return importsOf(source).flatMap(({ from, at }) => {
    const target = targetOf(source, from);
    const wanted = target === undefined ? undefined : folderOf(target);
    if (wanted === undefined || allowed.includes(wanted)) return [];
    if (SERVER_COMMANDS.test(source.path) && OF_THE_SERVICE.includes(wanted)) return [];
    const may = allowed.slice(1).join(", ");
    return [
      fault(source, at, `${folder} may import ${may}; ${from} is ${wanted}. Move one of them.`),
    ];
  });
}

/** What the pure folders may take from packages: all of them, or only the names that compute. */
const PURE: Readonly<Record<string, Readonly<Record<string, "all" | readonly string[]>>>> = {
  schema: { typebox: "all" },
  domain: {
    "node:crypto": "all",
    "node:net": ["BlockList", "isIP", "isIPv4", "isIPv6", "SocketAddress"],
  },
};

/** Rules know nothing of the world: no package, and of Node only what computes. */
export function purityFaults(source: Source): Fault[] {
  const folder = folderOf(source.path) ?? "";
  const pure = PURE[folder];
  if (pure === undefined) return [];
  return importsOf(source).flatMap(({ from, at, names }) => {
    const allowed = from.startsWith(".") ? "all" : (pure[from] ?? []);
    const isNamed = names !== undefined && names.length > 0;
    if (allowed === "all" || (isNamed && names.every((name) => allowed.includes(name)))) return [];
    return [
      fault(source, at, `${folder} is pure: do what needs ${from} in store, http, cli or workers.`),
    ];
  });
}

export function specifierFaults(source: Source): Fault[] {
  return importsOf(source).flatMap(({ from, at, wholesale }) => {
    if (wholesale) return [fault(source, at, "no barrels: import from the file that has it.")];
    if (!from.startsWith(".") || /\.(ts|js|json)$/.test(from)) return [];
    return [fault(source, at, `write the extension: "${from}.ts".`)];
  });
}

/** Files that import one another in a ring, each ring told once. */
export function cycleFaults(sources: readonly Source[]): Fault[] {
  const edges = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source).flatMap(({ from }) => targetOf(source, from) ?? []),
    ]),
  );
  const done = new Set<string>();
  const faults: Fault[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      faults.push(`${[...trail.slice(start), path].join(" -> ")}: break the ring.`);
      return;
    }
    if (done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return faults;
}

/** Files of src that nothing imports, entry points excepted. */
export function deadFileFaults(sources: readonly Source[], entries: readonly string[]): Fault[] {
  const used = new Set(entries);
  for (const source of sources) {
    for (const { from } of importsOf(source)) used.add(targetOf(source, from) ?? "");
  }
  return sources
    .filter(({ path }) => path.startsWith("src/") && !used.has(path))
    .map(({ path }) => `${path}: nothing imports it. Remove it, or use it.`);
}
