// What happens when the money that a customer has available falls below a threshold: a message, and
// a top-up where one is wanted.

import { changedFields } from "../../domain/changed-fields.ts";
import { DEFAULT_PRIORITY } from "../../domain/grants.ts";
import { notFound, refuseField } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { CURRENCIES } from "../../schema/currencies.ts";
import type { Wallet, WalletPut } from "../../schema/grants.ts";
import * as installation from "../../store/backup/installation.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Tx } from "../../store/db/db.ts";
import * as accounts from "../../store/money/accounts.ts";
import * as wallets from "../../store/money/wallets.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as tenants from "../../store/tenants/tenants.ts";
import type { BatchReport } from "../batch-report.ts";
import { type By, emit, type Fact, scheduler, updated } from "../emit.ts";
import { customerData } from "../issuing/facts.ts";
import { runningOf, shownWallet } from "./read-wallets.ts";
import { topUp } from "./top-up.ts";

/** Each look is a preview of every subscription of a customer, who is locked meanwhile. */
export const LOOKED_MAX = 100;

export async function putWallet(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  currency: string,
  input: WalletPut,
  by: By,
  now: Date,
): Promise<Wallet> {
  const project = settings.id;
  const customer = await customers.get(tx, project, ref);
  if (customer === undefined) throw notFound("customer");
  if (!Object.hasOwn(CURRENCIES, currency)) {
    throw refuseField("currency", "format", "currency must be an ISO-4217 code.");
  }
  await accounts.open(tx, project, customer.id);
  const of = { customer_id: customer.id, currency };
  const before = (await wallets.list(tx, project, customer.id)).find(
    (wallet) => wallet.currency === currency,
  );
  const { low_balance_cents = before?.low_balance_cents ?? null } = input;
  const { top_up_cents = before?.top_up_cents ?? null } = input;
  await wallets.put(tx, project, of, { low_balance_cents, top_up_cents });
  const off = { low_balance_cents: null, top_up_cents: null };
  const changed = changedFields<object>(
    before ?? off,
    { low_balance_cents, top_up_cents },
    Object.keys(off),
  );
  const all = await wallets.listOf(tx, project, [customer.id]);
  const row = all.find((one) => one.currency === currency);
  if (row === undefined) throw new Error("The wallet was just put.");
  const { facts, wallet } = await look(tx, settings, row, now);
  const put = updated("wallet.updated", customer.id, changed, { currency });
  await emit(tx, project, [...put, ...facts], by, now);
  return wallet;
}

/**
 * Tells of a wallet that has fallen below its threshold, once, and tops it up. The mark of the row
 * was read before the usage: what comes between the two is looked at again.
 */
async function look(
  tx: Tx,
  settings: ProjectSettings,
  row: wallets.MarkedRow,
  now: Date,
): Promise<{ facts: Fact[]; wallet: Wallet }> {
  const project = settings.id;
  const running = await runningOf(tx, settings, row.customer_id, now);
  const wallet = shownWallet(row, running.get(row.currency) ?? 0);
  const { low_balance_cents } = row;
  const is_low = low_balance_cents !== null && wallet.available_cents < low_balance_cents;
  await wallets.noteLooked(tx, project, row, is_low);
  if (!is_low) return { facts: [], wallet };
  const customer = await customers.get(tx, project, row.customer_id);
  if (customer === undefined) throw new Error(`Customer ${row.customer_id} vanished.`);
  const facts: Fact[] = [];
  if (!row.is_low) {
    const data = { wallet, customer: customerData(customer) };
    const webhook = { event: "wallet.balance_low" as const, data };
    facts.push({ type: null, resource_id: customer.id, payload: {}, webhook });
  }
  if (row.top_up_cents !== null && !(await wallets.hasPendingTopUp(tx, project, row))) {
    const wanted = {
      amount_cents: row.top_up_cents,
      currency: row.currency,
      name: "Top-up",
      priority: DEFAULT_PRIORITY,
      expires_at: null,
    };
    const made = await topUp(tx, settings, customer, wanted, now);
    facts.push(...made.facts);
  }
  return { facts, wallet };
}

/**
 * Looks at the wallets of a customer whose ledger the transaction has changed, if they have a
 * threshold. While a restored service is held, the change is taken, and the look, which may issue a
 * top-up, is left to the job.
 */
export async function lookAtWalletsOf(
  tx: Tx,
  project: ProjectId,
  customer_id: string,
  by: By,
  now: Date,
): Promise<void> {
  const changed = await wallets.listChangedOf(tx, project, customer_id);
  if (changed.length === 0 || (await installation.heldSince(tx)) !== null) return;
  await lookAt(tx, await tenants.getSettingsById(tx, project), changed, scheduler(by), now);
}

/** One batch of all wallets whose ledger has changed: closes leave them to be looked at. */
export async function lookAtWallets(
  tx: Tx,
  settings: ProjectSettings,
  by: By,
  now: Date,
  limit = LOOKED_MAX,
): Promise<BatchReport> {
  const changed = await wallets.listChanged(tx, settings.id, limit);
  return { done: changed.length, facts: await lookAt(tx, settings, changed, by, now) };
}

export type UsageReport = {
  readonly facts: readonly Fact[];
  /** How many wallets had usage. */
  readonly looked: number;
  /** The last wallet of the batch; undefined when there are no more. */
  readonly last: wallets.WalletKey | undefined;
};

/**
 * Looks at one batch of the wallets with a threshold, in their order from `after` on: at those with
 * usage since the last look. Most had none, which one statement tells.
 */
export async function lookAtUsage(
  tx: Tx,
  settings: ProjectSettings,
  { after, limit = LOOKED_MAX }: { readonly after: wallets.WalletKey; readonly limit?: number },
  by: By,
  now: Date,
): Promise<UsageReport> {
  const watched = await wallets.listWatched(tx, settings.id, limit, after);
  const used = watched.filter(({ usage_mark, looked_mark }) => usage_mark !== looked_mark);
  const facts = await lookAt(tx, settings, used, by, now);
  return { facts, looked: used.length, last: watched.at(-1) };
}

async function lookAt(
  tx: Tx,
  settings: ProjectSettings,
  rows: readonly wallets.WalletRow[],
  by: By,
  now: Date,
): Promise<readonly Fact[]> {
  if (rows.length === 0) return [];
  const project = settings.id;
  const ids = [...new Set(rows.map(({ customer_id }) => customer_id))];
  await accounts.lock(tx, project, ids);
  // Rows are read again under the lock.
  const locked = await wallets.listOf(tx, project, ids);
  const wanted = new Set(rows.map(wallets.keyOf));
  const facts: Fact[] = [];
  for (const row of locked.filter((one) => wanted.has(wallets.keyOf(one)))) {
    facts.push(...(await look(tx, settings, row, now)).facts);
  }
  await emit(tx, project, facts, by, now);
  return facts;
}
