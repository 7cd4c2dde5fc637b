// The parts of an invoice as callers see them, with the sums of their lines, before it is written.

import { type PlainPart, partsWithSums } from "../../domain/parts.ts";
import type { InvoicePart } from "../../schema/invoices.ts";
import type { Figure } from "./figures.ts";
import { linesOf, type Part } from "./request.ts";

export function shownParts({ request, amounts }: Pick<Figure, "request" | "amounts">) {
  const lines = linesOf(request).map(({ fee, part_no }, i) => ({
    part: part_no,
    amount_cents: fee.amount_cents,
    discount_cents: amounts.fees[i]?.discount_cents ?? 0,
  }));
  return partsWithSums(request.parts.map(plainPart), lines) satisfies InvoicePart[];
}

function plainPart({ subscription, draft, reason, due_at, set_aside }: Part): PlainPart {
  return {
    subscription_id: subscription?.id ?? null,
    subscription_external_id: subscription?.external_id ?? null,
    plan_code: subscription?.plan_code ?? null,
    reason,
    period_start: draft.period_start,
    period_end: draft.period_end,
    due_at,
    set_aside,
  };
}
