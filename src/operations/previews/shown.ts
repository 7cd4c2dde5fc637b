// Invoices as they would be: with their parts, taxes, coupons and credit. Nothing is written.

import { subscriptionCount } from "../../domain/parts.ts";
import type { ProjectId } from "../../ids.ts";
import type { InvoicePreview } from "../../schema/invoices.ts";
import * as parties from "../../store/customers/parties.ts";
import type { Queryable } from "../../store/db/db.ts";
import {
  computeFigures,
  dueDateOf,
  type Figure,
  noteFor,
  shownCoupon,
} from "../issuing/figures.ts";
import { type Money, readMoney } from "../issuing/load-money.ts";
import { type InvoiceRequest, linesOf } from "../issuing/request.ts";
import { shownParts } from "../issuing/shown-parts.ts";
import { UNMOVED } from "../issuing/standing.ts";

/** Each has the credit and coupons that those before it leave. */
export async function shownPreviews(
  db: Queryable,
  project: ProjectId,
  requests: readonly InvoiceRequest[],
  now: Date,
): Promise<InvoicePreview[]> {
  const customers = [...new Set(requests.map(({ customer }) => customer.id))];
  const money = await readMoney(db, project, customers, now);
  const figures = await computeFigures(db, project, requests, money);
  const both = await parties.listPresent(db, project, customers);
  return figures.map((figure) => {
    const { seller = {}, buyer = {} } = both.get(figure.request.customer.id) ?? {};
    return { ...shownFigure(figure, money), seller, buyer };
  });
}

function shownFigure(figure: Figure, money: Money): Omit<InvoicePreview, "seller" | "buyer"> {
  const { request, amounts, taken, taxes, credit_applied_cents } = figure;
  const { draft, subscription } = request;
  const { subtotal_cents, discount_cents, tax_cents, total_cents } = amounts;
  const { currency, issuing_date, period_start, period_end } = draft;
  const parts = shownParts(figure);
  return {
    subscription_id: subscription?.id ?? null,
    currency,
    subtotal_cents,
    discount_cents,
    tax_cents,
    total_cents,
    credit_applied_cents,
    ...UNMOVED,
    amount_due_cents: total_cents - credit_applied_cents,
    issuing_date,
    due_date: dueDateOf(request, money),
    period_start,
    period_end,
    part_count: parts.length,
    subscription_count: subscriptionCount(parts),
    parts,
    fees: linesOf(request).map(({ fee: { money: _money, ...fee }, part_no }, i) => ({
      part: part_no,
      subscription_id: parts[part_no]?.subscription_id ?? null,
      ...fee,
      properties: { ...fee.properties },
      amount_currency: currency,
      discount_cents: amounts.fees[i]?.discount_cents ?? 0,
      taxable_cents: amounts.fees[i]?.taxable_cents ?? fee.amount_cents,
      taxes: (taxes[i] ?? []).map(({ code, percent }) => ({ code, percent })),
    })),
    coupons: amounts.coupons.map(shownCoupon),
    taxes: [...amounts.taxes],
    credits: [...taken],
    tax_note: noteFor(figure, money),
  };
}
