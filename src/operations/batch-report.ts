// What a batch of work came to that had fallen due, whatever the work was.

import type { Fact } from "./emit.ts";

export type SetAside = { readonly id: string; readonly reason: string };

export type BatchReport = {
  /** How much was done; 0 where nothing was left to do. What is counted each kind of work says. */
  readonly done: number;
  readonly facts: readonly Fact[];
  /** Subscriptions that could not be billed, for a reason that was not known before. */
  readonly set_aside?: readonly SetAside[];
};
