// Writes a plan's next price list when its charges, its base fee or a catalog price changed.
// Periods that are running keep the list they started with.

import type { ProjectId } from "../../ids.ts";
import * as plans from "../../store/catalog/plans.ts";
import type { Tx } from "../../store/db/db.ts";
import { pricedCharge } from "./resolve-charges.ts";

/** The plans must be locked by the caller, who has just changed something about their price. */
export async function pricePlans(
  tx: Tx,
  project: ProjectId,
  changed: readonly plans.PlanRow[],
  now: Date,
): Promise<void> {
  if (changed.length === 0) return;
  const charges = await plans.listCharges(
    tx,
    project,
    changed.map((plan) => plan.id),
  );
  const versions = changed.map((plan) => versionOf(plan, plan.version + 1, charges));
  await plans.insertVersions(tx, project, versions, now);
}

/** The first price list of a plan that was just made. */
export async function priceNewPlan(
  tx: Tx,
  project: ProjectId,
  plan: plans.PlanRow,
  now: Date,
): Promise<plans.ChargeRow[]> {
  const charges = await plans.listCharges(tx, project, [plan.id]);
  await plans.insertVersions(tx, project, [versionOf(plan, plan.version, charges)], now);
  return charges;
}

function versionOf(plan: plans.PlanRow, version: number, charges: readonly plans.ChargeRow[]) {
  const { id: plan_id, amount_cents, minimum_cents, base_timing, tax_codes } = plan;
  return {
    plan_id,
    version,
    tax_codes,
    amount_cents,
    minimum_cents,
    base_timing,
    charges: charges
      .filter((charge) => charge.plan_id === plan_id)
      .map((charge) => pricedCharge({ ...charge, metric_id: charge.billable_metric_id })),
  };
}
