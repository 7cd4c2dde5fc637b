// Resolves what people write (`ext:acme`, a plan's code, an invoice's number) to ids, through the
// lookup endpoints.

import type { Dues } from "../../client/dues.ts";
import { DuesError } from "../../client/error.ts";
import type { Customer } from "../../client/types.ts";
import { CliError } from "../terminal/io.ts";
import { isUuid } from "./profile.ts";

/** The API takes an id or `ext:<external_id>`; on the command line `ext:` may be left out. */
export function pathRef(ref: string): string {
  return isUuid(ref) || ref.startsWith("ext:") ? ref : `ext:${ref}`;
}

const SHORT_ID = /^cust_[0-9a-z]{4}$/;

/** By id, short id or external id. */
export async function getCustomer(
  dues: Dues,
  ref: string,
): Promise<{ readonly customer: Customer }> {
  if (SHORT_ID.test(ref)) {
    const found = await orUndefined(() => dues.getCustomer(ref));
    if (found !== undefined) return found;
  }
  const found = await orUndefined(() => dues.getCustomer(pathRef(ref)));
  if (found !== undefined) return found;
  throw new CliError("failed", `There is no customer ${ref}.`, "dues customers list shows them.");
}

/** Looked up also when it is an id: what is filtered by nobody would only be empty. */
export async function customerId(dues: Dues, ref: string): Promise<string> {
  return (await getCustomer(dues, ref)).customer.id;
}

export async function subscriptionId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  return named("subscription", ref, async () => {
    return (await dues.getSubscription(pathRef(ref))).subscription.id;
  });
}

export async function planId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  return named("plan", ref, async () => (await dues.listPlans({ code: ref })).plan.id);
}

export async function addOnId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  return named("add-on", ref, async () => (await dues.listAddOns({ code: ref })).add_on.id);
}

export async function metricId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  return named("metric", ref, async () => (await dues.listMetrics({ code: ref })).metric.id);
}

export async function itemId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  return named("catalog item", ref, async () => {
    return (await dues.listCatalogItems({ code: ref })).catalog_item.id;
  });
}

export async function invoiceId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  const { invoices } = await dues.listInvoices({ number: ref });
  const [found] = invoices;
  if (found === undefined) throw new CliError("failed", `There is no invoice ${ref}.`);
  return found.id;
}

export async function taxId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  return named("tax", ref, async () => (await dues.listTaxes({ code: ref })).tax.id);
}

export async function couponId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  return named("coupon", ref, async () => (await dues.listCoupons({ code: ref })).coupon.id);
}

export async function creditNoteId(dues: Dues, ref: string): Promise<string> {
  if (isUuid(ref)) return ref;
  const [found] = (await dues.listCreditNotes({ number: ref })).credit_notes;
  if (found === undefined) throw new CliError("failed", `There is no credit note ${ref}.`);
  return found.id;
}

/** A 404 of the lookup becomes a message that names what was looked for. */
async function named(what: string, ref: string, find: () => Promise<string>): Promise<string> {
  const found = await orUndefined(find);
  if (found !== undefined) return found;
  throw new CliError("failed", `There is no ${what} ${ref}.`);
}

async function orUndefined<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof DuesError && error.code === "not_found") return undefined;
    throw error;
  }
}
