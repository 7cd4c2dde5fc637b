// How lists page by themselves: what the lists of the generated operations.ts are made with.

/** How many rows are asked for at a time, unless the filters have a limit of their own. */
export const PAGE = 100;

/** The filters of a list; `limit` is how many rows to ask for at a time. */
export type Filters<Query> = Omit<Query, "offset" | "all" | "count" | "cursor">;

type Paging = { readonly cursor?: string };

type Page<Key extends string, Row> = {
  readonly has_more: boolean;
  readonly cursor: string | null;
} & { readonly [each in Key]: readonly Row[] };

/**
 * The rows of all pages; a page is asked for when the one before is used up. By cursor alone: rows
 * that come or go meanwhile shift an offset, and never a cursor.
 */
export async function* pages<Key extends string, Row>(
  key: Key,
  read: (paging: Paging) => Promise<Page<Key, Row>>,
): AsyncIterableIterator<Row> {
  let paging: Paging = {};
  for (;;) {
    const page = await read(paging);
    const rows: readonly Row[] = page[key];
    yield* rows;
    if (!page.has_more) return;
    if (page.cursor === null) throw new Error(`There are more ${key}, and no cursor to them.`);
    paging = { cursor: page.cursor };
  }
}
