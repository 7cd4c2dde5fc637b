// Wallets as callers see them: what a customer has, and what its open periods would take of it.

import { hasEnded } from "../../domain/lifecycle.ts";
import { sumCents } from "../../domain/money.ts";
import { notFound } from "../../errors.ts";
import type { Wallet } from "../../schema/grants.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as wallets from "../../store/money/wallets.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { isNotInvoiceable } from "../issuing/cannot-invoice.ts";
import { previewInvoice } from "../previews/preview.ts";

const SUBSCRIPTIONS_MAX = 1_000;

/** Needs a snapshot. */
export async function listWallets(
  db: Queryable,
  settings: ProjectSettings,
  ref: string,
  now: Date,
): Promise<Wallet[]> {
  const customer = await customers.get(db, settings.id, ref);
  if (customer === undefined) throw notFound("customer");
  const rows = await wallets.list(db, settings.id, customer.id);
  const running = await runningOf(db, settings, customer.id, now);
  return rows.map((row) => shownWallet(row, running.get(row.currency) ?? 0));
}

/** What open periods will come to, by currency: the previews of each subscription by itself. */
export async function runningOf(
  db: Queryable,
  settings: ProjectSettings,
  customer_id: string,
  now: Date,
): Promise<Map<string, number>> {
  const page = { limit: SUBSCRIPTIONS_MAX, offset: 0, count: false };
  const { rows } = await subscriptions.list(db, settings.id, { customer_id }, page);
  const running = new Map<string, number>();
  for (const { id, status } of rows) {
    if (hasEnded(status) || status === "pending") continue;
    const found = await preview(db, settings, id, now);
    if (found === undefined) continue;
    const { currency, total_cents } = found;
    running.set(currency, sumCents([running.get(currency) ?? 0, total_cents]));
  }
  return running;
}

/** Undefined where no invoice can be made: the period comes to nothing until that is mended. */
async function preview(db: Queryable, settings: ProjectSettings, id: string, now: Date) {
  try {
    const request = { subscription_id: id, at: "period_end" as const };
    return (await previewInvoice(db, settings, request, now)).invoice_preview;
  } catch (error) {
    if (isNotInvoiceable(error)) return undefined;
    throw error;
  }
}

export function shownWallet(row: wallets.WalletRow, running_cents: number): Wallet {
  const { customer_id, currency, balance_cents, low_balance_cents, top_up_cents } = row;
  const available_cents = balance_cents - running_cents;
  const balance = { balance_cents, running_cents, available_cents };
  return { customer_id, currency, ...balance, low_balance_cents, top_up_cents };
}
