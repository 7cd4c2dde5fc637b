// The customer portal: all that can be read of a customer with its id and without a token.

import Type, { type Static } from "typebox";
import {
  CalendarDate,
  Cents,
  Currency,
  Nullable,
  OneOf,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";
import { CreditNote } from "./credit-notes.ts";
import { INVOICE_STATUSES, PAYMENT_STATUSES, SUBSCRIPTION_STATUSES } from "./enums.ts";
import { Wallet } from "./grants.ts";
import { INVOICE_TYPES } from "./invoices.ts";
import { INTERVALS } from "./plans.ts";

const PortalSubscription = Type.Object({
  id: Uuid,
  external_id: Type.String(),
  status: OneOf(SUBSCRIPTION_STATUSES),
  plan: Type.Object({
    code: Type.String(),
    name: Type.String(),
    interval: OneOf(INTERVALS),
    amount_cents: Cents,
    amount_currency: Currency,
  }),
  current_period_start: Timestamp,
  current_period_end: Timestamp,
  trial_ends_at: Nullable(
    Type.Unsafe<Date>({ ...Timestamp, description: "Up to here all is free; kept afterwards." }),
  ),
  ends_at: Nullable(
    Type.Unsafe<Date>({ ...Timestamp, description: "When it will end; null: it goes on." }),
  ),
  usage: Type.Array(
    Type.Object({
      code: Type.String(),
      name: Type.String(),
      units: Type.String(),
      amount_cents: Cents,
      dimensions: Type.Optional(
        Type.Unsafe<Record<string, string | null>>({
          type: "object",
          additionalProperties: { type: ["string", "null"] },
          description: "With prices by dimensions: whose usage it is, a line each.",
        }),
      ),
    }),
  ),
});

const PortalInvoice = Type.Object({
  id: Uuid,
  number: Type.String(),
  status: OneOf(INVOICE_STATUSES),
  payment_status: OneOf(PAYMENT_STATUSES),
  invoice_type: OneOf(INVOICE_TYPES),
  currency: Currency,
  subtotal_cents: Cents,
  discount_cents: Cents,
  tax_cents: Cents,
  total_cents: Cents,
  credit_applied_cents: Cents,
  offset_cents: Cents,
  amount_paid_cents: Cents,
  amount_due_cents: Cents,
  issuing_date: CalendarDate,
  due_date: CalendarDate,
  period_start: CalendarDate,
  period_end: CalendarDate,
  part_count: Type.Integer(),
  payment_url: Nullable(
    Type.String({ description: "Where it can be paid; null when nothing is due." }),
  ),
});

const { properties: note } = CreditNote;
const PortalCreditNote = Type.Object({
  id: note.id,
  number: note.number,
  invoice_number: note.invoice_number,
  currency: note.currency,
  subtotal_cents: note.subtotal_cents,
  tax_cents: note.tax_cents,
  total_cents: note.total_cents,
  offset_cents: note.offset_cents,
  refund_cents: note.refund_cents,
  refunded_cents: note.refunded_cents,
  credit_cents: note.credit_cents,
  reason: note.reason,
  issuing_date: note.issuing_date,
});

const PortalPayment = Type.Object({
  id: Uuid,
  invoice_number: Type.String(),
  amount_cents: Cents,
  refunded_cents: Cents,
  currency: Currency,
  provider: Type.String(),
  status: Type.String(),
  paid_at: Timestamp,
});

/** How long a link may be good for: 366 days. */
export const LINK_SECONDS_MAX = 31_622_400;

export const PortalLinkCreate = Type.Object({
  expires_in: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LINK_SECONDS_MAX,
      description: "Seconds that the link is good for; a week by default, 366 days at most.",
    }),
  ),
  expires_at: Type.Optional(TimestampInput),
});

export const PortalLink = Type.Object({ url: Type.String(), expires_at: Timestamp });

export const PortalLinksRevoked = Type.Object({ revoked: Type.Boolean(), customer_id: Uuid });

const PortalDue = Type.Object({
  currency: Currency,
  outstanding_cents: Cents,
  overdue_cents: Cents,
});

export const Portal = Type.Object(
  {
    customer: Type.Object({
      id: Uuid,
      short_id: Type.String(),
      name: Type.String(),
      email: Type.String({ description: "Masked: the first letter and the domain." }),
      currency: Currency,
    }),
    subscriptions: Type.Array(PortalSubscription),
    invoices: Type.Array(PortalInvoice),
    payments: Type.Array(PortalPayment),
    credit_notes: Type.Array(PortalCreditNote),
    wallets: Type.Array(Wallet),
    totals: Type.Object({
      outstanding_cents: Cents,
      overdue_cents: Cents,
      currency: Currency,
      by_currency: Type.Array(PortalDue),
    }),
    generated_at: Timestamp,
  },
  { title: "Portal" },
);
export type Portal = Static<typeof Portal>;

/** A view as it is stored, as JSON: its times are text. */
export type StoredPortal = Jsonified<Portal>;
export type Jsonified<T> = T extends Date
  ? string
  : T extends readonly (infer Each)[]
    ? Jsonified<Each>[]
    : T extends object
      ? { [K in keyof T]: Jsonified<T[K]> }
      : T;

/** The shape of a cached view: one of another shape, from another version, is computed anew. */
export const PORTAL_SHAPE = 4;
export type PortalShape = {
  readonly shape?: number;
  /** Whether time alone changes what the view says. */
  readonly moves?: boolean;
};

/** The part of the page that the API does not show. */
export type PortalPage = {
  /** The days behind each chart, by subscription, metric and dimensions. */
  readonly days: Readonly<
    Record<string, readonly { readonly date: string; readonly units: string }[]>
  >;
  /** Titles of usage, line by line, by subscription. */
  readonly titles: Readonly<Record<string, readonly string[]>>;
  /** Next invoices by subscription, where there will be one and it can be told. */
  readonly next: Readonly<Record<string, NextInvoice>>;
  readonly due: readonly {
    readonly currency: string;
    readonly outstanding_cents: number;
    readonly overdue_cents: number;
  }[];
  /** Invoices to pay, the longest due first: those that are shown, and one more if there is. */
  readonly open: StoredPortal["invoices"];
  /** Currencies in which money was granted or is watched: others have only what was overpaid. */
  readonly prepaid: readonly string[];
  readonly has_more_subscriptions: boolean;
};

export type NextInvoice = {
  readonly currency: string;
  readonly issuing_date: string;
  /** How many other subscriptions are on it. */
  readonly others: number;
  readonly total_cents: number;
  readonly tax_cents: number;
  /** Lines beside the plan's price and usage. */
  readonly fixed: readonly {
    readonly title: string;
    readonly details: readonly string[];
    readonly units: string;
    readonly rate: string;
    readonly amount: string;
  }[];
};

/** How many invoices the page shows first, as those to pay. */
export const PORTAL_OPEN_SHOWN = 5;

/** How many rows of a list a page of the portal shows; the rest is on further pages. */
export const PORTAL_LISTS = { invoices: 25, payments: 10, "credit-notes": 10 } as const;
export type PortalListKind = keyof typeof PORTAL_LISTS;
/** A page of a list. */
export type PortalList = Pick<StoredPortal, "invoices" | "payments" | "credit_notes"> & {
  readonly customer: { readonly id: string; readonly name: string };
  readonly has_more: boolean;
};

export const Purged = Type.Object({ purged: Type.Boolean(), customer_id: Uuid });
export const PurgedAll = Type.Object({ purged: Type.Boolean(), count: Type.Integer() });
