// Grants: made by callers, taken back, expired.

import { DEFAULT_PRIORITY } from "../../domain/grants.ts";
import { instant } from "../../domain/reported-at.ts";
import { notFound, refuse, refuseField } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { Grant, GrantCreate } from "../../schema/grants.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Tx } from "../../store/db/db.ts";
import * as accounts from "../../store/money/accounts.ts";
import * as ledger from "../../store/money/ledger.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { BatchReport } from "../batch-report.ts";
import { type By, emit } from "../emit.ts";
import { addCredit } from "../issuing/add-credit.ts";
import type { InvoiceCustomer } from "../issuing/request.ts";
import { grantFact, topUp, type WantedGrant } from "./top-up.ts";
import { lookAtWalletsOf } from "./watch-wallets.ts";

export const EXPIRED_BATCH_MAX = 1_000;

export async function createGrant(
  tx: Tx,
  settings: ProjectSettings,
  input: GrantCreate,
  by: By,
  now: Date,
): Promise<Grant> {
  const project = settings.id;
  const customer = await customers.get(tx, project, input.customer_id);
  if (customer === undefined) throw notFound("customer", { field: "customer_id" });
  const expires_at = instant(input.expires_at, "expires_at");
  if (expires_at !== null && expires_at <= now) {
    throw refuseField("expires_at", "minimum", "expires_at must lie in the future.");
  }
  const { amount_cents, kind, name = "", priority = DEFAULT_PRIORITY } = input;
  const currency = input.currency ?? customer.currency;
  const wanted = { amount_cents, currency, name, priority, expires_at };
  const { id, facts } =
    kind === "paid"
      ? await buy(tx, settings, customer, wanted, now)
      : await give(tx, project, customer, wanted, now);
  await emit(tx, project, facts, by, now);
  await lookAtWalletsOf(tx, project, customer.id, by, now);
  const grant = await ledger.getGrant(tx, project, id);
  if (grant === undefined) throw new Error(`Grant ${id} was not written.`);
  return grant;
}

async function buy(
  tx: Tx,
  settings: ProjectSettings,
  customer: InvoiceCustomer,
  wanted: WantedGrant,
  now: Date,
) {
  await accounts.open(tx, settings.id, customer.id);
  return topUp(tx, settings, customer, wanted, now);
}

async function give(
  tx: Tx,
  project: ProjectId,
  { id: customer_id }: InvoiceCustomer,
  wanted: WantedGrant,
  now: Date,
) {
  const grant = await addCredit(tx, project, { ...wanted, customer_id, reason: "free" }, now);
  return { id: grant.id, facts: [grantFact("grant.created", grant)] };
}

export async function revokeGrant(
  tx: Tx,
  project: ProjectId,
  id: string,
  by: By,
  now: Date,
): Promise<Grant> {
  const found = await ledger.getGrant(tx, project, id);
  if (found === undefined) throw notFound("grant");
  await accounts.lock(tx, project, [found.customer_id]);
  const grant = await ledger.getGrant(tx, project, id);
  if (grant === undefined) throw new Error(`Grant ${id} vanished.`);
  if (grant.status !== "active") {
    throw refuse(
      "grant_not_active",
      `The grant is ${grant.status}: there is nothing to take back.`,
    );
  }
  if (grant.kind === "paid") {
    throw refuse(
      "wrong_invoice_type",
      "A paid grant is given back by a credit note on its top-up.",
    );
  }
  await leave(tx, project, [grant], "revoked", now);
  await emit(tx, project, [grantFact("grant.revoked", grant)], by, now);
  await lookAtWalletsOf(tx, project, grant.customer_id, by, now);
  return (await ledger.getGrant(tx, project, id)) ?? grant;
}

/** Takes what is left of the grants off the ledger, by which they end. */
async function leave(
  tx: Tx,
  project: ProjectId,
  grants: readonly Grant[],
  reason: "expired" | "revoked",
  now: Date,
): Promise<void> {
  const entries = grants.map(({ id, customer_id, currency, remaining_cents }) => ({
    customer_id,
    currency,
    grant_id: id,
    amount_cents: -remaining_cents,
    reason,
  }));
  const [some, nothing] = [entries.filter(hasAmount), entries.filter((one) => !hasAmount(one))];
  await ledger.record(tx, project, some, now);
  const empty = nothing.map(({ grant_id }) => grant_id);
  await ledger.setStatus(tx, project, empty, reason);
}

function hasAmount({ amount_cents }: ledger.NewLedgerEntry): boolean {
  return amount_cents !== 0;
}

/**
 * Ends one batch of the grants whose time is up; pending ones lose their expiry instead. Each is
 * looked at again under the lock of its customer: a payment may have come first.
 */
export async function expireGrants(
  tx: Tx,
  { id: project }: ProjectSettings,
  by: By,
  now: Date,
  limit = EXPIRED_BATCH_MAX,
): Promise<BatchReport> {
  const due = await ledger.listExpired(tx, project, now, limit);
  if (due.length === 0) return { done: 0, facts: [] };
  await accounts.lock(tx, project, [...new Set(due.map(({ customer_id }) => customer_id))]);
  const ids = due.map(({ id }) => id);
  const grants = await ledger.listExpiredOf(tx, project, ids, now);
  const pending = grants.filter(({ status }) => status === "pending").map(({ id }) => id);
  await ledger.dropExpiry(tx, project, pending);
  const expired = grants.filter(({ status }) => status === "active");
  await leave(tx, project, expired, "expired", now);
  const facts = expired.map((grant) => grantFact("grant.expired", grant));
  await emit(tx, project, facts, by, now);
  return { done: due.length, facts };
}
