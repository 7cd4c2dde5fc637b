// The steps for plans: what may change on one that is in use.

import type { Plan } from "../client/types.ts";
import type { FilePlan } from "../schema/service-file.ts";
import { checkPrices } from "./check-charges.ts";
import { chargeChanges, chargeInput, createdCharge } from "./sync-plan-charges.ts";
import {
  changed,
  codeSet,
  type Present,
  type refs,
  type Step,
  type TellFault,
} from "./sync-plan-parts.ts";

export function planSteps(
  wanted: readonly FilePlan[],
  present: Present,
  known: ReturnType<typeof refs>,
  tell: TellFault,
): Step[] {
  const live = present.plans.filter(({ archived_at }) => archived_at === null);
  const steps = wanted.map((plan, i): Step => {
    checkRefs(plan, ["plans", i], known, tell);
    const found = live.find(({ code }) => code === plan.code);
    return found === undefined ? createStep(plan) : changeStep(plan, found, ["plans", i], tell);
  });
  if (wanted.length === 0) return steps;
  const codes = wanted.map(({ code }) => code);
  const others = live
    .filter(({ code }) => !codes.includes(code))
    .map(
      ({ code }): Step => ({ section: "plans", key: code, act: "left", changes: [], reprices: [] }),
    )
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return [...steps, ...others];
}

function checkRefs(
  plan: FilePlan,
  at: readonly (string | number)[],
  known: ReturnType<typeof refs>,
  tell: TellFault,
): void {
  known.taxes(plan.tax_codes, at, tell);
  for (const [i, charge] of (plan.charges ?? []).entries()) {
    const path = [...at, "charges", i];
    known.taxes(charge.tax_codes, path, tell);
    if (charge.metric_ref !== undefined) {
      const metric = known.metric(charge.metric_ref, [...path, "metric_ref"], tell);
      if (metric !== undefined) checkPrices(charge, metric.dimensions ?? [], path, tell);
    }
    const item = known.item(charge.catalog_ref, [...path, "catalog_ref"], tell);
    if (item !== undefined && item.currency !== plan.currency) {
      const message = `${item.code} is priced in ${item.currency}, the plan in ${plan.currency}.`;
      tell([...path, "catalog_ref"], message);
    }
  }
}

/** What a plan has when its file does not say so. */
const TERMS = { amount_cents: 0, minimum_cents: 0, base_timing: "arrears", trial_days: 0 } as const;
/** What counts from periods that start later. A trial counts for later starts only. */
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
    ...charges.flatMap(createdCharge),
  ];
  const request = { operation: "createPlan", body } as const;
  return { section: "plans", key: code, act: "create", changes, reprices: [], request };
}

function changeStep(
  plan: FilePlan,
  found: Plan,
  at: readonly (string | number)[],
  tell: TellFault,
): Step {
  const fixed = changed({ interval: found.interval, currency: found.amount_currency }, plan, [
    "interval",
    "currency",
  ]);
  for (const { field, from, to } of fixed) {
    tell(
      [...at, field],
      `${field} of a plan never changes (it is ${from}, the file says ${to}).`,
      "Subscriptions are billed by it: declare a plan with a new code and move customers to it.",
    );
  }
  const before = { ...found, tax_codes: codeSet(found.tax_codes) };
  const wanted = { ...TERMS, ...plan, tax_codes: codeSet(plan.tax_codes) };
  const named = ["name", "description", ...Object.keys(TERMS), "tax_codes"];
  const fields = changed(before, wanted, named);
  const charges = plan.charges === undefined ? [] : chargeChanges(found.charges, plan.charges);
  const changes = [...fields, ...charges];
  const step = { section: "plans", key: plan.code, changes } as const;
  if (changes.length === 0) return { ...step, act: "same", reprices: [] };
  const repriced = charges.length > 0 || fields.some(({ field }) => PRICE.includes(field));
  const body = {
    ...Object.fromEntries(fields.map(({ field, to }) => [field, to])),
    ...(charges.length > 0 && { charges: (plan.charges ?? []).map(chargeInput) }),
  };
  const request = { operation: "updatePlan", id: found.id, body } as const;
  return { ...step, act: "change", reprices: repriced ? [plan.code] : [], request };
}
