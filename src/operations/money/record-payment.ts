// Records a payment that the caller reports, and what it does to the invoice.

import { reportedAt } from "../../domain/reported-at.ts";
import { refuse, refuseField } from "../../errors.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { Payment, PaymentCreate } from "../../schema/payments.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Tx } from "../../store/db/db.ts";
import type { InvoiceRow } from "../../store/invoices/invoices.ts";
import * as payments from "../../store/money/payments.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { addCredit } from "../issuing/add-credit.ts";
import { lockInvoice, moveStanding } from "../issuing/standing.ts";
import { activateGrants } from "./top-up.ts";
import { lookAtWalletsOf } from "./watch-wallets.ts";

export async function recordPayment(
  tx: Tx,
  project: ProjectId,
  input: PaymentCreate,
  by: By,
  now: Date,
): Promise<{ payment: Payment; created: boolean }> {
  const invoice = await lockInvoice(tx, project, input.invoice_id.toLowerCase(), "invoice_id");
  const known = await payments.getByProvider(tx, project, input);
  if (known !== undefined) return { payment: sameAs(known, input), created: false };
  check(invoice, input);

  const { id: invoice_id, customer_id } = invoice;
  const paid_at = reportedAt("paid_at", input.paid_at, now);
  const { provider, provider_payment_id, amount_cents, currency } = input;
  const row = {
    id: newId(),
    invoice_id,
    customer_id,
    amount_cents,
    currency,
    provider,
    provider_payment_id,
    reference: input.reference ?? null,
    paid_at,
  };
  const made = await payments.insert(tx, project, row, now);
  if (made === undefined) {
    // Another call has recorded this reference a moment ago, for another invoice.
    const other = await payments.getByProvider(tx, project, input);
    if (other === undefined) throw new Error("A payment was refused and is not there.");
    return { payment: sameAs(other, input), created: false };
  }
  const customer = await customers.get(tx, project, customer_id);
  if (customer === undefined) throw new Error(`Customer ${customer_id} vanished.`);
  const { external_id: customer_external_id, name: customer_name } = customer;
  const names = { invoice_number: invoice.number, customer_external_id, customer_name };
  const payment: Payment = { ...made, ...names };
  const paid = await settle(tx, project, invoice, payment, now);
  const activated = paid.status === "succeeded" ? await activateGrants(tx, project, paid, now) : [];
  const facts = [...factsOf(paid, payment), ...activated];
  await emit(tx, project, facts, by, now);
  await lookAtWalletsOf(tx, project, customer_id, by, now);
  return { payment, created: true };
}

/** A payment that is reported again; another one under its reference is a conflict. */
function sameAs(known: Payment, input: PaymentCreate): Payment {
  const same =
    known.invoice_id === input.invoice_id.toLowerCase() &&
    known.amount_cents === input.amount_cents &&
    known.currency === input.currency;
  if (same) return known;
  throw refuse(
    "payment_conflict",
    "This provider_payment_id is recorded already, with another invoice, amount or currency.",
    { details: [{ field: "provider_payment_id", code: "taken", existing_id: known.id }] },
  );
}

/** What can be paid: what is due, and what was written off. */
function openOf({ amount_due_cents, written_off_cents }: InvoiceRow): number {
  return amount_due_cents + written_off_cents;
}

function check(invoice: InvoiceRow, input: PaymentCreate): void {
  if (invoice.status === "voided") throw refuse("invoice_voided", "The invoice is voided.");
  if (invoice.status === "succeeded") {
    throw refuse("invoice_already_paid", "Nothing is due on this invoice any more.");
  }
  if (input.currency !== invoice.currency) {
    throw refuseField(
      "currency",
      "mismatch",
      `currency must be ${invoice.currency}, as on the invoice.`,
    );
  }
  if (input.amount_cents > openOf(invoice) && input.allow_overpayment !== true) {
    throw refuse(
      "amount_exceeds_due",
      `${openOf(invoice)} is due. Send allow_overpayment: true to keep the rest as credit.`,
    );
  }
}

async function settle(
  tx: Tx,
  project: ProjectId,
  invoice: InvoiceRow,
  payment: Payment,
  now: Date,
): Promise<InvoiceRow> {
  const { amount_cents } = payment;
  const excess = Math.max(0, amount_cents - openOf(invoice));
  const from_written_off = Math.min(
    invoice.written_off_cents,
    Math.max(0, amount_cents - excess - invoice.amount_due_cents),
  );
  if (excess > 0) {
    const { id: invoice_id, customer_id, currency } = invoice;
    const kept = {
      customer_id,
      currency,
      amount_cents: excess,
      invoice_id,
      payment_id: payment.id,
    };
    await addCredit(tx, project, { ...kept, reason: "overpayment" }, now);
  }
  const move = {
    amount_paid_cents: amount_cents,
    overpaid_cents: excess,
    written_off_cents: -from_written_off,
  };
  return moveStanding(tx, project, invoice, move, now);
}

function factsOf(invoice: InvoiceRow, payment: Payment): Fact[] {
  const { id, invoice_id, amount_cents, currency, provider, provider_payment_id, paid_at } =
    payment;
  const recorded: Fact = {
    type: "payment.recorded",
    resource_id: id,
    payload: { invoice_id, amount_cents, currency, provider, provider_payment_id },
    webhook: {
      event: "payment.succeeded",
      data: {
        payment: { id, invoice_id, amount_cents, currency, provider, provider_payment_id, paid_at },
        invoice: {
          id: invoice.id,
          number: invoice.number,
          status: invoice.status,
          payment_status: invoice.payment_status,
          total_cents: invoice.total_cents,
          amount_due_cents: invoice.amount_due_cents,
          currency: invoice.currency,
        },
        customer: { id: payment.customer_id, external_id: payment.customer_external_id },
      },
    },
  };
  if (invoice.status !== "succeeded") return [recorded];
  const payload = { number: invoice.number, total_cents: invoice.total_cents };
  return [recorded, { type: "invoice.paid", resource_id: invoice.id, payload }];
}
