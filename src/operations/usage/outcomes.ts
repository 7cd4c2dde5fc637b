// What callers are told of their events once these are stored.

import type { Refusal } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import type { EventAccepted, Unbillable } from "../../schema/events.ts";
import type { Db } from "../../store/db/db.ts";
import * as portalViews from "../../store/portal/views.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usage from "../../store/usage/events.ts";
import * as recording from "../../store/usage/recording.ts";
import { type Draft, eventRow } from "./draft.ts";

export type Outcome = EventAccepted | Refusal;

export type Recorded = {
  readonly drafts: readonly Draft[];
  /** By key: the first copy in the batch, which counts. */
  readonly firsts: ReadonlyMap<string, Draft>;
  /** What was stored before under the keys of the first copies. */
  readonly repeated: recording.StoredEvents;
};

/** One outcome per event, in order. Called after the commit. */
export async function outcomes(
  db: Db,
  { id: project }: ProjectSettings,
  recorded: Recorded,
  rule: portalViews.ViewRule,
): Promise<Outcome[]> {
  const { drafts, firsts } = recorded;
  // Views are dropped for repeats too: the process may have been killed between the first copy's
  // commit and this.
  await portalViews.dropUsed(db, project, () => subscriptionsOf(drafts), rule);
  const before = await storedBefore(db, project, recorded);
  const renamed = await namesThen(db, project, drafts, before);
  return drafts.map((one) => {
    const copy = firsts.get(one.key);
    const first = before.get(one.key) ?? (copy === one ? undefined : copy && eventRow(copy));
    if (first === undefined) return one.refusal ?? accepted(warningOf(one));
    const same = isSame(one, first, renamed);
    return {
      accepted: true,
      duplicate: true,
      ...(!same && { warning: "payload_mismatch" as const }),
    };
  });
}

/**
 * Why the event is not billed, or may not be: an end that is only set can still be moved, so an
 * event behind it is stored as any other, and warned of.
 */
function warningOf({ unbillable, subscription, at }: Draft): Unbillable | null {
  const ends_at = subscription?.has_ended === false ? subscription.ends_at : null;
  const isBehind = ends_at !== null && at !== undefined && at >= ends_at;
  return unbillable ?? (isBehind ? "after_termination" : null);
}

/**
 * What a name means now is not what it meant for the first copy: another subscription may have the
 * external_id, and the metric may be archived. Looked up only where the two differ.
 */
async function namesThen(
  db: Db,
  project: ProjectId,
  drafts: readonly Draft[],
  before: recording.StoredEvents,
): Promise<ReadonlyMap<string, string>> {
  const differing = drafts.flatMap(({ key, subscription, metric }) => {
    const first = before.get(key);
    const isOther =
      first !== undefined &&
      (subscription?.id !== first.subscription_id || metric?.id !== first.metric_id);
    return isOther ? [first] : [];
  });
  if (differing.length === 0) return new Map();
  return usage.listNames(db, project, differing);
}

/** Refused events were not sent to be stored, but may be copies of ones that are. */
async function storedBefore(
  db: Db,
  project: ProjectId,
  { drafts, firsts, repeated }: Recorded,
): Promise<recording.StoredEvents> {
  const refused = drafts.filter(({ key }) => !firsts.has(key)).map(({ key }) => key);
  if (refused.length === 0) return repeated;
  return new Map([...repeated, ...(await recording.listStored(db, project, refused))]);
}

function subscriptionsOf(drafts: readonly Draft[]): string[] {
  return drafts.flatMap(({ subscription }) => subscription?.id ?? []);
}

function accepted(warning: Unbillable | null): EventAccepted {
  return { accepted: true, duplicate: false, ...(warning !== null && { warning }) };
}

function isSame(
  repeat: Draft,
  first: recording.StoredEvent,
  then: ReadonlyMap<string, string>,
): boolean {
  const { input } = repeat.event;
  const name = then.get(first.subscription_id);
  return (
    (repeat.subscription?.id === first.subscription_id ||
      (name !== undefined && input.subscription_id === `ext:${name}`)) &&
    (repeat.metric?.id === first.metric_id || then.get(first.metric_id) === input.code) &&
    // Without a timestamp the first copy was given the time of its arrival.
    (input.timestamp === undefined || repeat.at?.getTime() === first.at.getTime()) &&
    (input.value ?? null) === first.value &&
    hasSameProperties(input.properties ?? {}, first.properties ?? {})
  );
}

type Properties = Readonly<Record<string, unknown>>;

/** Most properties are a few texts and numbers, which are compared as they are. */
function hasSameProperties(a: Properties, b: Properties): boolean {
  const names = Object.keys(a);
  const isEqual =
    names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
  return isEqual || canonicalJson(a) === canonicalJson(b);
}
