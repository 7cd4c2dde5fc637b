// The law of imports: which folder may use which, and what no import may do.

import { posix } from "node:path";
import { type Fault, fault, type Node, type Source, walk } from "./files.ts";

/** Files of the root that both http and workers may use. */
const OF_BOTH = ["all-read", "api-activity", "built", "clock", "config", "context", "telemetry"];

/** What stands left of a folder. `errors` and `ids` may be used by all. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  schema: [],
  domain: ["schema"],
  store: ["domain", "schema", "built"],
  operations: ["store", "domain", "schema"],
  pages: ["domain", "schema"],
  http: ["operations", "pages", "store", "domain", "schema", ...OF_BOTH, "version"],
  workers: ["operations", "store", "domain", "schema", ...OF_BOTH, "log"],
  client: ["clock"],
  cli: ["client", "domain", "schema", "built", "clock", "config", "drafts", "version"],
  doctor: ["store", "domain", "schema", "config", "key-file", "version"],
  embedded: [],
  errors: [],
  ids: ["clock"],
  "api-activity": ["clock"],
  clock: [],
  config: [],
  drafts: [],
  "key-file": ["config"],
  log: ["config"],
  "all-read": [],
  telemetry: [],
  built: [],
  version: ["built"],
  context: ["api-activity", "clock", "config", "store"],
};

const BY_ALL = ["errors", "ids"];

/** The commands that are the service itself and not its client. */
const SERVER_COMMANDS = /^src\/cli\/commands\/(server|cluster|backup|organizations|doctor)\.ts$/;

/** Wires everything together, so it may import everything but what calls it. */
const SERVICE = "service";
const CALLS_THE_SERVICE = ["cli", "client"];

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

function usableBy(folder: string): readonly string[] {
  if (folder !== SERVICE) return FOLDERS[folder] ?? [];
  return Object.keys(FOLDERS).filter((each) => !CALLS_THE_SERVICE.includes(each));
}

export function lawFaults(source: Source): Fault[] {
  const folder = folderOf(source.path);
  if (folder === undefined) return [];
  const allowed = [folder, ...BY_ALL, ...usableBy(folder)];
  return importsOf(source).flatMap(({ from, at }) => {
    const target = targetOf(source, from);
    const wanted = target === undefined ? undefined : folderOf(target);
    if (wanted === undefined || allowed.includes(wanted)) return [];
    if (SERVER_COMMANDS.test(source.path) && wanted === SERVICE) return [];
    const may = allowed.slice(1).join(", ");
    return [
      fault(source, at, `${folder} may import ${may}; ${from} is ${wanted}. Move one of them.`),
    ];
  });
}

/** What of the file system changes nothing. */
const READS = [
  ...["accessSync", "closeSync", "constants", "createReadStream", "existsSync", "fstatSync"],
  ...["openSync", "readFileSync", "readSync", "realpathSync", "statSync"],
];

const CLI_WRITER = "src/cli/terminal/files.ts";

/** Commands write files whole or line by line, through one file that does both well. */
export function fileWriteFaults(source: Source): Fault[] {
  if (folderOf(source.path) !== "cli" || source.path === CLI_WRITER) return [];
  return importsOf(source).flatMap(({ from, at, names = ["all of it"] }) => {
    if (!/^(node:)?fs(\/promises)?$/.test(from)) return [];
    const writes = names.filter((name) => !READS.includes(name));
    if (writes.length === 0) return [];
    return [fault(source, at, `${writes.join(", ")}: writeWhole or Journal of ${CLI_WRITER}.`)];
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
  return ringsOf(edges).map((ring) => `${ring.join(" -> ")}: break the ring.`);
}

function ringsOf(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const done = new Set<string>();
  const rings: string[][] = [];
  const visit = (place: string, trail: readonly string[]): void => {
    const start = trail.indexOf(place);
    if (start >= 0) {
      rings.push([...trail.slice(start), place]);
      return;
    }
    if (done.has(place)) return;
    for (const next of edges.get(place) ?? []) visit(next, [...trail, place]);
    done.add(place);
  };
  for (const place of edges.keys()) visit(place, []);
  return rings;
}

/** `src/store/money/ledger.ts` is in the room `store/money`; what is a layer's own is in none. */
export function roomOf(path: string): string | undefined {
  const [, layer, room] = /^src\/([\w-]+)\/([\w-]+)\//.exec(path) ?? [];
  return layer && room && `${layer}/${room}`;
}

/** Rooms of a layer that import one another, be it by way of others; each ring told once. */
export function roomFaults(sources: readonly Source[]): Fault[] {
  const arrows = new Map<string, Map<string, string>>();
  for (const source of sources) {
    const room = roomOf(source.path);
    if (room === undefined) continue;
    for (const { from } of importsOf(source)) {
      const target = targetOf(source, from) ?? "";
      const other = roomOf(target);
      if (other === undefined || other === room || folderOf(target) !== folderOf(source.path)) {
        continue;
      }
      const known = arrows.get(room) ?? new Map<string, string>();
      arrows.set(room, known.set(other, `${source.path} imports ${target}`));
    }
  }
  return ringsOf(new Map([...arrows].map(([room, others]) => [room, [...others.keys()]]))).map(
    (ring) => {
      const steps = ring.slice(1).map((room, i) => arrows.get(ring[i] ?? "")?.get(room));
      return `${ring.join(" -> ")}: ${steps.join("; ")}. Move what both need to the lower one.`;
    },
  );
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
