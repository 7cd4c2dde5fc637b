// Which locks each transaction of the process waits for, in which order, read from the statements
// that it sends. The order is the law of docs/ARCHITECTURE.md: whoever breaks it can wait for
// somebody who waits for him.

import pg from "pg";

/** The tables whose rows transactions wait for, in the order in which they may do so. */
const ORDER: readonly (readonly string[])[] = [
  ["project_clocks"],
  ["projects"],
  ["catalog_items"],
  ["metrics"],
  ["taxes"],
  ["plans"],
  ["add_ons"],
  ["coupons"],
  ["subscriptions"],
  ["usage locks"],
  ["customers"],
  ["invoices"],
  ["project_anchors"],
  ["credit_note_counters"],
  ["invoice_counters"],
  ["portal_views"],
  ["log_heads"],
];
const LEVELS = new Map(ORDER.flatMap((tables, level) => tables.map((table) => [table, level])));

/** What a statement waits for: rows by id or code. */
type Wait = {
  readonly table: string;
  /** Columns that name rows, each with the parameter that has the values. */
  readonly named: readonly { readonly column: string; readonly parameter: number }[];
  /** The parameter that has the ids of many rows. */
  readonly many: number | undefined;
};

const LOCKING = /\bfor\s+(?:no\s+key\s+update|update|key\s+share|share)\b(?!\s+skip\s+locked)/;
const known = new Map<string, Wait | undefined>();

/** Undefined for a statement that waits for nothing of the order. */
function waitOf(text: string): Wait | undefined {
  if (known.has(text)) return known.get(text);
  const table = tableOf(text.replace(/\s+/g, " ").trim());
  const named = [...text.matchAll(/(?<!_)\b(id|code|year) = (?:any\()?\$(\d+)/g)].map((found) => ({
    column: found[1] ?? "",
    parameter: Number(found[2]) - 1,
  }));
  const many = /(?:unnest|json_to_recordset)\(\$(\d+)/.exec(text)?.[1];
  const wait =
    table === undefined || !LEVELS.has(table)
      ? undefined
      : { table, named, many: many === undefined ? undefined : Number(many) - 1 };
  known.set(text, wait);
  return wait;
}

function tableOf(text: string): string | undefined {
  if (/\b(lock_usage|record_usage)\(/.test(text)) return "usage locks";
  if (/^select\b/.test(text)) {
    return LOCKING.test(text) ? /\bfrom (\w+)/.exec(text)?.[1] : undefined;
  }
  const changed = /^(?:with .*?\()?\s*(?:update (\w+)|delete from (\w+))/.exec(text);
  if (changed !== null) return /skip locked/.test(text) ? undefined : (changed[1] ?? changed[2]);
  const upserted = /^insert into (\w+).* on conflict .*do update/.exec(text)?.[1];
  return upserted;
}

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;
/** These have one row for each project. */
const OF_PROJECT = ["project_clocks", "projects", "project_anchors", "log_heads"];
/** They are told apart by numbers, in a list; as text they sort like numbers. */
const NUMBER_DIGITS = 6;

function keysOf({ table, named, many }: Wait, values: readonly unknown[]): string[] {
  if (OF_PROJECT.includes(table)) return [table];
  if (table === "usage locks") {
    const numbers = values.flatMap((value) => (Array.isArray(value) ? value : []));
    return numbers.map((no) => `${table} id ${String(no).padStart(NUMBER_DIGITS, "0")}`);
  }
  const ids = many === undefined ? [] : (String(values[many]).match(UUID) ?? []);
  const keys = named.flatMap(({ column, parameter }) =>
    [values[parameter]].flat().map((value) => `${table} ${column} ${String(value)}`),
  );
  return [...keys, ...ids.map((id) => `${table} id ${id}`)];
}

type Transaction = {
  /** What was waited for, in order, with how it was asked. */
  readonly waits: { readonly table: string; readonly text: string }[];
  readonly held: Set<string>;
};

/** Held once it has answered: rows that were found by code, or as due, are known by id then. */
function noteRows({ held }: Transaction, table: string, rows: unknown): void {
  if (!Array.isArray(rows)) return;
  for (const row of rows as { id?: unknown }[]) {
    if (typeof row?.id === "string") held.add(`${table} id ${row.id}`);
  }
}

/** What a transaction may no longer wait for, in words; undefined where the order is kept. */
function breach(transaction: Transaction, wait: Wait, keys: readonly string[]) {
  const { waits, held } = transaction;
  const { table } = wait;
  const isHeld = keys.length > 0 && keys.every((key) => held.has(key));
  if (isHeld || (keys.length === 0 && waits.some((before) => before.table === table))) return;
  const level = LEVELS.get(table) ?? 0;
  const behind = waits.find((before) => (LEVELS.get(before.table) ?? 0) > level);
  if (behind !== undefined) return `${table} behind ${behind.table}`;
  return isUnsorted(held, table, keys) ? `${table} behind one of a greater id` : undefined;
}

function isUnsorted(held: ReadonlySet<string>, table: string, keys: readonly string[]): boolean {
  if (!["subscriptions", "usage locks", "customers"].includes(table)) return false;
  const prefix = `${table} id `;
  const before = [...held].filter((key) => key.startsWith(prefix));
  return keys.some(
    (key) => key.startsWith(prefix) && !held.has(key) && before.some((other) => other > key),
  );
}

export class LockOrder {
  readonly #open = new WeakMap<object, Transaction>();
  #breaches = new Set<string>();
  /** What was done against the order since it was last asked for. */
  take(): string[] {
    const breaches = [...this.#breaches];
    this.#breaches = new Set();
    return breaches;
  }

  /** Ahead of a statement. Returns what is to be told of its rows, when they are there. */
  sent(client: object, text: string, values: readonly unknown[]): (rows: unknown) => void {
    if (/^\s*begin\b/i.test(text)) this.#open.set(client, { waits: [], held: new Set() });
    if (/^\s*(commit|rollback)\b/i.test(text)) this.#open.delete(client);
    const transaction = this.#open.get(client);
    if (transaction === undefined) return () => {};
    const skipping = /\bfrom (\w+)[^;]*\bskip locked/.exec(text)?.[1];
    if (skipping !== undefined) return (rows) => noteRows(transaction, skipping, rows);
    const wait = waitOf(text);
    // The statements of migrations have no values: they hold their tables.
    if (wait === undefined || values.length === 0) return () => {};
    const keys = keysOf(wait, values);
    const found = breach(transaction, wait, keys);
    if (found !== undefined) this.#breaches.add(told(found, transaction, text));
    transaction.waits.push({ table: wait.table, text });
    for (const key of keys) transaction.held.add(key);
    return (rows) => noteRows(transaction, wait.table, rows);
  }

  /** A ring is one, whatever the order was. */
  failed(error: unknown, text: string): void {
    const { code, detail } = error as { code?: unknown; detail?: unknown };
    if (code === "40P01") this.#breaches.add(`a ring, in ${inOneLine(text)}\n  ${String(detail)}`);
  }
}

function told(found: string, { waits }: Transaction, text: string): string {
  const before = waits.map((wait) => `  ${inOneLine(wait.text)}`);
  return [`${found}:`, ...before, `  ${inOneLine(text)}  <- too late`].join("\n");
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 160);
}

type Query = string | { readonly text?: string; readonly values?: readonly unknown[] };
type Asked = (this: object, query: Query, ...rest: unknown[]) => unknown;

const WATCHED = Symbol.for("dues lock order");

/** Of all connections of this process, from now on. */
export function watchLocks(): LockOrder {
  const prototype = pg.Client.prototype as unknown as { query: Asked; [WATCHED]?: LockOrder };
  if (prototype[WATCHED] !== undefined) return prototype[WATCHED];
  const order = new LockOrder();
  prototype[WATCHED] = order;
  const { query: ask } = prototype;
  prototype.query = function (query, ...rest) {
    const text = typeof query === "string" ? query : query.text;
    const values = (typeof query === "string" ? rest[0] : query.values) ?? [];
    const answered = ask.call(this, query, ...rest);
    if (text === undefined) return answered;
    const tell = order.sent(this, text, Array.isArray(values) ? values : []);
    if (answered instanceof Promise) {
      answered.then(
        (result) => tell((result as { rows?: unknown }).rows),
        (error) => order.failed(error, text),
      );
    }
    return answered;
  };
  return order;
}
