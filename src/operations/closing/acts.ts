// What falls due when a period ends, as acts: the close, and the start of what follows it. For who
// writes them and for who only shows them.

import type { Closed } from "../../domain/closing.ts";
import type { Opened } from "../../domain/opening.ts";
import { type Act, actsOf, type BilledFor } from "../issuing/request.ts";

type Ended = BilledFor & { readonly period_no: number; readonly in_trial: boolean };

/** `subscription` is as it was in the period. Nothing is opened where it ends. */
export function endingActs(
  subscription: Ended,
  { end: due_at, closed, opened }: { end: Date; closed: Closed; opened: Opened | undefined },
): Act[] {
  const { period_no, in_trial } = subscription;
  const old = { ...subscription, plan_code: closed.list.plan_code };
  const acts = actsOf(old, closed.draft, { reason: "period", period_no, due_at });
  if (opened === undefined) return acts;
  const next = { ...subscription, plan_code: opened.list.plan_code };
  const reason = in_trial ? "start" : "advance";
  return [...acts, ...actsOf(next, opened.draft, { reason, period_no: period_no + 1, due_at })];
}
