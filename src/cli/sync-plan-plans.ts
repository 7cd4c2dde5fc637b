// The steps for plans: what may change on one that is in use, and what its charges say.

import type { Charge, Plan } from "../client/types.ts";
import { canonicalJson } from "../schema/canonical-json.ts";
import type { FileCharge, FilePlan } from "../schema/service-file.ts";
import {
  type Change,
  changed,
  isSame,
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
  for (const [i, charge] of (plan.charges ?? []).entries()) {
    const path = [...at, "charges", i];
    if (charge.metric_ref !== undefined) {
      known.metric(charge.metric_ref, [...path, "metric_ref"], tell);
    }
    const item = known.item(charge.catalog_ref, [...path, "catalog_ref"], tell);
    if (item !== undefined && item.currency !== plan.currency) {
      const message = `${item.code} is priced in ${item.currency}, the plan in ${plan.currency}.`;
      tell([...path, "catalog_ref"], message);
    }
  }
}

function createStep(plan: FilePlan): Step {
  const { code, name, description, interval, currency, charges = [] } = plan;
  const amount_cents = plan.amount_cents ?? 0;
  const body = {
    code,
    name,
    ...(description !== undefined && { description }),
    interval,
    amount_cents,
    amount_currency: currency,
    charges: charges.map(chargeInput),
  };
  const changes = [
    { field: "name", from: undefined, to: name },
    { field: "price", from: undefined, to: `${amount_cents} ${currency} ${interval}` },
    ...charges.map((charge) => ({
      field: "charge",
      from: undefined,
      to: chargeText(ofFile(charge)),
    })),
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
  const wanted = { ...plan, amount_cents: plan.amount_cents ?? 0 };
  const fields = changed(found, wanted, ["name", "description", "amount_cents"]);
  const charges = plan.charges === undefined ? [] : chargeChanges(found.charges, plan.charges);
  const changes = [...fields, ...charges];
  const step = { section: "plans", key: plan.code, changes } as const;
  if (changes.length === 0) return { ...step, act: "same", reprices: [] };
  const repriced = charges.length > 0 || fields.some(({ field }) => field === "amount_cents");
  const body = {
    ...Object.fromEntries(fields.map(({ field, to }) => [field, to])),
    ...(charges.length > 0 && { charges: (plan.charges ?? []).map(chargeInput) }),
  };
  const request = { operation: "updatePlan", id: found.id, body } as const;
  return { ...step, act: "change", reprices: repriced ? [plan.code] : [], request };
}

/** One spelling for a charge of the file and one of the API, so that they can be compared. */
type Terms = {
  readonly type: string;
  readonly timing: string;
  readonly metric: string | null;
  readonly rate: string | null;
  readonly item: string | null;
  readonly override: number | null;
  readonly quantity_from: string | null;
  readonly properties: Readonly<Record<string, unknown>>;
};

function ofFile(charge: FileCharge): Terms {
  return {
    type: charge.type,
    timing: charge.invoice_timing ?? "arrears",
    metric: charge.metric_ref ?? null,
    rate: charge.rate === undefined ? null : plainDecimal(charge.rate),
    item: charge.catalog_ref ?? null,
    override: charge.amount_override_cents ?? null,
    quantity_from: charge.quantity_from ?? null,
    properties: charge.properties ?? {},
  };
}

function ofApi(charge: Charge): Terms {
  const { amount, ...rest } = charge.properties;
  const standard = charge.charge_model === "standard";
  return {
    type: charge.charge_model,
    timing: charge.invoice_timing,
    metric: charge.billable_metric_code,
    rate: standard ? plainDecimal(String(amount)) : null,
    item: charge.catalog_item_code,
    override: charge.amount_override_cents,
    quantity_from: charge.quantity_from,
    properties: standard ? rest : charge.properties,
  };
}

/** "0.10" and "0.1" are one price. */
function plainDecimal(text: string): string {
  const trimmed = text.replace(/^0+(?=\d)/, "");
  return trimmed.includes(".") ? trimmed.replace(/\.?0+$/, "") : trimmed;
}

function chargeChanges(before: readonly Charge[], after: readonly FileCharge[]): Change[] {
  const from = before.map(ofApi);
  const to = after.map(ofFile);
  return Array.from({ length: Math.max(from.length, to.length) }, (_, i) => i)
    .filter((i) => !isSame(from[i] ?? null, to[i] ?? null))
    .map((i) => ({
      field: `charges[${i}]`,
      from: from[i] && chargeText(from[i]),
      to: to[i] && chargeText(to[i]),
    }));
}

/** A charge in one line. */
function chargeText(terms: Terms): string {
  const price =
    terms.type === "standard"
      ? `${terms.metric} at ${terms.rate}`
      : [terms.item, terms.override === null ? null : `for ${terms.override}`]
          .filter((part) => part !== null)
          .join(" ");
  const quantity = terms.quantity_from === null ? "" : ` × ${terms.quantity_from}`;
  const extra =
    Object.keys(terms.properties).length > 0 ? ` ${canonicalJson(terms.properties)}` : "";
  return `${terms.type} ${price}${quantity}, ${terms.timing}${extra}`;
}

/** The API's own words for a charge of the file. */
function chargeInput(charge: FileCharge): Record<string, unknown> {
  const { type, metric_ref, rate, catalog_ref, ...rest } = charge;
  return {
    charge_model: type,
    ...(metric_ref !== undefined && { billable_metric_code: metric_ref }),
    ...(rate !== undefined && { rate }),
    ...(catalog_ref !== undefined && { catalog_item_code: catalog_ref }),
    ...rest,
  };
}

/** The entry of the file that declares this charge. */
export function fileCharge(charge: Charge): FileCharge {
  const terms = ofApi(charge);
  const properties = Object.keys(terms.properties).length > 0;
  return {
    type: charge.charge_model,
    ...(terms.metric !== null && { metric_ref: terms.metric }),
    ...(charge.charge_model === "standard" && { rate: String(charge.properties.amount) }),
    ...(terms.item !== null && { catalog_ref: terms.item }),
    ...(terms.override !== null && { amount_override_cents: terms.override }),
    ...(terms.quantity_from !== null && { quantity_from: terms.quantity_from }),
    ...(terms.timing !== "arrears" && { invoice_timing: charge.invoice_timing }),
    ...(properties && { properties: terms.properties as Record<string, unknown> }),
  };
}
