// Makes and changes plans: resolves what their charges refer to, keeps unchanged charges, and
// writes a new price list when the price changed.

import { type ChargeDraft, draftCharge } from "../domain/charges.ts";
import { refuse } from "../errors.ts";
import { newId } from "../ids.ts";
import type { ChargeInput, PlanCreate, PlanPatch } from "../schema/plans.ts";
import * as catalog from "../store/catalog.ts";
import type { Tx } from "../store/db.ts";
import * as metrics from "../store/metrics.ts";
import * as plans from "../store/plans.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type By, emit } from "./emit.ts";
import { priceNewPlan, pricePlans } from "./price-plans.ts";

type Detailed = { plan: plans.PlanRow; charges: plans.ChargeRow[] };

export async function createPlan(
  tx: Tx,
  project: ProjectId,
  input: PlanCreate,
  by: By,
  now: Date,
): Promise<Detailed> {
  const terms = await resolveCharges(
    tx,
    project,
    input.amount_currency,
    input.charges ?? [],
    "charges",
  );
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
  const plan = await lockLive(tx, project, plan_id);
  const existing = await plans.listCharges(tx, project, [plan.id]);
  const [terms] = await resolveCharges(tx, project, plan.amount_currency, [input], "");
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

export async function patchPlan(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
  change: PlanPatch,
  by: By,
  now: Date,
): Promise<Detailed> {
  const [before] = await plans.lock(tx, project, [plan_id]);
  if (before === undefined) throw refuse("not_found", "No plan has this id.");
  const repriced = change.charges !== undefined || change.amount_cents !== undefined;
  if (repriced && before.archived_at !== null) {
    throw refuse("plan_archived", "An archived plan keeps its prices.");
  }
  const { charges: wanted, ...fields } = change;
  const plan = await plans.update(tx, project, plan_id, { ...before, ...fields }, now);
  const moved = wanted === undefined ? false : await replaceCharges(tx, project, plan, wanted, now);
  if (moved || plan.amount_cents !== before.amount_cents)
    await pricePlans(tx, project, [plan], now);
  await emit(
    tx,
    project,
    [{ type: "plan.updated", resource_id: plan.id, payload: change }],
    by,
    now,
  );
  return { plan, charges: await plans.listCharges(tx, project, [plan.id]) };
}

/** The whole wanted set: a charge of the same terms keeps its id. True when anything changed. */
async function replaceCharges(
  tx: Tx,
  project: ProjectId,
  plan: plans.PlanRow,
  wanted: readonly ChargeInput[],
  now: Date,
): Promise<boolean> {
  const existing = await plans.listCharges(tx, project, [plan.id]);
  const terms = await resolveCharges(tx, project, plan.amount_currency, wanted, "charges");
  const unclaimed = new Map<string, plans.ChargeRow[]>();
  for (const charge of existing) {
    const key = termsKey({ ...charge, metric_id: charge.billable_metric_id });
    unclaimed.set(key, [...(unclaimed.get(key) ?? []), charge]);
  }
  const kept: { id: string; position: number; moved: boolean }[] = [];
  const added: plans.ChargeTerms[] = [];
  for (const term of terms) {
    const same = unclaimed.get(termsKey(term))?.shift();
    if (same === undefined) added.push(term);
    else
      kept.push({ id: same.id, position: term.position, moved: same.position !== term.position });
  }
  const removed = [...unclaimed.values()].flat().map((charge) => charge.id);
  await plans.removeCharges(tx, project, removed, now);
  await plans.moveCharges(tx, project, kept);
  await plans.insertCharges(tx, project, plan.id, added, now);
  return removed.length > 0 || added.length > 0 || kept.some(({ moved }) => moved);
}

type Comparable = Omit<plans.ChargeTerms, "id" | "position">;

function termsKey(terms: Comparable): string {
  const { charge_model, invoice_timing, metric_id, rate, catalog_item_id } = terms;
  const { amount_override_cents, quantity_from, properties } = terms;
  // A rate is compared as a number: "0.10" and "0.1" are one price.
  const { amount, ...others } = properties;
  const rest = charge_model === "standard" ? others : { ...others, amount };
  const sorted = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
  const plainRate = rate
    ?.replace(/^0+(?=\d)/, "")
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
  return JSON.stringify([
    charge_model,
    invoice_timing,
    metric_id,
    plainRate ?? null,
    catalog_item_id,
    amount_override_cents,
    quantity_from,
    sorted,
  ]);
}

/** Looks up what charges refer to, and holds it still until the transaction ends. */
async function resolveCharges(
  tx: Tx,
  project: ProjectId,
  currency: string,
  inputs: readonly ChargeInput[],
  field: "charges" | "",
): Promise<plans.ChargeTerms[]> {
  const places = inputs.map((_, i) => (field === "" ? "" : `${field}[${i}].`));
  const drafts = inputs.map((input, i) => draftCharge(input, places[i] ?? ""));
  const found = {
    metrics: await lockMetrics(tx, project, drafts),
    items: await lockItems(tx, project, drafts),
  };
  return drafts.map((draft, position) => {
    const at = places[position] ?? "";
    const item = itemOf(draft, found.items, currency, at);
    return {
      id: newId(),
      position,
      charge_model: draft.charge_model,
      invoice_timing: draft.invoice_timing,
      metric_id: metricOf(draft, found.metrics, at),
      rate: draft.rate,
      catalog_item_id: item,
      amount_override_cents: draft.amount_override_cents,
      quantity_from: draft.quantity_from,
      properties: draft.properties,
    };
  });
}

async function lockMetrics(tx: Tx, project: ProjectId, drafts: readonly ChargeDraft[]) {
  const ids: string[] = [];
  const codes: string[] = [];
  for (const { metric } of drafts) {
    if (metric === null) continue;
    if ("id" in metric) ids.push(metric.id);
    else codes.push(metric.code);
  }
  return ids.length + codes.length === 0 ? [] : metrics.lockLive(tx, project, { ids, codes });
}

async function lockItems(tx: Tx, project: ProjectId, drafts: readonly ChargeDraft[]) {
  const codes = drafts.flatMap(({ catalog_item_code }) => catalog_item_code ?? []);
  return codes.length === 0 ? [] : catalog.lockLive(tx, project, codes);
}

function metricOf(
  draft: ChargeDraft,
  found: readonly { id: string; code: string }[],
  at: string,
): string | null {
  const { metric } = draft;
  if (metric === null) return null;
  const match = found.find((row) =>
    "id" in metric ? row.id === metric.id : row.code === metric.code,
  );
  if (match === undefined) {
    throw refuse(
      "not_found",
      `${at}billable_metric_id: no live metric is known by this id or code.`,
    );
  }
  return match.id;
}

function itemOf(
  draft: ChargeDraft,
  found: readonly { id: string; code: string; currency: string }[],
  currency: string,
  at: string,
): string | null {
  if (draft.catalog_item_code === null) return null;
  const match = found.find((row) => row.code === draft.catalog_item_code);
  if (match === undefined) {
    throw refuse("not_found", `${at}catalog_item_code: no live catalog item has this code.`);
  }
  if (match.currency !== currency) {
    throw refuse(
      "currency_mismatch",
      `${at}catalog_item_code: ${match.code} is priced in ${match.currency}, the plan in ${currency}.`,
    );
  }
  return match.id;
}

export async function lockLive(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
): Promise<plans.PlanRow> {
  const [plan] = await plans.lock(tx, project, [plan_id]);
  if (plan === undefined) throw refuse("not_found", "No plan has this id.");
  if (plan.archived_at !== null) throw refuse("plan_archived", "The plan is archived.");
  return plan;
}

async function codeTaken(tx: Tx, project: ProjectId, code: string) {
  const existing = await plans.getByCode(tx, project, code);
  return refuse("already_exists", "A live plan with this code exists.", {
    details: [{ field: "code", code: "taken", ...(existing && { existing_id: existing.id }) }],
  });
}
