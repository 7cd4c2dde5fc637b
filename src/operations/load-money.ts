// What stands behind the amounts of an invoice beside its fees: taxes, and the coupons and grants
// of customers that have some. One statement for customers that have none of it.

import { groupBy } from "../domain/group-by.ts";
import type { TaxTerms } from "../domain/taxes.ts";
import * as accounts from "../store/accounts.ts";
import * as coupons from "../store/coupons.ts";
import type { Queryable, Tx } from "../store/db.ts";
import * as ledger from "../store/ledger.ts";
import * as taxes from "../store/taxes.ts";
import type { ProjectId } from "../store/tenants.ts";

export type Money = {
  readonly customers: ReadonlyMap<string, accounts.CustomerMoney>;
  readonly taxes: TaxTerms["taxes"];
  readonly coupons: ReadonlyMap<string, coupons.AppliedRow[]>;
  readonly grants: ReadonlyMap<string, ledger.OwnedGrant[]>;
};

/** Customers that have grants or coupons are locked until the commit, in the order of their ids. */
export async function lockMoney(
  tx: Tx,
  project: ProjectId,
  customer_ids: readonly string[],
  now: Date,
): Promise<Money> {
  const customers = await accounts.list(tx, project, customer_ids);
  const held = customers.filter(({ has_account }) => has_account).map(({ id }) => id);
  await accounts.lock(tx, project, held);
  return loadMoney(tx, project, customers, now);
}

/** The same without locks, for a preview. */
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
    ? await taxes.list(db, project, true)
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

/** Null where the project has no taxes at all. */
export function taxTermsOf(money: Money, customer_id: string): TaxTerms | null {
  const customer = money.customers.get(customer_id);
  if (customer === undefined || !customer.has_taxes) return null;
  return {
    customer_codes: customer.tax_codes,
    settings_codes: customer.settings_tax_codes,
    is_exempt: customer.tax_exemption !== null,
    taxes: money.taxes,
  };
}
