// Applies an add-on to a customer: an immediate invoice at the price of this moment.

import type { FeeDraft } from "../../domain/pricing.ts";
import { notFound } from "../../errors.ts";
import { newId } from "../../ids.ts";
import type { AddOn, AppliedAddOn } from "../../schema/addons.ts";
import type { Customer } from "../../schema/customers.ts";
import * as addons from "../../store/catalog/addons.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Tx } from "../../store/db/db.ts";
import type { InvoiceRow } from "../../store/invoices/invoices.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { issueInvoices, takesCredit } from "../issuing/issue.ts";
import { requestForToday } from "../issuing/request.ts";
import { lookAtWalletsOf } from "../money/watch-wallets.ts";

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
  if (addOn === undefined || addOn.archived_at !== null) throw notFound("live add-on");
  const customer = await customers.get(tx, project, customer_id);
  if (customer === undefined) throw notFound("customer", { field: "customer_id" });

  const { code, amount_cents, currency } = addOn;
  const bill = { fees: [feeFor(addOn)], currency };
  const request = requestForToday(settings, customer, "add_on", bill, now);
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
  if (takesCredit(invoice)) await lookAtWalletsOf(tx, project, customer.id, by, now);
  return applied;
}

function feeFor({ code, name, amount_cents, catalog_item_code, tax_codes }: AddOn): FeeDraft {
  return {
    fee_type: "add_on",
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
      id: invoice.id,
      number,
      total_cents,
      currency: invoice.currency,
      invoice_type,
      amount_due_cents: invoice.amount_due_cents,
    },
    customer: { id: customer.id, external_id: customer.external_id },
  };
}
