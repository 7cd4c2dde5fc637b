// How much of the database work touches: pages of PostgreSQL (8 kB), and rows or entries of indexes
// that it looks at. Both are the same on a machine that is busy. The statements run by their
// generic plans, as on a connection that has been open for a while.

import type { Connection, Db } from "../../src/store/db/db.ts";
import { Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { onClient } from "./database.ts";

export type Reads = {
  /** Of tables and their indexes, found in memory or not. */
  readonly pages: number;
  /** Wanted or not. */
  readonly rows: number;
};

export class CountedReads {
  /** One connection, whose reads are counted. */
  readonly db: Db;
  readonly #pool: Pool;

  private constructor(pool: Pool) {
    this.db = pool;
    this.#pool = pool;
  }

  static async open(connection: Connection): Promise<CountedReads> {
    const pool = new Pool(connection, {
      max: 1,
      statement_timeout_ms: 60_000,
      lock_timeout_ms: 5_000,
      application_name: "dues test reads",
    });
    await pool.run(sql`set plan_cache_mode = force_generic_plan`);
    return new CountedReads(pool);
  }

  async during(work: () => Promise<unknown>): Promise<Reads> {
    const before = await this.#sofar();
    await work();
    const after = await this.#sofar();
    return { pages: after.pages - before.pages, rows: after.rows - before.rows };
  }

  async #sofar(): Promise<Reads> {
    await this.#pool.many(sql`select pg_stat_force_next_flush()`);
    return this.#pool.one<Reads>(sql`
      select (select sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)
                         + coalesce(toast_blks_read + toast_blks_hit + tidx_blks_read
                                    + tidx_blks_hit, 0))::bigint
                from pg_statio_user_tables) as pages,
             (select sum(seq_tup_read)::bigint from pg_stat_user_tables)
               + (select sum(idx_tup_read)::bigint from pg_stat_user_indexes) as rows`);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/**
 * Copies what a project has in a table, one row, so many times: each copy differs in these columns,
 * in SQL over the copy's number `n`. No trigger looks at the copies.
 */
export async function copyRow(
  connection: Connection,
  table: string,
  project_id: string,
  count: number,
  differs: Readonly<Record<string, string>>,
): Promise<void> {
  const fields = Object.entries(differs).map(([column, text]) => `'${column}', ${text}`);
  await onClient(connection, async (client) => {
    await client.query("set session_replication_role = replica");
    await client.query(
      `insert into ${table}
       select r.*
         from ${table} t
        cross join generate_series(1, ${count}) as n
        cross join lateral jsonb_populate_record(t, jsonb_build_object(${fields.join(", ")})) r
        where t.project_id = '${project_id}'`,
    );
  });
}

/** An id for the n-th copy; ids of one kind rise with n, as those of the service do. */
export function copyId(kind: number): string {
  return `(lpad(to_hex(${kind}), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))`;
}
