// How lists are cut: newest first, by keyset where a cursor is given, by offset where asked.

import type { Queryable } from "./db.ts";
import { join, type Sql, sql } from "./sql.ts";

/** The order columns of the last row of the page before. */
export type Position = readonly string[];

export type PageRequest = {
  readonly limit: number;
  readonly offset: number;
  readonly count: boolean;
  readonly after?: Position;
};

export type PageResult<T> = {
  readonly rows: T[];
  readonly has_more: boolean;
  /** Of the last row, when more follow. */
  readonly position: Position | undefined;
  /** Of the last row in any case: where a reader who catches up goes on later. */
  readonly last: Position | undefined;
  readonly total_count?: number;
};

export type ListQuery = {
  readonly columns: Sql;
  /** Table with its alias, and joins that `where` needs. */
  readonly from: Sql;
  /**
   * Joins that only add columns, one row of theirs to each. Without them an offset and a count read
   * an index alone: with them offset 100,000 took 177 instead of 17 ms.
   */
  readonly joined?: Sql;
  readonly where: readonly Sql[];
  /** The project's column, first in every index that orders a list. */
  readonly project: Sql;
  /** The columns that order the list, with their SQL type; all in the same direction. */
  readonly order: readonly { readonly column: Sql; readonly type: Sql }[];
  readonly ascending?: boolean;
};

const NOTHING: Sql = sql``;

/** One more row than asked tells whether there are more. */
export async function page<T>(
  db: Queryable,
  list: ListQuery,
  request: PageRequest,
): Promise<PageResult<T>> {
  const where = [...list.where, ...startOf(list, request)];
  const rows = await db.many<T & { page_keys: string[] }>(sql`
    select ${list.columns}, array[${each(list, ({ column }) => sql`${column}::text`)}] as page_keys
      from ${list.from} ${list.joined ?? NOTHING}
     where ${join(where, " and ")}
     order by ${orderOf(list)}
     limit ${request.limit + 1}`);
  const has_more = rows.length > request.limit;
  const shown = has_more ? rows.slice(0, request.limit) : rows;
  return {
    rows: shown,
    has_more,
    position: has_more ? shown.at(-1)?.page_keys : undefined,
    last: shown.at(-1)?.page_keys,
    ...(request.count ? { total_count: await total(db, list) } : {}),
  };
}

/** Where the page begins: behind a cursor's row, or at the row that an offset leads to. */
function startOf(list: ListQuery, { after, offset }: PageRequest): Sql[] {
  const columns = each(list, ({ column }) => column);
  if (after !== undefined) {
    const values = each(list, ({ type }, i) => sql`${after[i] ?? null}::${type}`);
    return [list.ascending ? sql`(${columns}) > (${values})` : sql`(${columns}) < (${values})`];
  }
  if (offset === 0) return [];
  // The rows before it are counted in the index alone; only the page itself is read in full. Asked
  // for all columns of the index in their order, PostgreSQL makes no other row of each entry.
  const names = join(list.order.map(keyName), ", ");
  const first = sql`
      select ${names}
        from (
          select ${list.project}, ${columns}
            from ${list.from}
           where ${join(list.where, " and ")}
           order by ${orderOf(list)}
           limit 1 offset ${offset}) as first (project_id, ${names})
       where first.project_id is not null`;
  return [list.ascending ? sql`(${columns}) >= (${first})` : sql`(${columns}) <= (${first})`];
}

function keyName(_: unknown, i: number): Sql {
  return { text: `key_${i}`, values: [] };
}

function orderOf(list: ListQuery): Sql {
  const direction = list.ascending ? sql`asc` : sql`desc`;
  return each(list, ({ column }) => sql`${column} ${direction}`);
}

function each(list: ListQuery, part: (key: ListQuery["order"][number], i: number) => Sql): Sql {
  return join(list.order.map(part), ", ");
}

async function total(db: Queryable, list: ListQuery): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select count(*)
      from ${list.from}
     where ${join(list.where, " and ")}`);
  return count;
}
