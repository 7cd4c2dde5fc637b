// Breaks the books on purpose, in a transaction that is undone, to see which rules say so.

import { expect } from "vitest";
import type { Db, Tx } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { brokenRules } from "../support/invariants.ts";

/** A statement, or what takes several; answers how many rows it touched. */
export type Act = string | ((tx: Tx) => Promise<number>);

/** The rule each one breaks, and how; what else follows from it is not looked at. */
export type Corruption = [rule: string, how: string, ...acts: Act[]];

export function act(tx: Tx, what: Act): Promise<number> {
  return typeof what === "string" ? tx.run({ text: what, values: [] }) : what(tx);
}

/** The rules that the acts break; they must touch something. */
export async function brokenBy(db: Db, acts: readonly Act[]): Promise<string[]> {
  let found: string[] = [];
  const undone = new Error("undone");
  const corrupt = db.tx(async (tx) => {
    // On a cluster the rules could not be asked after a change of the schema to all shards at
    // once. Elsewhere it is a setting of nobody.
    await tx.run(sql`set local citus.multi_shard_modify_mode = 'sequential'`);
    let touched = 0;
    for (const each of acts) touched += await act(tx, each);
    expect(touched).toBeGreaterThan(0);
    found = await brokenRules(tx);
    throw undone;
  });
  await expect(corrupt).rejects.toBe(undone);
  return found;
}
