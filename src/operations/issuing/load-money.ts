// What stands behind the amounts of an invoice beside its fees: taxes, and the coupons and grants
// of customers that have some. One statement for customers that have none of it.

import { groupBy } from "../../domain/group-by.ts";
import { exemptionOf, type TaxTerms } from "../../domain/taxes.ts";
import type { ProjectId } from "../../ids.ts";
import * as coupons from "../../store/catalog/coupons.ts";
import * as taxes from "../../store/catalog/taxes.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as accounts from "../../store/money/accounts.ts";
import * as ledger from "../../store/money/ledger.ts";
import type { InvoiceRequest } from "./request.ts";

export type Money = {
  readonly customers: ReadonlyMap<string, accounts.CustomerMoney>;
  readonly taxes: TaxTerms["taxes"];
  readonly coupons: ReadonlyMap<string, coupons.AppliedRow[]>;
  readonly grants: ReadonlyMap<string, ledger.OwnedGrant[]>;
};

/**
 * Locks the customers that have grants or coupons, or may get credit, until the commit, in the
 * order of their ids and before any number is taken, and then reads them again. A customer alone is
 * locked in any case: the transaction may go on to more that needs the lock.
 */
export async function lockMoney(
  tx: Tx,
  project: ProjectId,
  customer_ids: readonly string[],
  requests: readonly InvoiceRequest[],
  now: Date,
): Promise<Money> {
  const isAlone = customer_ids.length === 1;
  const before = isAlone ? [] : await accounts.list(tx, project, customer_ids);
  const accounted = before.filter(({ has_account }) => has_account).map(({ id }) => id);
  const given = requests.filter(mayGiveBack).map(({ customer }) => customer.id);
  const held = new Set(isAlone ? customer_ids : [...accounted, ...given]);
  if (held.size === 0) return loadMoney(tx, project, before, now);
  const [, locked] = await Promise.all([
    accounts.lock(tx, project, [...held]),
    accounts.list(tx, project, [...held]),
  ]);
  const others = before.filter(({ id }) => !held.has(id));
  return loadMoney(tx, project, [...locked, ...others], now);
}

/** Whether the invoice may end below 0: that becomes credit. */
function mayGiveBack({ draft }: InvoiceRequest): boolean {
  return draft.fees.some(({ amount_cents }) => amount_cents < 0);
}

/** Reads it without locks, for a preview. */
export async function readMoney(
  db: Queryable,
  project: ProjectId,
  customer_ids: readonly string[],
  now: Date,
): Promise<Money> {
  return loadMoney(db, project, await accounts.list(db, project, customer_ids), now);
}

async function loadMoney(
  db: Queryable,
  project: ProjectId,
  customers: readonly accounts.CustomerMoney[],
  now: Date,
): Promise<Money> {
  const held = customers.filter(({ has_account }) => has_account).map(({ id }) => id);
  const known = customers.some(({ has_taxes }) => has_taxes)
    ? await taxes.listAll(db, project)
    : [];
  const grants = held.length === 0 ? [] : await ledger.listUsable(db, project, held, now);
  const applied = held.length === 0 ? [] : await coupons.listAppliedTo(db, project, held);
  return {
    customers: new Map(customers.map((customer) => [customer.id, customer])),
    taxes: Object.fromEntries(known.map(({ code, name, percent }) => [code, { name, percent }])),
    coupons: groupBy(applied, ({ customer_id }) => customer_id),
    grants: groupBy(grants, ({ customer_id }) => customer_id),
  };
}

/** What decides a customer's taxes. Null where there are none, and no exemption either. */
export function taxTermsOf(money: Money, customer_id: string): TaxTerms | null {
  const customer = money.customers.get(customer_id);
  if (customer === undefined) return null;
  const exemption = exemptionOf(customer);
  if (!customer.has_taxes && exemption === null) return null;
  return {
    customer_codes: customer.tax_codes,
    settings_codes: customer.settings_tax_codes,
    exemption,
    taxes: money.taxes,
  };
}
