// Makes and changes plans: resolves what their charges refer to, keeps unchanged charges, and
// writes a new price list when the price changed.

import { changedFields } from "../../domain/changed-fields.ts";
import { comparablePrice, PRICE_PROPERTIES } from "../../domain/charge-properties.ts";
import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { type ChargeInput, type PlanCreate, PlanPatch } from "../../schema/plans.ts";
import * as plans from "../../store/catalog/plans.ts";
import type { Tx } from "../../store/db/db.ts";
import { type By, emit, updated } from "../emit.ts";
import { holdPrices } from "./hold-prices.ts";
import { priceNewPlan, pricePlans } from "./price-plans.ts";
import { holding, resolveCharges } from "./resolve-charges.ts";
import { checkTaxCodes } from "./tax-codes.ts";

type Detailed = { plan: plans.PlanRow; charges: plans.ChargeRow[] };

export async function createPlan(
  tx: Tx,
  project: ProjectId,
  input: PlanCreate,
  by: By,
  now: Date,
): Promise<Detailed> {
  await holdPrices(tx, project, input);
  const find = holding(tx, project);
  await checkTaxCodes(find, [input.tax_codes]);
  const terms = await resolveCharges(find, input.amount_currency, input.charges ?? [], "charges");
  const plan = await plans.insert(
    tx,
    project,
    {
      code: input.code,
      name: input.name,
      description: input.description ?? null,
      category: input.category ?? null,
      interval: input.interval,
      amount_cents: input.amount_cents ?? 0,
      amount_currency: input.amount_currency,
      minimum_cents: input.minimum_cents ?? 0,
      base_timing: input.base_timing ?? "arrears",
      trial_days: input.trial_days ?? 0,
      tax_codes: input.tax_codes ?? null,
      labels: input.labels ?? [],
    },
    now,
  );
  if (plan === undefined) throw await codeTaken(tx, project, input.code);
  await plans.insertCharges(tx, project, plan.id, terms, now);
  const charges = await priceNewPlan(tx, project, plan, now);
  const { code, name } = plan;
  await emit(
    tx,
    project,
    [{ type: "plan.created", resource_id: plan.id, payload: { code, name } }],
    by,
    now,
  );
  return { plan, charges };
}

export async function addCharge(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
  input: ChargeInput,
  by: By,
  now: Date,
): Promise<plans.ChargeRow> {
  await holdPrices(tx, project, { charges: [input] });
  const plan = await lockLive(tx, project, plan_id);
  const existing = await plans.listCharges(tx, project, [plan.id]);
  const [terms] = await resolveCharges(holding(tx, project), plan.amount_currency, [input], "");
  if (terms === undefined) throw new Error("One charge in, one charge out.");
  const position = (existing.at(-1)?.position ?? -1) + 1;
  await plans.insertCharges(tx, project, plan.id, [{ ...terms, position }], now);
  await pricePlans(tx, project, [plan], now);
  const charge = (await plans.listCharges(tx, project, [plan.id])).find(
    ({ id }) => id === terms.id,
  );
  if (charge === undefined) throw new Error(`Charge ${terms.id} was not written.`);
  const payload = { plan_id: plan.id, charge_model: charge.charge_model };
  await emit(tx, project, [{ type: "charge.created", resource_id: charge.id, payload }], by, now);
  return charge;
}

/** What a price list has beside the charges. */
const TERMS = ["amount_cents", "minimum_cents", "base_timing", "tax_codes"] as const;

export async function patchPlan(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
  change: PlanPatch,
  by: By,
  now: Date,
): Promise<Detailed> {
  await holdPrices(tx, project, change);
  const [before] = await plans.lock(tx, project, [plan_id]);
  if (before === undefined) throw notFound("plan");
  const { charges: wanted, ...fields } = change;
  const repriced = wanted !== undefined || TERMS.some((term) => change[term] !== undefined);
  if (repriced && before.archived_at !== null) {
    throw refuse("plan_archived", "An archived plan keeps its prices.");
  }
  await checkTaxCodes(holding(tx, project), [change.tax_codes]);
  const plan = await plans.update(tx, project, plan_id, { ...before, ...fields }, now);
  const moved = wanted === undefined ? false : await replaceCharges(tx, project, plan, wanted, now);
  if (moved || TERMS.some((term) => !isSame(plan[term], before[term]))) {
    await pricePlans(tx, project, [plan], now);
  }
  const changed = {
    ...changedFields(before, plan, Object.keys(PlanPatch.properties)),
    ...(moved && { charges: wanted }),
  };
  await emit(tx, project, updated("plan.updated", plan.id, changed), by, now);
  return { plan, charges: await plans.listCharges(tx, project, [plan.id]) };
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Gives the plan the wanted charges; one of the same terms keeps its id. True on any change. */
async function replaceCharges(
  tx: Tx,
  project: ProjectId,
  plan: plans.PlanRow,
  wanted: readonly ChargeInput[],
  now: Date,
): Promise<boolean> {
  const existing = await plans.listCharges(tx, project, [plan.id]);
  const terms = await resolveCharges(holding(tx, project), plan.amount_currency, wanted, "charges");
  const unmatched = new Map<string, plans.ChargeRow[]>();
  for (const charge of existing) {
    const key = termsKey({ ...charge, metric_id: charge.billable_metric_id });
    unmatched.set(key, [...(unmatched.get(key) ?? []), charge]);
  }
  const kept: { id: string; position: number; moved: boolean }[] = [];
  const added: plans.ChargeTerms[] = [];
  for (const term of terms) {
    const same = unmatched.get(termsKey(term))?.shift();
    if (same === undefined) added.push(term);
    else
      kept.push({ id: same.id, position: term.position, moved: same.position !== term.position });
  }
  const removed = [...unmatched.values()].flat().map((charge) => charge.id);
  await plans.removeCharges(tx, project, removed, now);
  await plans.moveCharges(tx, project, kept);
  await plans.insertCharges(tx, project, plan.id, added, now);
  return removed.length > 0 || added.length > 0 || kept.some(({ moved }) => moved);
}

type Comparable = Pick<
  plans.ChargeTerms,
  | "name"
  | "charge_model"
  | "invoice_timing"
  | "metric_id"
  | "rate"
  | "price"
  | "catalog_item_id"
  | "amount_override_cents"
  | "quantity_from"
  | "tax_codes"
  | "properties"
>;

/** A text that two charges share where they mean one thing: "0.10" and "0.1" are one price. */
function termsKey(terms: Comparable): string {
  const { name, charge_model, invoice_timing, metric_id, catalog_item_id } = terms;
  const { amount_override_cents, quantity_from, properties, rate } = terms;
  const isUsage = charge_model !== "flat_fee";
  const own = Object.entries(properties)
    .filter(([key]) => !PRICE_PROPERTIES.includes(key) || (key === "amount" && !isUsage))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const price = comparablePrice({ ...(rate === null ? {} : { amount: rate }), ...terms.price });
  return JSON.stringify([
    name,
    charge_model,
    invoice_timing,
    metric_id,
    Object.entries(price as object).sort(([a], [b]) => (a < b ? -1 : 1)),
    catalog_item_id,
    amount_override_cents,
    quantity_from,
    terms.tax_codes,
    own,
  ]);
}

export async function lockLive(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
): Promise<plans.PlanRow> {
  const [plan] = await plans.lock(tx, project, [plan_id]);
  if (plan === undefined) throw notFound("plan");
  if (plan.archived_at !== null) throw refuse("plan_archived", "The plan is archived.");
  return plan;
}

async function codeTaken(tx: Tx, project: ProjectId, code: string) {
  const existing = await plans.getByCode(tx, project, code);
  return refuse("already_exists", "A live plan with this code exists.", {
    details: [{ field: "code", code: "taken", ...(existing && { existing_id: existing.id }) }],
  });
}
