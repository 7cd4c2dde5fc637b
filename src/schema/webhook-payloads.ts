// What every webhook event says and carries. The bodies that are sent are checked against these
// shapes by the compiler, and the OpenAPI document, the reference and the client are made of them.

import Type, { type Static, type TProperties } from "typebox";
import { CalendarDate, Cents, Nullable, Timestamp, Uuid } from "./common.ts";
import { CreditNote, Refund } from "./credit-notes.ts";
import { Customer } from "./customers.ts";
import { Wallet } from "./grants.ts";
import { Fee, Invoice, InvoiceWithFees } from "./invoices.ts";
import { Payment } from "./payments.ts";
import { Subscription } from "./subscriptions.ts";
import { TEST_EVENT, type WebhookEvent } from "./webhooks.ts";

const { properties: ofCustomer } = Customer;
const { properties: ofInvoice } = Invoice;
const { properties: ofSubscription } = Subscription;

const CustomerIds = Type.Object({ id: Uuid, external_id: ofCustomer.external_id });

export const WebhookCustomer = Type.Object(
  {
    id: Uuid,
    external_id: ofCustomer.external_id,
    name: ofCustomer.name,
    email: ofCustomer.email,
  },
  { title: "WebhookCustomer" },
);

/** Fields of an invoice that all events about one have. */
const Bill = {
  id: Uuid,
  number: ofInvoice.number,
  total_cents: Cents,
  amount_due_cents: Cents,
};

export const WebhookInvoice = Type.Object(
  {
    ...Bill,
    status: ofInvoice.status,
    payment_status: ofInvoice.payment_status,
    currency: ofInvoice.currency,
    due_date: CalendarDate,
    payment_url: ofInvoice.payment_url,
  },
  { title: "WebhookInvoice" },
);

export const WebhookSubscription = Type.Object(
  {
    id: Uuid,
    external_id: ofSubscription.external_id,
    plan_code: Type.String(),
    status: ofSubscription.status,
    current_period_start: Timestamp,
    current_period_end: Timestamp,
  },
  { title: "WebhookSubscription" },
);

const {
  customer_id,
  customer_external_id,
  customer_name,
  subscription_id,
  credit_notes_cents,
  voided_at,
  ...issued
} = ofInvoice;
const { created_at, memo, po_number, metadata, tax_note, ...figures } = issued;
const { charge_id, ...feeFields } = Fee.properties;

const CreatedInvoice = Type.Object(
  {
    ...figures,
    coupons: InvoiceWithFees.properties.coupons,
    taxes: InvoiceWithFees.properties.taxes,
    parts: InvoiceWithFees.properties.parts,
    fees: Type.Array(Type.Object(feeFields)),
  },
  { title: "WebhookCreatedInvoice" },
);

const { seller, buyer, ...noteFields } = CreditNote.properties;
const IssuedNote = Type.Object(noteFields, { title: "WebhookCreditNote" });

const ofSubscriptions = { subscription: WebhookSubscription, customer: CustomerIds };

const reminder = {
  invoice: Type.Object({
    ...Bill,
    status: ofInvoice.status,
    currency: ofInvoice.currency,
    issuing_date: CalendarDate,
    due_date: CalendarDate,
  }),
  customer: WebhookCustomer,
  days_overdue: Type.Integer(),
};

const request = {
  subscription: Type.Object({
    id: Uuid,
    external_id: ofSubscription.external_id,
    plan_code: Type.String(),
    status: ofSubscription.status,
  }),
  customer: Type.Object({ ...CustomerIds.properties, email: ofCustomer.email }),
  overdue_invoice: Type.Object({ ...Bill, days_overdue: Type.Integer() }),
};

/** A payment as events say it: the invoice and the customer stand beside it. */
const {
  invoice_number: _number,
  customer_id: _customer,
  customer_external_id: _external,
  customer_name: _name,
  ...ofPayment
} = Payment.properties;
const WebhookPayment = Type.Object(ofPayment, { title: "WebhookPayment" });
const { status, refunded_cents, reference, created_at: recorded_at, ...paid } = ofPayment;

function payload<P extends TProperties>(when: string, data: P) {
  return { when, data: Type.Object(data) };
}

/** When each event is sent, and what its `data` holds. */
export const WEBHOOK_PAYLOADS = {
  "invoice.created": payload("An invoice was issued, with all its fees.", {
    invoice: CreatedInvoice,
    customer: WebhookCustomer,
    subscription: Nullable(
      Type.Object({
        id: Uuid,
        external_id: ofSubscription.external_id,
        plan_code: Type.String(),
      }),
    ),
  }),
  "invoice.payment_overdue_reminder_1": payload(
    "A step of dunning: the invoice is overdue.",
    reminder,
  ),
  "invoice.payment_overdue_reminder_2": payload("A later step of dunning.", reminder),
  "subscription.started": payload(
    "A subscription that was `pending` began. One that starts at once sends none.",
    ofSubscriptions,
  ),
  "subscription.trial_ended": payload(
    "Its trial is over, and its first paid period began.",
    ofSubscriptions,
  ),
  "subscription.plan_changed": payload("It is on another plan from now on.", {
    ...ofSubscriptions,
    previous_plan_code: Type.String(),
  }),
  "subscription.period_renewed": payload(
    "A period closed and another began, also after a trial or a change of plan; not while suspended.",
    { ...ofSubscriptions, previous_period: Type.Object({ start: Timestamp, end: Timestamp }) },
  ),
  "subscription.terminated": payload(
    "It ended: by a call, at `ends_at` or canceled; `subscription.status` tells.",
    ofSubscriptions,
  ),
  "subscription.suspend_requested": payload(
    "A step of dunning asks you to suspend it. Nothing is changed.",
    request,
  ),
  "subscription.terminate_requested": payload(
    "A step of dunning asks you to end it. Nothing is changed.",
    request,
  ),
  "addon.applied": payload("An add-on was billed to a customer.", {
    applied_add_on: Type.Object({
      id: Uuid,
      add_on_code: Type.String(),
      add_on_name: Type.String(),
      amount_cents: Cents,
      currency: ofInvoice.currency,
      applied_at: Timestamp,
    }),
    invoice: Type.Object({
      ...Bill,
      currency: ofInvoice.currency,
      invoice_type: ofInvoice.invoice_type,
    }),
    customer: CustomerIds,
  }),
  "payment.succeeded": payload("A payment was recorded.", {
    payment: Type.Object(paid),
    invoice: Type.Object({
      ...Bill,
      status: ofInvoice.status,
      payment_status: ofInvoice.payment_status,
      currency: ofInvoice.currency,
    }),
    customer: CustomerIds,
  }),
  "invoice.payment_due": payload(
    "There is something to collect: at issue, and when a refund reopens an invoice.",
    { invoice: WebhookInvoice, customer: WebhookCustomer },
  ),
  "credit_note.created": payload("A credit note was issued.", {
    credit_note: IssuedNote,
    invoice: WebhookInvoice,
    customer: WebhookCustomer,
  }),
  "payment.refunded": payload("A refund was recorded.", {
    refund: Refund,
    payment: WebhookPayment,
    invoice: WebhookInvoice,
    customer: WebhookCustomer,
  }),
  "wallet.balance_low": payload(
    "What is available has fallen below the wallet's threshold. Again only after it was not.",
    { wallet: Wallet, customer: WebhookCustomer },
  ),
  "subscription.billing_failed": payload(
    "Its period is over and cannot be billed, for `reason`; it is tried again until it can be. Once for each time that it begins.",
    { ...ofSubscriptions, reason: Type.String() },
  ),
} satisfies Record<WebhookEvent, { readonly when: string; readonly data: object }>;

/** The test event, sent by the test call to any endpoint, whatever it is subscribed to. */
export const TEST_PAYLOAD = payload("`POST /v1/webhooks/{id}/test` was called.", {
  endpoint_id: Uuid,
  url: Type.String(),
});

type Payloads = typeof WEBHOOK_PAYLOADS;

/** An event with its data, as it is handed over to be rendered. */
export type Webhook = {
  [E in WebhookEvent]: { readonly event: E; readonly data: Whole<Static<Payloads[E]["data"]>> };
}[WebhookEvent];

/** Data as it goes out: nobody changes it, and lists may be read-only. */
type Whole<T> = T extends Date
  ? T
  : T extends readonly (infer Each)[]
    ? readonly Whole<Each>[]
    : T extends object
      ? { readonly [K in keyof T]: Whole<T[K]> }
      : T;

/** The title of an event's schema: `InvoiceCreatedEvent`. */
export function eventTitle(event: string): string {
  const letters = event.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
  return `${letters}Event`;
}

/** The whole body of a message. */
export function envelopeOf(event: WebhookEvent | typeof TEST_EVENT) {
  const { when, data } = event === TEST_EVENT ? TEST_PAYLOAD : WEBHOOK_PAYLOADS[event];
  return Type.Object(
    { event: Type.Literal(event), created_at: Timestamp, data },
    { title: eventTitle(event), description: when },
  );
}
