// The routes of what has a code and is archived rather than deleted, the same for each kind: list,
// get, archive. How one is made or changed its own file says.

import type { Static, TSchema } from "typebox";
import { type ErrorCode, notFound } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { By } from "../../operations/emit.ts";
import { CodeQuery, ListOrOne, Wrapped } from "../../schema/common.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import type { PageRequest, PageResult } from "../../store/db/page.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { point, type Route, read, write } from "../route.ts";
import { pathId } from "../views.ts";

export type CodedKind<Schema extends TSchema> = {
  readonly tag: string;
  readonly path: string;
  /** In sentences: "a catalog item", "catalog items". */
  readonly one: `a ${string}` | `an ${string}`;
  readonly many: string;
  /** In answers: `catalog_item`, `catalog_items`. */
  readonly key: string;
  readonly keys: string;
  readonly schema: Schema;
  readonly store: CodedStore<Static<Schema>>;
  readonly ids: { readonly list: string; readonly get: string; readonly archive: string };
  /** Says how one is archived; `act` does nothing to one that is already. */
  readonly archive: {
    readonly description: string;
    readonly errors?: readonly ErrorCode[];
    act(tx: Tx, project: ProjectId, id: string, by: By, now: Date): Promise<void>;
  };
};

type CodedStore<Row> = {
  get(db: Queryable, project: ProjectId, id: string): Promise<Row | undefined>;
  getByCode(db: Queryable, project: ProjectId, code: string): Promise<Row | undefined>;
  list(
    db: Queryable,
    project: ProjectId,
    archived: boolean,
    request: PageRequest,
  ): Promise<PageResult<Row>>;
};

/** Holds the store's rows to the schema; which schema that is does not matter inside. */
export function codedRoutes<Schema extends TSchema>(kind: CodedKind<Schema>): Route[];
export function codedRoutes(kind: CodedKind<TSchema>): Route[] {
  const { tag, path, one, many, key, keys, schema, store, ids } = kind;
  const noun = one.replace(/^an? /, "");
  const params = { id: `UUID of the ${noun}.` };

  const list = read({
    method: "GET",
    path,
    id: ids.list,
    tag,
    summary: `List ${many}, or find one by code`,
    description: `Newest first, the live ones. With code the answer is that ${noun}.`,
    scope: "read",
    project: "required",
    query: CodeQuery(key),
    reply: [200, ListOrOne(keys, { key: "code", one: key }, schema)],
    async handle({ context, db, project, query }) {
      if (query.code !== undefined) {
        const row = await store.getByCode(db, project, query.code);
        if (row === undefined) throw notFound(noun, { by: "code" });
        return { [key]: row };
      }
      const cursors = new Cursors(context.secret_key, project, keys, filtersOf(query));
      const isWanted = query.archived === "1";
      const found = await store.list(db, project, isWanted, cursors.whole(query));
      return { [keys]: found.rows, ...cursors.foot(found) };
    },
  });

  const get = point({
    method: "GET",
    path: `${path}/:id`,
    id: ids.get,
    tag,
    summary: `Get ${one}`,
    description: "Archived ones too.",
    scope: "read",
    project: "required",
    params,
    reply: [200, Wrapped(key, schema)],
    async handle({ db, project, params }) {
      const row = await store.get(db, project, pathId(params.id));
      if (row === undefined) throw notFound(noun);
      return { [key]: row };
    },
  });

  const { act, ...archiving } = kind.archive;
  const archive = write({
    method: "DELETE",
    path: `${path}/:id`,
    id: ids.archive,
    tag,
    summary: `Archive ${one}`,
    scope: "write",
    project: "required",
    params,
    reply: [204, null],
    ...archiving,
    async handle({ tx, project, by, params, now }) {
      await act(tx, project, pathId(params.id), by, now);
    },
  });

  return [list, get, archive];
}
