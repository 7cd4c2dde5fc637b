// The steps for plans: what may change on one that is in use.

import type { Plan } from "../../../client/types.ts";
import type { FilePlan } from "../../../schema/service-file.ts";
import { chargeInput } from "../charge-terms.ts";
import { checkPrices } from "../checking/charges.ts";
import type { Path } from "../checking/yaml.ts";
import { changesBetween, codeSet, liveOf } from "../comparing.ts";
import type { Present } from "../present-state.ts";
import { changesOfCharges, changesOfNewCharge } from "./charges.ts";
import type { References } from "./references.ts";
import { putStep, type Step, stepsLeftAlone, type TellFault } from "./steps.ts";

export function planSteps(
  wanted: readonly FilePlan[],
  present: Present,
  references: References,
  tell: TellFault,
): Step[] {
  const live = liveOf(present.plans);
  const steps = wanted.map((plan, i): Step => {
    const at = ["plans", i];
    checkReferences(plan, at, references, tell);
    const found = live.find(({ code }) => code === plan.code);
    return found === undefined ? createStep(plan) : changeStep(plan, found, at, tell);
  });
  return [...steps, ...stepsLeftAlone("plans", wanted, live)];
}

function checkReferences(plan: FilePlan, at: Path, references: References, tell: TellFault): void {
  references.taxes(plan.tax_codes, at);
  for (const [i, charge] of (plan.charges ?? []).entries()) {
    const path = [...at, "charges", i];
    const { tax_codes, metric_ref, catalog_ref } = charge;
    references.taxes(tax_codes, path);
    if (metric_ref !== undefined) {
      const metric = references.metric(metric_ref, [...path, "metric_ref"]);
      if (metric !== undefined) checkPrices(charge, metric.dimensions ?? [], path, tell);
    }
    if (catalog_ref === undefined) continue;
    const item = references.item(catalog_ref, [...path, "catalog_ref"]);
    if (item !== undefined && item.currency !== plan.currency) {
      const message = `${item.code} is priced in ${item.currency}, the plan in ${plan.currency}.`;
      tell([...path, "catalog_ref"], message);
    }
  }
}

/** What a plan has when its file does not say so. */
const DEFAULTS = {
  amount_cents: 0,
  minimum_cents: 0,
  base_timing: "arrears",
  trial_days: 0,
} as const;
/** Fields that change what periods cost that start later; a trial counts for later starts. */
const PRICE = ["amount_cents", "minimum_cents", "base_timing", "tax_codes"];

function createStep(plan: FilePlan): Step {
  const { code, name, description, interval, currency, charges = [] } = plan;
  const { minimum_cents, base_timing, trial_days } = plan;
  const tax_codes = codeSet(plan.tax_codes);
  const terms = {
    ...(minimum_cents !== undefined && { minimum_cents }),
    ...(base_timing !== undefined && { base_timing }),
    ...(trial_days !== undefined && { trial_days }),
    ...(tax_codes !== null && { tax_codes }),
  };
  const amount_cents = plan.amount_cents ?? 0;
  const body = {
    code,
    name,
    ...(description !== undefined && { description }),
    interval,
    amount_cents,
    amount_currency: currency,
    ...terms,
    charges: charges.map(chargeInput),
  };
  const changes = [
    { field: "name", from: undefined, to: name },
    { field: "price", from: undefined, to: `${amount_cents} ${currency} ${interval}` },
    ...Object.entries(terms).map(([field, to]) => ({ field, from: undefined, to })),
    ...charges.flatMap(changesOfNewCharge),
  ];
  return putStep("plans", code, undefined, changes, { operation: "createPlan", body });
}

function changeStep(plan: FilePlan, found: Plan, at: Path, tell: TellFault): Step {
  tellFixed(plan, found, at, tell);
  const before = { ...found, tax_codes: codeSet(found.tax_codes) };
  const wanted = { ...DEFAULTS, ...plan, tax_codes: codeSet(plan.tax_codes) };
  const named = ["name", "description", ...Object.keys(DEFAULTS), "tax_codes"];
  const fields = changesBetween(before, wanted, named);
  const charges = plan.charges === undefined ? [] : changesOfCharges(found.charges, plan.charges);
  const isRepriced = charges.length > 0 || fields.some(({ field }) => PRICE.includes(field));
  const body = {
    ...Object.fromEntries(fields.map(({ field, to }) => [field, to])),
    ...(charges.length > 0 && { charges: (plan.charges ?? []).map(chargeInput) }),
  };
  const request = { operation: "updatePlan", id: found.id, body } as const;
  const step = putStep("plans", plan.code, found, [...fields, ...charges], request);
  return { ...step, reprices: isRepriced ? [plan.code] : [] };
}

function tellFixed(plan: FilePlan, found: Plan, at: Path, tell: TellFault): void {
  const before = { interval: found.interval, currency: found.amount_currency };
  for (const { field, from, to } of changesBetween(before, plan, ["interval", "currency"])) {
    tell(
      [...at, field],
      `${field} of a plan never changes (it is ${from}, the file says ${to}).`,
      "Subscriptions are billed by it: declare a plan with a new code and move customers to it.",
    );
  }
}
