// Calls that are banned, and what to use instead.

import { type Fault, fault, type Node, nameOf, type Source, walk } from "./files.ts";

type Ban = {
  readonly what: (node: Node) => boolean;
  readonly allowed: (path: string) => boolean;
  readonly instead: string;
};

/** Beyond it a pause is no poll but a guess of how long something takes. */
const POLL_MS_MAX = 20;

const inSource = (path: string) => path.startsWith("src/");

const BANS: readonly Ban[] = [
  {
    what: (node) => nameOf(node) === "Date.now",
    allowed: (path) => !inSource(path) || path === "src/clock.ts",
    instead: "Date.now: take `now` as a parameter; in http, cli and workers, ask clock.ts.",
  },
  {
    what: (node) =>
      /^(NewExpression|CallExpression)$/.test(node.type) &&
      nameOf(node.callee) === "Date" &&
      (node.arguments as unknown[]).length === 0,
    allowed: (path) => !inSource(path) || path === "src/clock.ts",
    instead: "new Date(): take `now` as a parameter; in http, cli and workers, ask clock.ts.",
  },
  {
    what: (node) => ["parseFloat", "Number.parseFloat"].includes(nameOf(node)),
    allowed: () => false,
    instead: "parseFloat: parseDecimal of domain/decimal.ts keeps every digit.",
  },
  {
    what: (node) => node.type === "MemberExpression" && nameOf(node.property) === "toFixed",
    allowed: () => false,
    instead: "toFixed: formatDecimal of domain/decimal.ts, or integers.",
  },
  {
    what: (node) => nameOf(node) === "process.env",
    allowed: (path) => !inSource(path) || path === "src/config.ts",
    instead: "process.env: config.ts is the only reader; add a setting there.",
  },
  {
    what: (node) => node.type === "MemberExpression" && nameOf(node.object) === "console",
    allowed: (path) => !inSource(path) || /^src\/cli\//.test(path),
    instead: "console: context.log, so that an operator gets JSON lines.",
  },
  {
    what: isPlace,
    allowed: (path) => !inSource(path) || path === "src/built.ts",
    instead: "import.meta: a build moves the file; built.ts says where what is beside it is.",
  },
  {
    what: isBarePause,
    allowed: (path) => !path.startsWith("tests/"),
    instead:
      "a fixed pause: wait for what is to happen, with until or expect.poll. Where nothing is to " +
      "happen for a while, or a state is held, the time is a constant that says so.",
  },
];

/** `import.meta.dirname` and `new URL(x, import.meta.url)`; packages are found from anywhere. */
function isPlace(node: Node): boolean {
  const isMeta = ({ type, object, property }: Node, name: RegExp) =>
    type === "MemberExpression" &&
    (object as Node).type === "MetaProperty" &&
    name.test(nameOf(property));
  if (node.type !== "NewExpression") return isMeta(node, /^(dirname|filename)$/);
  return (node.arguments as readonly Node[]).some((each) => isMeta(each, /^url$/));
}

/** `pause(500)` and `setTimeout(resolve, 500)`: a time without a name. */
function isBarePause(node: Node): boolean {
  if (node.type !== "CallExpression") return false;
  const isPause = ["pause", "delay", "sleep", "setTimeout"].includes(nameOf(node.callee));
  const times = (node.arguments as readonly Node[]).map(({ value }) => value);
  return isPause && times.some((time) => typeof time === "number" && time > POLL_MS_MAX);
}

export function bannedCallFaults(source: Source): Fault[] {
  const bans = BANS.filter(({ allowed }) => !allowed(source.path));
  const faults = new Set<Fault>();
  walk(source, (node) => {
    for (const { what, instead } of bans) {
      if (what(node)) faults.add(fault(source, node.start, instead));
    }
  });
  return [...faults];
}
