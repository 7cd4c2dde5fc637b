// Every GET of the table of routes: alone, with its count, at an offset, and with each filter that
// it declares, by somebody who has much, by nobody, and by what hardly a row has.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import type { TSchema } from "typebox";
import type { Route } from "../src/http/route.ts";
import type { Answer, Site } from "./history-site.ts";

/** At its sixth call a statement has the plan that it keeps. */
const WARM_UP = 5;
/** Until a call that was refused for coming too often is tried again. */
const TURN_MS = 500;
const NOBODY = "33333333-3333-4333-8333-333333333333";
/** How much of the project a page at an offset skips. */
const DEEP = 0.9;
/** Of a page's place and length; what these cost is measured by their own. */
const PAGING = ["limit", "offset", "all", "count", "cursor", "access"];
/** The kind of record that a filter names. */
const KINDS: Readonly<Record<string, string>> = {
  customer_id: "customers",
  subscription_id: "subscriptions",
  plan_id: "plans",
  invoice_id: "invoices",
  payment_id: "payments",
  endpoint_id: "webhooks",
  actor_token_id: "keys",
  resource_id: "customers",
};
const INSTANTS = ["2024-06-01T00:00:00Z", "2026-03-01T00:00:00Z", "2035-01-01T00:00:00Z"];
/** Values that many rows have; any other text is what none has. */
const COMMON: Readonly<Record<string, readonly string[]>> = {
  search: ["customer", "customer c", "c", "zebra"],
  event: ["invoice.created"],
  event_type: ["invoice.created"],
  resource_type: ["invoice"],
  currency: ["USD", "EUR"],
  page: ["1", "9"],
  ...Object.fromEntries(["from", "to", "since"].map((name) => [name, INSTANTS])),
};
/** With these each other filter is asked for as well: they are what a caller narrows a list to. */
const OWNERS = ["customer_id", "subscription_id"];

/** What a filter costs, or what grows by its nature: a count, and an offset. */
export type Kind = "read" | "count" | "offset";

export type Read = {
  readonly path: string;
  readonly kind: Kind;
  readonly status: number;
  readonly pages: number;
  /** Of the list that was answered. */
  readonly rows: number;
};

/** By the path of their route. */
export type Reads = ReadonlyMap<string, readonly Read[]>;

type Filter = readonly [name: string, value: string];
type Wanted = { readonly query: readonly Filter[]; readonly kind: Kind };

export async function measureReads(site: Site, rows: number): Promise<Reads> {
  const found = new Map<string, Read[]>();
  for (const route of site.routes) {
    if (route.method !== "GET") continue;
    const address = await addressOf(site, route);
    const reads: Read[] = [];
    for (const { query, kind } of variants(site, route, rows)) {
      reads.push(await measure(site, `${address}${textOf(query)}`, kind));
    }
    found.set(route.path, reads);
  }
  return found;
}

async function measure(site: Site, path: string, kind: Kind): Promise<Read> {
  for (let i = 0; i < WARM_UP; i++) await admitted(site, path);
  const [{ status, text }, pages] = await admitted(site, path);
  assert.ok(status < 500, `${path}: ${status} ${text.slice(0, 400)}`);
  return { path, kind, status, pages, rows: rowsIn(text) };
}

/** Some may be made anew only so often; that is waited for. */
async function admitted(site: Site, path: string): Promise<readonly [Answer, number]> {
  for (;;) {
    const called = await site.counted(() => site.call("GET", path));
    if (called[0].status !== 429) return called;
    await pause(TURN_MS);
  }
}

/** As many as stand in the first list of the answer; one where it has none. */
function rowsIn(text: string): number {
  if (!text.startsWith("{")) return 1;
  const list = Object.values(JSON.parse(text)).find((value) => Array.isArray(value));
  return Array.isArray(list) ? list.length : 1;
}

async function addressOf({ records, call }: Site, { path }: Route): Promise<string> {
  const parts = path.split("/");
  const given = parts.map(async (part, i) => {
    if (!part.startsWith(":")) return part;
    const kind = parts[i - 1] ?? "";
    const id = records[kind];
    assert.ok(id, `${path}: a record of ${kind}, as tests/support/every-record.ts makes them`);
    if (part !== ":number") return id;
    const { text } = await call("GET", `/v1/${kind}/${id}`);
    return /"number":"([^"]+)"/.exec(text)?.[1] ?? "";
  });
  return (await Promise.all(given)).join("/");
}

function variants(site: Site, route: Route, rows: number): Wanted[] {
  const { properties = {}, required = [] } = (route.query ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: readonly string[];
  };
  const names = Object.keys(properties);
  const base = required.map((name): Filter => [name, valuesOf(site, name, {})[0] ?? ""]);
  const filters = names
    .filter((name) => !PAGING.includes(name))
    .flatMap((name) =>
      valuesOf(site, name, properties[name] ?? {}).map((value): Filter => [name, value]),
    );
  const read = (...query: Filter[]): Wanted => ({ query: [...base, ...query], kind: "read" });
  const owned = filters.filter(([name, value]) => OWNERS.includes(name) && value !== NOBODY);
  const pairs = owned.flatMap((owner) =>
    filters.filter(([name]) => name !== owner[0]).map((other) => read(owner, other)),
  );
  const paged = (name: string, value: string, kind: Kind) =>
    names.includes(name)
      ? [[], ...owned.map((one) => [one])].map((query) => {
          return { query: [...base, ...query, [name, value] as const], kind };
        })
      : [];
  const deep = String(Math.round(rows * DEEP));
  return [
    read(),
    ...filters.map((filter) => read(filter)),
    ...pairs,
    ...paged("count", "1", "count"),
    ...paged("offset", deep, "offset"),
  ];
}

function valuesOf({ records }: Site, name: string, schema: TSchema): readonly string[] {
  const { enum: values, format } = schema as { enum?: readonly unknown[]; format?: string };
  const kind = KINDS[name];
  if (kind !== undefined) return [records[kind] ?? "", NOBODY];
  if (values !== undefined) return values.map(String);
  if (format === "date") return ["2024-06-01", "2026-01-01", "2035-01-01"];
  return COMMON[name] ?? ["none"];
}

function textOf(query: readonly Filter[]): string {
  return query.length === 0 ? "" : `?${new URLSearchParams(query.map(([...one]) => one))}`;
}
