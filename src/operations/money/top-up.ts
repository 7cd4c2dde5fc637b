// Top-ups: grants that are bought. Each has an invoice, and counts from when that is paid.

import type { FeeDraft } from "../../domain/pricing.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { Grant } from "../../schema/grants.ts";
import type { Tx } from "../../store/db/db.ts";
import type { InvoiceRow } from "../../store/invoices/invoices.ts";
import * as ledger from "../../store/money/ledger.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { Fact } from "../emit.ts";
import { issueInvoices } from "../issuing/issue.ts";
import { type InvoiceCustomer, requestForToday } from "../issuing/request.ts";

export type WantedGrant = Pick<
  ledger.NewGrant,
  "amount_cents" | "currency" | "name" | "priority" | "expires_at"
>;

/**
 * Makes the invoice, which has no tax, coupon or credit, and the grant, which is pending until that
 * is paid.
 */
export async function topUp(
  tx: Tx,
  settings: ProjectSettings,
  customer: InvoiceCustomer,
  wanted: WantedGrant,
  now: Date,
): Promise<{ id: string; facts: Fact[] }> {
  const project = settings.id;
  const { amount_cents, currency, name } = wanted;
  const fee: FeeDraft = {
    fee_type: "top_up",
    charge_id: null,
    billable_metric_code: null,
    units: "1",
    amount_cents,
    properties: { name: name === "" ? "Top-up" : name, precise_amount: String(amount_cents) },
  };
  const request = requestForToday(settings, customer, "top_up", { fees: [fee], currency }, now);
  const [issued] = await issueInvoices(tx, project, [request], now);
  if (issued === undefined) throw new Error("One request makes one invoice.");
  const id = newId();
  const grant: ledger.NewGrant = {
    ...wanted,
    id,
    customer_id: customer.id,
    kind: "paid",
    status: "pending",
    payment_id: null,
    invoice_id: issued.invoice.id,
  };
  await ledger.insertGrants(tx, project, [grant], now);
  return { id, facts: [grantFact("grant.created", grant), ...issued.facts] };
}

/**
 * Makes the grants of a top-up usable once its invoice is paid. One whose expiry passed before the
 * payment came loses that expiry: the customer has paid for it.
 */
export async function activateGrants(
  tx: Tx,
  project: ProjectId,
  invoice: InvoiceRow,
  now: Date,
): Promise<Fact[]> {
  if (invoice.invoice_type !== "top_up") return [];
  const pending = (await ledger.listByInvoice(tx, project, invoice.id)).filter(
    ({ kind, status }) => kind === "paid" && status === "pending",
  );
  for (const grant of pending) {
    const { id, customer_id, currency, amount_cents, expires_at } = grant;
    if (expires_at !== null && expires_at <= now) await ledger.dropExpiry(tx, project, [id]);
    await ledger.setStatus(tx, project, [id], "active");
    const entry = { customer_id, currency, grant_id: id, amount_cents, invoice_id: invoice.id };
    await ledger.record(tx, project, [{ ...entry, reason: "paid" }], now);
  }
  return pending.map((grant) => grantFact("grant.activated", grant));
}

export function grantFact(
  type: "grant.created" | "grant.activated" | "grant.expired" | "grant.revoked",
  grant: Pick<Grant, "id" | "customer_id" | "currency" | "kind" | "amount_cents">,
): Fact {
  const { id, customer_id, currency, kind, amount_cents } = grant;
  return { type, resource_id: id, payload: { customer_id, currency, kind, amount_cents } };
}
