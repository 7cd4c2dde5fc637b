// Grants: made by callers, taken back, expired.

import { DEFAULT_PRIORITY } from "../domain/grants.ts";
import { refuse, refuseField } from "../errors.ts";
import { newId } from "../ids.ts";
import type { Grant, GrantCreate } from "../schema/grants.ts";
import * as accounts from "../store/accounts.ts";
import * as customers from "../store/customers.ts";
import type { Tx } from "../store/db.ts";
import * as ledger from "../store/ledger.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import { type By, emit, type Fact, SCHEDULER } from "./emit.ts";
import type { InvoiceCustomer } from "./invoice-request.ts";
import { instant } from "./start-subscription.ts";
import { grantFact, topUp, type WantedGrant } from "./top-up.ts";
import { lookAtWalletsOf } from "./watch-wallets.ts";

const EXPIRED_BATCH_MAX = 500;

export async function createGrant(
  tx: Tx,
  settings: ProjectSettings,
  input: GrantCreate,
  by: By,
  now: Date,
): Promise<Grant> {
  const project = settings.id;
  const customer = await customers.get(tx, project, input.customer_id);
  if (customer === undefined) throw refuse("not_found", "customer_id: no customer has this id.");
  const expires_at = instant(input.expires_at, "expires_at");
  if (expires_at !== null && expires_at <= now) {
    throw refuseField("expires_at", "minimum", "expires_at must lie in the future.");
  }
  await accounts.open(tx, project, customer.id);
  const { amount_cents, kind, name = "", priority = DEFAULT_PRIORITY } = input;
  const currency = input.currency ?? customer.currency;
  const wanted = { amount_cents, currency, name, priority, expires_at };
  const { id, facts } =
    kind === "paid"
      ? await topUp(tx, settings, customer, wanted, now)
      : await makeFree(tx, project, customer, wanted, now);
  await emit(tx, project, facts, by, now);
  await lookAtWalletsOf(tx, project, customer.id, now);
  const grant = await ledger.getGrant(tx, project, id);
  if (grant === undefined) throw new Error(`Grant ${id} was not written.`);
  return grant;
}

async function makeFree(
  tx: Tx,
  project: ProjectId,
  { id: customer_id }: InvoiceCustomer,
  wanted: WantedGrant,
  now: Date,
) {
  const id = newId();
  const grant: ledger.NewGrant = {
    ...wanted,
    ...{ id, customer_id, kind: "free", status: "active", invoice_id: null, payment_id: null },
  };
  await ledger.insertGrants(tx, project, [grant], now);
  const { amount_cents, currency } = wanted;
  const entry = { customer_id, currency, grant_id: id, amount_cents, reason: "free" as const };
  await ledger.record(tx, project, [entry], now);
  return { id, facts: [grantFact("grant.created", grant)] };
}

export async function revokeGrant(
  tx: Tx,
  project: ProjectId,
  id: string,
  by: By,
  now: Date,
): Promise<Grant> {
  const found = await ledger.getGrant(tx, project, id);
  if (found === undefined) throw refuse("not_found", "No grant has this id.");
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
  await leave(tx, project, grant, "revoked", now);
  await emit(tx, project, [grantFact("grant.revoked", grant)], by, now);
  await lookAtWalletsOf(tx, project, grant.customer_id, now);
  return (await ledger.getGrant(tx, project, id)) ?? grant;
}

/** What is left of the grant leaves the ledger, and the grant has ended. */
async function leave(
  tx: Tx,
  project: ProjectId,
  { id, customer_id, currency, remaining_cents }: Grant,
  reason: "expired" | "revoked",
  now: Date,
): Promise<void> {
  const entry = { customer_id, currency, grant_id: id, amount_cents: -remaining_cents, reason };
  if (remaining_cents > 0) await ledger.record(tx, project, [entry], now);
  await ledger.setStatus(tx, project, [id], reason);
}

/** One batch of the grants whose time is up; those still pending lose their expiry instead. */
export async function expireGrants(
  tx: Tx,
  { id: project }: ProjectSettings,
  now: Date,
): Promise<readonly Fact[]> {
  const due = await ledger.listExpired(tx, project, now, EXPIRED_BATCH_MAX);
  if (due.length === 0) return [];
  await accounts.lock(tx, project, [...new Set(due.map(({ customer_id }) => customer_id))]);
  const facts: Fact[] = [];
  for (const { id } of due) {
    const grant = await ledger.getGrant(tx, project, id);
    if (grant?.status === "pending") await ledger.dropExpiry(tx, project, id);
    if (grant?.status !== "active") continue;
    await leave(tx, project, grant, "expired", now);
    facts.push(grantFact("grant.expired", grant));
  }
  await emit(tx, project, facts, SCHEDULER, now);
  return facts;
}
