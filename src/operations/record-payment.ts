// Records a payment that the caller reports, and what it does to the invoice.

import { parseTimestamp } from "../domain/dates.ts";
import { invoiceStatus } from "../domain/invoicing.ts";
import { refuse, refuseField } from "../errors.ts";
import { newId } from "../ids.ts";
import type { Invoice } from "../schema/invoices.ts";
import type { Payment, PaymentCreate } from "../schema/payments.ts";
import * as credits from "../store/credits.ts";
import * as customers from "../store/customers.ts";
import type { Tx } from "../store/db.ts";
import * as invoices from "../store/invoices.ts";
import * as payments from "../store/payments.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type By, emit, type Fact } from "./emit.ts";

export async function recordPayment(
  tx: Tx,
  project: ProjectId,
  input: PaymentCreate,
  by: By,
  now: Date,
): Promise<{ payment: Payment; created: boolean }> {
  const invoice = await invoices.lock(tx, project, input.invoice_id.toLowerCase());
  if (invoice === undefined) throw refuse("not_found", "invoice_id: no invoice has this id.");
  const known = await payments.getByProvider(tx, project, input);
  if (known !== undefined) return { payment: sameAs(known, input), created: false };
  check(invoice, input);

  const { id: invoice_id, customer_id } = invoice;
  const paid_at = input.paid_at === undefined ? now : (parseTimestamp(input.paid_at) ?? now);
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
  const payment = await payments.insert(tx, project, row, now);
  if (payment === undefined) {
    // The same reference was recorded for another invoice a moment ago.
    const other = await payments.getByProvider(tx, project, input);
    if (other === undefined) throw new Error("A payment was refused and is not there.");
    return { payment: sameAs(other, input), created: false };
  }
  const paid = await settle(tx, project, invoice, payment, now);
  await emit(tx, project, await factsOf(tx, project, paid, payment), by, now);
  return { payment, created: true };
}

/** The same payment reported again; another one under its reference is a conflict. */
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

function check(invoice: Invoice, input: PaymentCreate): void {
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
  if (input.amount_cents > invoice.amount_due_cents && input.allow_overpayment !== true) {
    throw refuse(
      "amount_exceeds_due",
      `${invoice.amount_due_cents} is due. Send allow_overpayment: true to keep the rest as credit.`,
    );
  }
}

async function settle(
  tx: Tx,
  project: ProjectId,
  invoice: Invoice,
  payment: Payment,
  now: Date,
): Promise<Invoice> {
  const excess = payment.amount_cents - invoice.amount_due_cents;
  if (excess > 0) {
    const { customer_id, currency, id: invoice_id } = invoice;
    const entry = { customer_id, currency, invoice_id, amount_cents: excess };
    await credits.record(tx, project, [{ ...entry, reason: "overpayment" }], now);
  }
  const amount_paid_cents = invoice.amount_paid_cents + payment.amount_cents;
  const status = invoiceStatus({
    total_cents: invoice.total_cents,
    paid_cents: amount_paid_cents,
    credit_cents: invoice.credit_applied_cents,
    overdue: invoice.status === "overdue",
    voided: false,
  });
  return invoices.recordPaid(tx, project, invoice.id, { amount_paid_cents, ...status });
}

async function factsOf(
  tx: Tx,
  project: ProjectId,
  invoice: Invoice,
  payment: Payment,
): Promise<Fact[]> {
  const customer = await customers.get(tx, project, invoice.customer_id);
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
          currency: invoice.currency,
        },
        customer: { id: customer?.id, external_id: customer?.external_id },
      },
    },
  };
  if (invoice.status !== "succeeded") return [recorded];
  const payload = { number: invoice.number, total_cents: invoice.total_cents };
  return [recorded, { type: "invoice.paid", resource_id: invoice.id, payload }];
}
