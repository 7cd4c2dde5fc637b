// How the file is compared with what the project has, and the changes that come of it.

import { canonicalJson } from "../../schema/canonical-json.ts";

export type Change = { readonly field: string; readonly from: unknown; readonly to: unknown };

type Body = Readonly<Record<string, unknown>>;

/** Compares the named fields; what `to` does not mention is not compared. */
export function changesBetween(from: object, to: object, fields: readonly string[]): Change[] {
  const [before, after] = [from as Body, to as Body];
  return fields
    .filter((field) => after[field] !== undefined && !isSame(before[field], after[field]))
    .map((field) => ({ field, from: before[field], to: after[field] }));
}

/** What is shown of something new: what its file entry says. */
export function changesOfNew(body: object): Change[] {
  return Object.entries(body)
    .filter(([field, value]) => field !== "code" && value !== undefined && value !== null)
    .map(([field, to]) => ({ field, from: undefined, to }));
}

type Archivable = { readonly archived_at: string | null };

/** An archived record that the file names comes back; one in use has no change by that. */
export function changesOfRestored(record: Archivable): Change[] {
  return record.archived_at === null ? [] : [{ field: "archived", from: true, to: false }];
}

/** The records that are not archived. */
export function liveOf<T extends Archivable>(list: readonly T[]): T[] {
  return list.filter(({ archived_at }) => archived_at === null);
}

/** Codes are a set, whatever their order; null says nothing. */
export function codeSet(codes: readonly string[] | null | undefined): readonly string[] | null {
  return codes?.toSorted() ?? null;
}

/** Whether both are the same JSON, whatever the order of keys. */
export function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
