// Applies an add-on to a customer: an immediate invoice at the price of this moment.

import { utcDate } from "../domain/dates.ts";
import { draftInvoice, type InvoiceDraft } from "../domain/invoicing.ts";
import { refuse } from "../errors.ts";
import { newId } from "../ids.ts";
import type { AddOn, AppliedAddOn } from "../schema/addons.ts";
import type { Customer } from "../schema/customers.ts";
import * as addons from "../store/addons.ts";
import * as customers from "../store/customers.ts";
import type { Tx } from "../store/db.ts";
import type { InvoiceRow } from "../store/invoices.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import { type By, emit, type Fact } from "./emit.ts";
import { issueInvoices } from "./issue-invoices.ts";
import { lookAtWalletsOf } from "./watch-wallets.ts";

export async function applyAddOn(
  tx: Tx,
  settings: ProjectSettings,
  add_on_id: string,
  customer_id: string,
  by: By,
  now: Date,
): Promise<AppliedAddOn> {
  const project = settings.id;
  const addOn = await addons.lock(tx, project, add_on_id);
  if (addOn === undefined || addOn.archived_at !== null) {
    throw refuse("not_found", "No live add-on has this id.");
  }
  const customer = await customers.get(tx, project, customer_id);
  if (customer === undefined) throw refuse("not_found", "customer_id: no customer has this id.");

  const { code, amount_cents, currency } = addOn;
  const draft = draftFor(addOn, settings, now);
  const cause = { cause: "add_on" as const, period_no: 0, cause_no: 0 };
  const request = { draft, ...cause, customer, subscription: null };
  const [issued] = await issueInvoices(tx, project, [request], now);
  if (issued === undefined) throw new Error("One request makes one invoice.");
  const { invoice } = issued;

  const applied: AppliedAddOn = {
    id: newId(),
    customer_id: customer.id,
    add_on_id,
    invoice_id: invoice.id,
    amount_cents,
    currency,
    applied_at: now,
  };
  await addons.insertApplied(tx, project, applied);
  const payload = {
    add_on_id,
    code,
    customer_id: customer.id,
    invoice_id: invoice.id,
    amount_cents,
  };
  const fact: Fact = {
    type: "add_on.applied",
    resource_id: applied.id,
    payload,
    webhook: { event: "addon.applied", data: webhookData(applied, addOn, invoice, customer) },
  };
  await emit(tx, project, [fact, ...issued.facts], by, now);
  await lookAtWalletsOf(tx, project, customer.id, now);
  return applied;
}

/** An invoice of one line, made also when the add-on is free. */
function draftFor(addOn: AddOn, settings: ProjectSettings, now: Date): InvoiceDraft {
  const { code, name, amount_cents, currency, catalog_item_code, tax_codes } = addOn;
  const fee = {
    fee_type: "add_on" as const,
    charge_id: null,
    billable_metric_code: null,
    units: "1",
    amount_cents,
    properties: {
      name,
      add_on_code: code,
      add_on_name: name,
      ...(catalog_item_code !== null && { catalog_item_code }),
      precise_amount: String(amount_cents),
    },
    money: { tax_codes, line: null },
  };
  const today = utcDate(now);
  const draft = draftInvoice({
    fees: [fee],
    currency,
    period_start: today,
    period_end: today,
    now,
    net_payment_days: settings.net_payment_days,
    allow_zero: true,
  });
  if (draft === undefined) throw new Error("An add-on always has an invoice.");
  return draft;
}

function webhookData(
  applied: AppliedAddOn,
  addOn: AddOn,
  invoice: InvoiceRow,
  customer: Pick<Customer, "id" | "external_id">,
) {
  const { id, amount_cents, currency, applied_at } = applied;
  const { number, total_cents, invoice_type } = invoice;
  return {
    applied_add_on: {
      id,
      add_on_code: addOn.code,
      add_on_name: addOn.name,
      amount_cents,
      currency,
      applied_at,
    },
    invoice: {
      ...{ id: invoice.id, number, total_cents, currency: invoice.currency, invoice_type },
      amount_due_cents: invoice.amount_due_cents,
    },
    customer: { id: customer.id, external_id: customer.external_id },
  };
}
