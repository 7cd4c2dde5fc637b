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
  | { readonly kind: "reactivate"; readonly into: "active" | "suspended" }
  /** One that is to start later starts now. */
  | { readonly kind: "start" }
  /** It ends before it has begun: nothing is billed. */
  | { readonly kind: "withdraw" }
  /** It cannot be suspended before it has begun. */
  | { readonly kind: "not_started" }
  /** It has ended already: the status changes, `terminated_at` and the invoices stay. */
  | { readonly kind: "relabel" };

const NONE: Transition = { kind: "none" };
const TERMINATE: Transition = { kind: "terminate" };
const CANCEL: Transition = { kind: "cancel" };
const RELABEL: Transition = { kind: "relabel" };
const REACTIVATE: Transition = { kind: "reactivate", into: "active" };
// Spec gap: any state may be suspended, also an ended one. It then lives again, under the
// conditions of a reactivation, but as suspended: a status that says so with no open period behind
// it could neither be resumed nor billed. It is never active, so its suspension is to be recorded
// from the start of that UTC day, and no day counts for the base fee before it is resumed.
const REACTIVATE_SUSPENDED: Transition = { kind: "reactivate", into: "suspended" };

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
    terminated: {
      active: REACTIVATE,
      suspended: REACTIVATE_SUSPENDED,
      terminated: NONE,
      canceled: RELABEL,
    },
    canceled: {
      active: REACTIVATE,
      suspended: REACTIVATE_SUSPENDED,
      terminated: RELABEL,
      canceled: NONE,
    },
  };

export function transition(current: SubscriptionStatus, wanted: AskedStatus): Transition {
  return TRANSITIONS[current][wanted];
}

/** A live subscription has an open period, or one to come, and holds its external_id. */
export function isLive(status: SubscriptionStatus): boolean {
  return status === "pending" || status === "active" || status === "suspended";
}
