// Which price list counts for a period: the plan's of the instant at which the period starts, with
// what the subscription has of its own in place of the plan's.

import type { PlanVersion, PricedCharge } from "./pricing.ts";

export type DatedVersion = PlanVersion & { readonly effective_at: Date };

/** A subscription's own prices on one plan; null: the plan's price counts. */
export type Override = {
  readonly override_no: number;
  readonly plan_id: string;
  readonly amount_cents: number | null;
  readonly minimum_cents: number | null;
  readonly charges: readonly PricedCharge[] | null;
  readonly effective_at: Date;
};

/** The price lists that one subscription may need: its plans' and its own, each newest first. */
export type PriceLists = {
  readonly versions: readonly DatedVersion[];
  readonly overrides: readonly Override[];
};

export type ListInForce = { readonly list: PlanVersion; readonly override_no: number | null };

/** The price list with this number. */
export function versionNo<V extends DatedVersion>(versions: readonly V[], version: number): V {
  const found = versions.find((candidate) => candidate.version === version);
  if (found === undefined) throw new Error(`Price list ${version} is missing.`);
  return found;
}

/** The price list in force at the instant, or the first one before any was; newest come first. */
export function versionAt<V extends DatedVersion>(versions: readonly V[], at: Date): V {
  const found = versions.find((version) => version.effective_at <= at) ?? versions.at(-1);
  if (found === undefined) throw new Error("A plan without a price list.");
  return found;
}

/** The list that a period was opened with. */
export function listOf(
  lists: PriceLists,
  period: {
    readonly plan_id: string;
    readonly plan_version: number;
    readonly override_no: number | null;
  },
): PlanVersion {
  const own = lists.versions.filter(({ plan_id }) => plan_id === period.plan_id);
  const version = versionNo(own, period.plan_version);
  if (period.override_no === null) return version;
  const override = lists.overrides.find(({ override_no }) => override_no === period.override_no);
  if (override === undefined) throw new Error(`Override ${period.override_no} is missing.`);
  return withOverride(version, override);
}

/** The list of a plan for a period that starts at the instant. */
export function listAt(lists: PriceLists, plan_id: string, at: Date): ListInForce {
  const own = lists.versions.filter((version) => version.plan_id === plan_id);
  const version = versionAt(own, at);
  const override = lists.overrides.find(
    (candidate) => candidate.plan_id === plan_id && candidate.effective_at <= at,
  );
  if (override === undefined || isEmpty(override)) return { list: version, override_no: null };
  return { list: withOverride(version, override), override_no: override.override_no };
}

export function withOverride(version: PlanVersion, override: Override): PlanVersion {
  return {
    ...version,
    amount_cents: override.amount_cents ?? version.amount_cents,
    minimum_cents: override.minimum_cents ?? version.minimum_cents,
    charges: override.charges ?? version.charges,
  };
}

function isEmpty({ amount_cents, minimum_cents, charges }: Override): boolean {
  return amount_cents === null && minimum_cents === null && charges === null;
}
