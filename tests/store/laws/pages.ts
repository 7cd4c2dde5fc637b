// How many pages of 8 kB a statement touches, by the plan that it has for any values.

import type pg from "pg";
import { quoted } from "../../../src/store/db/lists.ts";
import { SOMEBODY } from "./collect.ts";

export type Asked = { readonly text: string; readonly values: readonly unknown[] };
type Plan = { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number };

/** Made-up values that are none of their type, such as those of a cursor, become these. */
const FITTING: readonly (readonly [type: RegExp, shape: RegExp, instead: string])[] = [
  [/^uuid$/, /^[0-9a-f-]{36}$/, SOMEBODY],
  [/^(timestamp with time zone|date)$/, /^\d{4}-/, "2026-03-04"],
  [/^(bigint|integer|numeric)$/, /^-?\d+(\.\d+)?$/, "7"],
  [/^jsonb?$/, /^\[\{/, "[]"],
  [/^(bigint|integer|numeric)\[\]$/, /^\{[\d.,-]*\}$/, "{}"],
  [/\[\]$/, /^\{/, "{}"],
];

/** Writes nothing: what the statement did is undone. */
export async function pagesOf(client: pg.Client, { text, values }: Asked): Promise<number> {
  await client.query("begin");
  try {
    await client.query("set local plan_cache_mode = force_generic_plan");
    await client.query(`prepare asked as ${text}`);
    const { rows: known } = await client.query<{ types: string[] }>(
      "select parameter_types::text[] as types from pg_prepared_statements where name = 'asked'",
    );
    const given = values.map((value, i) => literal(value, known[0]?.types[i] ?? "")).join(", ");
    const { rows } = await client.query<{ "QUERY PLAN": [{ readonly Plan: Plan }] }>(
      `explain (analyze, timing off, buffers, format json) execute asked${given && `(${given})`}`,
    );
    const plan = rows[0]?.["QUERY PLAN"][0].Plan;
    if (plan === undefined) throw new Error("A statement has no plan.");
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  } finally {
    await client.query("rollback");
    await client.query("deallocate all");
  }
}

function literal(value: unknown, type: string): string {
  if (value === null || value === undefined) return "null";
  const text = textOf(value);
  const [, shape = /^/, instead = ""] = FITTING.find(([of]) => of.test(type)) ?? [];
  return `'${(shape.test(text) ? text : instead).replaceAll("'", "''")}'`;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) {
    return `{${value.map((one) => (one === null ? "null" : quoted(String(one)))).join(",")}}`;
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
