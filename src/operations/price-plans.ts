// Writes a plan's next price list when its charges, its base fee or a catalog price changed.
// Periods that are running keep the list they started with.

import type { PricedCharge } from "../domain/pricing.ts";
import type { Tx } from "../store/db.ts";
import * as plans from "../store/plans.ts";
import type { ProjectId } from "../store/tenants.ts";

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
  const versions = changed.map((plan) => ({
    plan_id: plan.id,
    version: plan.version + 1,
    amount_cents: plan.amount_cents,
    charges: charges.filter((charge) => charge.plan_id === plan.id).map(priced),
  }));
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
  const version = {
    plan_id: plan.id,
    version: plan.version,
    amount_cents: plan.amount_cents,
    charges: charges.map(priced),
  };
  await plans.insertVersions(tx, project, [version], now);
  return charges;
}

function priced(charge: plans.ChargeRow): PricedCharge {
  return {
    id: charge.id,
    charge_model: charge.charge_model,
    invoice_timing: charge.invoice_timing,
    metric_id: charge.billable_metric_id,
    metric_code: charge.billable_metric_code,
    aggregation_type: charge.aggregation_type,
    rate: charge.rate,
    catalog_item_code: charge.catalog_item_code,
    unit_cents: charge.amount_override_cents ?? charge.catalog_amount_cents,
    quantity_from: charge.quantity_from,
    properties: charge.properties,
  };
}
