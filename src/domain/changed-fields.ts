// What an update has changed, for the log: a field that is as it was is no part of it.

import { canonicalJson } from "../schema/canonical-json.ts";

/** The fields among `names` that have changed, with what they hold now. */
export function changedFields<T extends object>(
  before: T,
  after: T,
  names: readonly string[],
): Record<string, unknown> {
  const [old, now] = [before, after] as Readonly<Record<string, unknown>>[];
  const changed = names.filter((name) => canonicalJson(old?.[name]) !== canonicalJson(now?.[name]));
  return Object.fromEntries(changed.map((name) => [name, now?.[name]]));
}
