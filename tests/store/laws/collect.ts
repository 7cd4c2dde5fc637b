// Collects the statements that the store can send: calls every function that takes a database with
// made-up arguments, and a database that writes down what it is asked and makes up the answers.
// Values are made by name and chosen at random from a seed, so that all branches are taken.

import { join } from "node:path";
import type { ProjectId } from "../../../src/ids.ts";
import { ownChargesName } from "../../../src/store/catalog/price-overrides.ts";
import { matchesCustomer } from "../../../src/store/customers/customers.ts";
import { ALL_PROJECTS, onlyProjects } from "../../../src/store/db/project-filter.ts";
import { type Sql, sql } from "../../../src/store/db/sql.ts";
import { WORK } from "../../../src/store/work/projects-with-work.ts";
import { BILLING } from "../../../src/store/work/waiting.ts";
import { type Node, nameOf, ROOT, type Source } from "../../tidy/files.ts";

export type Sent = {
  readonly file: string;
  /** The function that was called. */
  readonly sender: string;
  readonly text: string;
  readonly values: readonly unknown[];
};

/** With 128 calls each a function with six choices of two has all of its statements sent. */
const CALLS = 128;
/** A function that asks for ever, because of the answers it gets, is stopped here. */
const STATEMENTS_MAX = 40;

export const PROJECT = "11111111-1111-4111-8111-111111111111" as ProjectId;
export const SOMEBODY = "22222222-2222-4222-8222-222222222222";
const DAY = "2026-03-04";
const AT = new Date("2026-03-04T05:06:07.089Z");

type Choose = <T>(options: readonly T[]) => T;

function chooser(seed: number): Choose {
  let state = seed * 2_654_435_761;
  return (options) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return options[(state >>> 8) % options.length] as (typeof options)[number];
  };
}

type Make = (choose: Choose) => unknown;

/** Names with values of their own, because a function looks at them. */
const NAMED: Readonly<Record<string, Make>> = {
  project: () => PROJECT,
  project_id: () => PROJECT,
  scope_id: () => PROJECT,
  ref: (choose) => choose([SOMEBODY, "ext:a", "cust_a1b2", "neither"]),
  number: (choose) => choose(["INV-2026-0001", "no number"]),
  mode: (choose) => choose(["shared", "alone", "sandbox"]),
  state: (choose) => choose(["billable", "unbillable", undefined]),
  type: (choose) => choose(["customer.updated", "plan.updated", "invoice.paid"]),
  unique_value: (choose) => choose([SOMEBODY, null]),
  got: () => [SOMEBODY],
  currencies: () => ["EUR"],
  retry_ms: (choose) => choose([null, 1_000]),
  after: (choose) => choose([undefined, ["7"], ["7", SOMEBODY], ["7", DAY, SOMEBODY]]),
  table: (choose) => choose(["billing_events", "webhook_messages"]),
  drops: (choose) => record("drops", choose),
  all: (choose) => choose([1, 3]),
  day: () => DAY,
  issued_from: () => DAY,
  issued_to: () => DAY,
  paid_from: () => DAY,
  paid_to: () => DAY,
  period_start: () => DAY,
  period_end: () => DAY,
  limit: (choose) => choose([1, 3, 200]),
  offset: (choose) => choose([0, 3]),
  customer: customerFilter,
  status: (choose) => choose([undefined, "running", "used_up", "ended", "failed"]),
  billing_error: (choose) => choose(["0", "1"]),
  priced_by: (choose) => choose([undefined, ownChargesName(PROJECT, "seat")]),
  search: (choose) => choose(["acme", "cust_abcd"]),
  resource_type: (choose) => choose(["invoice", "neither"]),
  slug: (choose) => choose([undefined, "slug"]),
  workspace: (choose) => choose([undefined, "workspace"]),
};

/** As the routes make it: by the customer's id, or by the caller's own. */
function customerFilter(choose: Choose): Sql | undefined {
  return choose([undefined, sql`customer_id = ${SOMEBODY}`, matchesCustomer(PROJECT, "ext:a")]);
}

const INSTANT = /^(at|from|to|since|until|before|end|now|paid_at|\w+_(at|until|start|next))$/;
const LIST = /(ids|codes|keys|events|scopes|labels|steps|endpoints|entries|locks|refs|charges)$/;
const NUMBER = /^(arrival|seq|version|position|year|last)$|(_no|_ms|_cents|_status)$/;
const AMOUNT = /^(limit|limit_each|total|each|max|attempt|tries)$/;
const FLAG =
  /^(groups_customers|portal_auto_invalidate|enabled|paused|late|live|billable|archived|count|ascending|created|locked)$/;
const BYTES = /(secret|hash|encrypted|secret_check)$/;

function named(name: string, choose: Choose): unknown {
  const make = NAMED[name];
  if (make !== undefined) return make(choose);
  if (INSTANT.test(name)) return AT;
  if (LIST.test(name)) return several(choose, () => SOMEBODY);
  if (NUMBER.test(name) || AMOUNT.test(name)) return choose([1, 3]);
  if (FLAG.test(name)) return choose([true, false]);
  if (BYTES.test(name)) return Buffer.from(name);
  return SOMEBODY;
}

function several<T>(choose: Choose, make: () => T): T[] {
  // Few rows and many may be sent in different forms.
  return Array.from({ length: choose([0, 1, 3, 6]) }, make);
}

/** Records whose fields a caller may leave out. */
const PARTIAL = /^(filter|change|request|options)$/;

const MOSTLY = [true, true, true, true, true, true, true, false];
const ALWAYS = /^(limit|offset)$/;

/** Has every field that it is asked for. */
function record(holder: string, choose: Choose): object {
  const fields = new Map<string, unknown>();
  // Callers give many filters at once, and often one alone.
  const few = choose([true, false]);
  return new Proxy(
    {},
    {
      get(_, field) {
        if (typeof field !== "string" || field === "then" || field === "toJSON") return undefined;
        if (!fields.has(field)) {
          const left_out = PARTIAL.test(holder) && choose(few ? MOSTLY : [true, false]);
          const value = named(field, choose);
          fields.set(field, left_out && !ALWAYS.test(field) ? undefined : value);
        }
        return fields.get(field);
      },
    },
  );
}

type Parameter = { readonly name: string; readonly type: string };

function argument({ name, type }: Parameter, choose: Choose): unknown {
  if (/^\(.*\) =>/s.test(type)) return () => several(choose, () => SOMEBODY);
  if (/^(readonly )?(string|ProjectId)\[\]$/.test(type)) return several(choose, () => SOMEBODY);
  if (/^(readonly )?number\[\]$/.test(type)) return several(choose, () => 7);
  if (/\[\]$/s.test(type)) return several(choose, () => record("row", choose));
  if (type === "Date") return AT;
  if (type === "Sql") return sql`true`;
  if (type === "number") return choose([1, 3]);
  if (type === "boolean") return choose([true, false]);
  if (type === "Buffer") return Buffer.from(name);
  if (type === "string" || type === "ProjectId" || /^"/.test(type)) return named(name, choose);
  if (type === "ProjectFilter") return choose([ALL_PROJECTS, onlyProjects([PROJECT])]);
  if (type === "Work") return choose(Object.keys(WORK));
  if (type === "BillingDuty") return choose(Object.keys(BILLING));
  if (name === "expected") return expected(choose);
  return record(name, choose);
}

/** What a write of usage counts on has maps, which no made-up record can be. */
function expected(choose: Choose): object {
  const versions = new Map([[SOMEBODY, "1"]]);
  const fields = { locks: [7], subscriptions: versions, metrics: versions };
  return { ...fields, closing_until: choose([null, AT]) };
}

/** Gives the same database, with the share of a node. */
const SHARED = /^(forProject|forEveryNode)$/;

/** Answers what it is asked with made-up rows. What it does not know runs the work it is given. */
function recordingDatabase(sent: Sql[], choose: Choose): object {
  const ask = (query: Sql) => {
    if (sent.length >= STATEMENTS_MAX) throw new Error("asks for ever");
    sent.push(query);
  };
  const row = () => record("row", choose);
  const answered =
    <T>(answer: () => T) =>
    async (query: Sql): Promise<T> => {
      ask(query);
      return answer();
    };
  const answers: Record<string, unknown> = {
    many: answered(() => several(choose, row)),
    alone: answered(() => several(choose, row)),
    maybeOne: answered(() => choose([row(), undefined])),
    one: answered(row),
    run: answered(() => choose([0, 1, 3])),
    // Asked for when the work is done, which here is the next turn.
    beforeCommit: (statements: () => readonly Sql[]) => {
      void Promise.resolve()
        .then(() => statements().forEach(ask))
        .catch(() => {});
    },
  };
  const database: object = new Proxy(answers, {
    get(_, name) {
      if (typeof name !== "string" || name === "then") return undefined;
      if (SHARED.test(name)) return () => database;
      return name in answers ? answers[name] : runsWork;
    },
  });
  const runsWork = async (...work: readonly unknown[]) => {
    const given = work.filter((one) => typeof one === "function");
    const results = given.map((one) => one(database));
    return results.at(-1);
  };
  return database;
}

type StoreFunction = { readonly name: string; readonly parameters: readonly Parameter[] };

const DATABASE = /^(Queryable|Tx|Db|Access)$/;

/** The exported functions that take a database, with the names and types of what they take. */
function storeFunctions(source: Source): StoreFunction[] {
  const { body } = source.program as unknown as { body: readonly Node[] };
  return body.flatMap((node) => {
    const declared = node.declaration as Node | null | undefined;
    if (declared?.type !== "FunctionDeclaration") return [];
    const parameters = (declared.params as readonly Node[])
      .map(withoutDefault)
      .map((parameter) => ({
        name: nameOf(parameter),
        type: typeOf(source, parameter),
      }));
    const takes = parameters.some(({ type }) => DATABASE.test(type));
    return takes ? [{ name: nameOf(declared.id), parameters }] : [];
  });
}

function withoutDefault(parameter: Node): Node {
  return parameter.type === "AssignmentPattern" ? (parameter.left as Node) : parameter;
}

function typeOf(source: Source, parameter: Node): string {
  const { typeAnnotation: type } = (parameter.typeAnnotation ?? {}) as { typeAnnotation?: Node };
  return type === undefined ? "" : source.text.slice(type.start, type.end);
}

type Called = (...values: readonly unknown[]) => unknown;

export async function collect(sources: readonly Source[]): Promise<Sent[]> {
  const found = new Map<string, Sent>();
  for (const source of sources) {
    const loaded = (await import(join(ROOT, source.path))) as Record<string, Called>;
    for (const { name, parameters } of storeFunctions(source)) {
      for (let call = 0; call < CALLS; call++) {
        for (const { text, values } of await statementsOf(loaded[name], parameters, call)) {
          const key = `${source.path} ${name} ${text}`;
          found.set(key, { file: source.path, sender: name, text, values });
        }
      }
    }
  }
  return [...found.values()];
}

async function statementsOf(
  called: Called | undefined,
  parameters: readonly Parameter[],
  seed: number,
): Promise<Sql[]> {
  const choose = chooser(seed + 1);
  const sent: Sql[] = [];
  const database = recordingDatabase(sent, choose);
  const values = parameters.map((parameter) =>
    DATABASE.test(parameter.type) ? database : argument(parameter, choose),
  );
  try {
    await called?.(...values);
  } catch {
    // A made-up value did not fit. What was not sent because of it is found by unsentPieces.
  }
  return sent;
}
