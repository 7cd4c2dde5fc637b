// The invoices of what falls due of a customer, grouped as the close groups them; they are shown,
// and not made.

import { groupBy } from "../../domain/group-by.ts";
import type { InvoiceGrouping } from "../../schema/enums.ts";
import { ofCustomers, ofSubscription } from "../issuing/group-acts.ts";
import { type Act, type InvoiceRequest, joined } from "../issuing/request.ts";

/** Instant by instant. What was set aside stands by itself, before the others. */
export function invoicesOf(acts: readonly Act[], mode: InvoiceGrouping): InvoiceRequest[] {
  const inOrder = acts.toSorted((a, b) => a.due_at.getTime() - b.due_at.getTime());
  return [...groupBy(inOrder, ({ due_at }) => due_at.getTime()).values()].flatMap((same) => {
    const alone = same.filter((act) => !joinsOthers(act, mode));
    const apart = groupBy(alone, ({ subscription }) => subscription.id);
    return [
      ...[...apart.values()].flatMap((own) => ofSubscription(own, mode)),
      ...ofCustomers(same.filter((act) => joinsOthers(act, mode))),
    ];
  });
}

/** The first of the invoices of these acts, which come to nothing: so that it can be shown. */
export function emptyInvoice(acts: readonly Act[], mode: InvoiceGrouping): InvoiceRequest {
  const [first, ...rest] = acts;
  if (first === undefined) throw new Error("An invoice has an act.");
  const others = rest.filter((act) => {
    const isOfSame = act.subscription.id === first.subscription.id && mode !== "separate";
    const isJoined = joinsOthers(act, mode) && joinsOthers(first, mode);
    return isOfSame || (isJoined && act.draft.currency === first.draft.currency);
  });
  return joined(first, others);
}

function joinsOthers({ set_aside }: Act, mode: InvoiceGrouping): boolean {
  return mode === "customer" && !set_aside;
}
