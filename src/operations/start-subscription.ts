// Starts a subscription: pins the price list of this moment and bills what is due at the start.

import { formatDecimal } from "../domain/decimal.ts";
import { draftInvoice } from "../domain/invoicing.ts";
import { billedDates, firstPeriod } from "../domain/periods.ts";
import { BadQuantity, type PlanVersion, recurringPerPeriod, startFees } from "../domain/pricing.ts";
import { refuse, refuseField } from "../errors.ts";
import { newId } from "../ids.ts";
import type { SubscriptionCreate } from "../schema/subscriptions.ts";
import * as customers from "../store/customers.ts";
import type { Tx } from "../store/db.ts";
import * as plans from "../store/plans.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import { requestFor } from "./close-periods.ts";
import { type By, emit } from "./emit.ts";
import { issueInvoices } from "./issue-invoices.ts";

export async function startSubscription(
  tx: Tx,
  settings: ProjectSettings,
  input: SubscriptionCreate,
  by: By,
  now: Date,
): Promise<subscriptions.SubscriptionRow> {
  const project = settings.id;
  const customer = await customers.get(tx, project, input.customer_id.toLowerCase());
  if (customer === undefined) throw refuse("not_found", "customer_id: no customer has this id.");
  const version = await pinPlan(tx, project, input.plan_id.toLowerCase(), "plan_id: ");
  const properties = input.properties ?? {};
  const recurring_cents = recurring(version, properties);

  const id = newId();
  const period = firstPeriod(now, version.interval);
  const external_id = input.external_id ?? id;
  const inserted = await subscriptions.insert(
    tx,
    project,
    {
      id,
      external_id,
      customer_id: customer.id,
      plan_id: version.plan_id,
      properties,
      started_at: now,
      current_period_start: period.start,
      current_period_next: period.next,
      plan_version: version.version,
      recurring_cents,
    },
    now,
  );
  if (inserted === undefined) throw await externalIdTaken(tx, project, external_id);
  const subscription = await subscriptions.getBilled(tx, project, id);
  if (subscription === undefined) throw new Error(`Subscription ${id} was not written.`);

  const draft = draftInvoice({
    fees: startFees(version, properties),
    currency: version.currency,
    ...billedDates(period.start, period.next),
    now,
    net_payment_days: settings.net_payment_days,
  });
  const issued = await issueInvoices(tx, project, requestFor(subscription, draft, "start", 1), now);
  const { customer_id, plan_id } = subscription;
  const payload = { external_id, customer_id, plan_id };
  const created = { type: "subscription.created" as const, resource_id: id, payload };
  await emit(tx, project, [created, ...issued.flatMap(({ facts }) => facts)], by, now);
  return subscription;
}

/** The plan's price list of this moment; the plan cannot be archived meanwhile. */
export async function pinPlan(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
  field: string,
): Promise<plans.VersionRow> {
  const plan = await plans.lockShared(tx, project, plan_id);
  if (plan === undefined) throw refuse("not_found", `${field}no plan has this id.`);
  if (plan.archived_at !== null) throw refuse("plan_archived", `${field}the plan is archived.`);
  const versions = await plans.listVersions(tx, project, [plan_id]);
  const version = versions.find((candidate) => candidate.version === plan.version);
  if (version === undefined) throw new Error(`Plan ${plan_id} has no price list.`);
  return version;
}

/** Also checks every quantity: a bad one is refused now rather than found at the close. */
export function recurring(
  version: PlanVersion,
  properties: Readonly<Record<string, unknown>>,
): string {
  try {
    startFees(version, properties);
    return formatDecimal(recurringPerPeriod(version, properties));
  } catch (error) {
    if (error instanceof BadQuantity) throw refuseField("properties", "quantity", error.message);
    throw error;
  }
}

async function externalIdTaken(tx: Tx, project: ProjectId, external_id: string) {
  const existing = await subscriptions.get(tx, project, `ext:${external_id}`);
  return refuse("already_exists", "A live subscription with this external_id exists.", {
    details: [
      { field: "external_id", code: "taken", ...(existing && { existing_id: existing.id }) },
    ],
  });
}
