// Reads the paging part of a query and writes cursors: opaque, signed, bound to the list they
// are of.

import { createHmac, timingSafeEqual } from "node:crypto";
import { refuseField } from "../../errors.ts";
import type { PageRequest, PageResult, Position } from "../../store/db/page.ts";

export const PAGE_DEFAULT = 10;
export const PAGE_MAX = 1_000;
export const OFFSET_MAX = 1_000_000;
/** The limit of lists that are answered as a whole: more than any of them has. */
const WHOLE = 1_000_000;
const SIGNATURE_BYTES = 16;

export type PagingQuery = {
  readonly limit?: string;
  readonly offset?: string;
  readonly all?: string;
  readonly count?: string;
  readonly cursor?: string;
};

/** What a query asks for, besides which part of it to show. */
export function filtersOf<Query extends PagingQuery>(query: Query): Omit<Query, keyof PagingQuery> {
  const { limit: _limit, offset: _offset, all: _all, count: _count, cursor: _, ...filters } = query;
  return filters;
}

function pageOf(query: PagingQuery, usual: number, after?: Position): PageRequest {
  if (query.limit !== undefined && Number(query.limit) < 1) {
    throw refuseField("limit", "minimum", "limit must be at least 1.");
  }
  const offset = Number(query.offset ?? 0);
  if (offset > OFFSET_MAX) {
    throw refuseField("offset", "maximum", `offset must be at most ${OFFSET_MAX}: page by cursor.`);
  }
  if (query.cursor !== undefined && query.offset !== undefined) {
    throw refuseField("cursor", "exclusive", "Use either cursor or offset, not both.");
  }
  return {
    limit: lengthOf(query, usual),
    offset,
    count: query.count === "1",
    ...(after === undefined ? {} : { after }),
  };
}

function lengthOf({ limit, all }: PagingQuery, usual: number): number {
  if (all === "1") return Math.max(usual, PAGE_MAX);
  return limit === undefined ? usual : Math.min(Number(limit), PAGE_MAX);
}

/**
 * Cuts the part that is asked for out of a list that is short and at hand. `keyOf` gives what it is
 * ordered by, upwards.
 */
export function cut<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  { limit, offset, count, after }: PageRequest,
): PageResult<Row> {
  const [before] = after ?? [];
  const rest =
    before === undefined ? rows.slice(offset) : rows.filter((row) => keyOf(row) > before);
  const shown = rest.slice(0, limit);
  const end = shown.at(-1);
  const last = end === undefined ? undefined : [keyOf(end)];
  const has_more = rest.length > shown.length;
  return {
    rows: shown,
    has_more,
    position: has_more ? last : undefined,
    last,
    ...(count ? { total_count: rows.length } : {}),
  };
}

/** Cursors of one list: the same project and the same filters, else 422. */
export class Cursors {
  readonly #key: Buffer;
  readonly #binding: string;

  constructor(secret_key: Buffer, project: string, list: string, filters: object) {
    this.#key = secret_key;
    // Filters are brought into one order, because that of a query's parameters is the caller's.
    const given = Object.entries(filters).filter(([, value]) => value !== undefined);
    this.#binding = JSON.stringify([project, list, given.toSorted(byName)]);
  }

  page(query: PagingQuery): PageRequest {
    return pageOf(query, PAGE_DEFAULT, this.#positionIn(query));
  }

  /** The page of a list that is answered as a whole unless a limit is given. */
  whole(query: PagingQuery): PageRequest {
    return pageOf(query, WHOLE, this.#positionIn(query));
  }

  /** What an answer says behind its rows. */
  foot(page: Omit<PageResult<unknown>, "rows">) {
    const { has_more, total_count, total_at_least, position } = page;
    return {
      cursor: this.write(position),
      has_more,
      ...(total_count === undefined ? {} : { total_count }),
      ...(total_at_least === undefined ? {} : { total_at_least }),
    };
  }

  #positionIn({ cursor }: PagingQuery): Position | undefined {
    return cursor === undefined ? undefined : this.#read(cursor);
  }

  write(position: Position | undefined): string | null {
    if (position === undefined) return null;
    const payload = Buffer.from(JSON.stringify(position));
    return Buffer.concat([this.#sign(payload), payload]).toString("base64url");
  }

  #read(cursor: string): Position {
    const bytes = Buffer.from(cursor, "base64url");
    const payload = bytes.subarray(SIGNATURE_BYTES);
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    if (
      signature.length !== SIGNATURE_BYTES ||
      bytes.toString("base64url") !== cursor ||
      !timingSafeEqual(signature, this.#sign(payload))
    ) {
      throw refuseField(
        "cursor",
        "invalid",
        "The cursor is not one of this list and these filters.",
      );
    }
    return JSON.parse(payload.toString()) as Position;
  }

  #sign(payload: Buffer): Buffer {
    const hmac = createHmac("sha256", this.#key).update("cursor").update(this.#binding);
    return hmac.update(payload).digest().subarray(0, SIGNATURE_BYTES);
  }
}

type Entry = readonly [name: string, value: unknown];

function byName([one]: Entry, [other]: Entry): number {
  return one < other ? -1 : 1;
}
