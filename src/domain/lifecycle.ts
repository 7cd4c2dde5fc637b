// What happens to a subscription when a status is asked for: every pair of them, in one table.

import type { AskedStatus, SubscriptionStatus } from "../schema/subscriptions.ts";

export type { AskedStatus, SubscriptionStatus };

export type Transition =
  /** Already there: no change, no event. */
  | { readonly kind: "none" }
  | { readonly kind: "suspend" }
  | { readonly kind: "resume" }
  /** The open period is billed up to now. */
  | { readonly kind: "terminate" }
  /** The open period is never billed. */
  | { readonly kind: "cancel" }
  /** An ended subscription begins a new period now; the gap is never billed. */
  | { readonly kind: "reactivate" }
  /** A pending subscription starts now. */
  | { readonly kind: "start" }
  /** A pending subscription ends before it has begun: nothing is billed. */
  | { readonly kind: "withdraw" }
  /** A pending subscription cannot be suspended. */
  | { readonly kind: "not_started" }
  /** An ended subscription is called otherwise; `terminated_at` and the invoices stay. */
  | { readonly kind: "relabel"; readonly as: EndedStatus };

export type EndedStatus = Extract<AskedStatus, "suspended" | "terminated" | "canceled">;

const NONE: Transition = { kind: "none" };
const TERMINATE: Transition = { kind: "terminate" };
const CANCEL: Transition = { kind: "cancel" };
const relabel = (as: EndedStatus): Transition => ({ kind: "relabel", as });
// Spec gap: any state may be suspended, also an ended one. It is called so and stays ended: what is
// asked late or twice never brings it back to be billed.
const ENDED: Readonly<Record<AskedStatus, Transition>> = {
  active: { kind: "reactivate" },
  suspended: relabel("suspended"),
  terminated: relabel("terminated"),
  canceled: relabel("canceled"),
};

const TRANSITIONS: Readonly<Record<SubscriptionStatus, Readonly<Record<AskedStatus, Transition>>>> =
  {
    pending: {
      active: { kind: "start" },
      suspended: { kind: "not_started" },
      terminated: { kind: "withdraw" },
      canceled: { kind: "withdraw" },
    },
    active: {
      active: NONE,
      suspended: { kind: "suspend" },
      terminated: TERMINATE,
      canceled: CANCEL,
    },
    suspended: {
      active: { kind: "resume" },
      suspended: NONE,
      terminated: TERMINATE,
      canceled: CANCEL,
    },
    terminated: ENDED,
    canceled: ENDED,
  };

/** What a subscription is, and what it is called where that is another word. */
export type Standing = {
  readonly status: SubscriptionStatus;
  /** Whether it has ended and was asked to be suspended after that. */
  readonly is_called_suspended: boolean;
};

export function transition(current: Standing, wanted: AskedStatus): Transition {
  return shownStatus(current) === wanted ? NONE : TRANSITIONS[current.status][wanted];
}

/** The status that callers asked for last. */
export function shownStatus({ status, is_called_suspended }: Standing): SubscriptionStatus {
  return is_called_suspended ? "suspended" : status;
}

/** Any other has an open period, or one to come, and holds its external_id. */
export function hasEnded(status: SubscriptionStatus): boolean {
  return status === "terminated" || status === "canceled";
}
