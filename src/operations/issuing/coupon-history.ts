// What coupons took before, as far as it decides what they take now. Most coupons need none of it:
// one of a percentage for ever asks only for the periods that are corrected.

import type { AppliedCoupon } from "../../domain/coupons.ts";
import { fullPeriodOf } from "../../domain/full-periods.ts";
import { groupBy } from "../../domain/group-by.ts";
import type { Corrected, FeeDraft } from "../../domain/pricing.ts";
import type { ProjectId } from "../../ids.ts";
import * as coupons from "../../store/catalog/coupons.ts";
import type { Queryable } from "../../store/db/db.ts";
import type { Money } from "./load-money.ts";
import { type InvoiceRequest, linesOf, type Part } from "./request.ts";

export type CouponHistory = {
  /** Coupons by customer, in the order in which they were applied. */
  readonly coupons: ReadonlyMap<string, AppliedCoupon[]>;
  /** What each coupon took, by the line that is now corrected. */
  readonly lines: ReadonlyMap<string, coupons.LinePart[]>;
};

const NOTHING: CouponHistory = { coupons: new Map(), lines: new Map() };
const NEVER: Pick<AppliedCoupon, "uses" | "taken"> = { uses: new Map(), taken: new Map() };

export async function loadHistory(
  db: Queryable,
  project: ProjectId,
  requests: readonly InvoiceRequest[],
  money: Money,
): Promise<CouponHistory> {
  if (money.coupons.size === 0) return NOTHING;
  const wanted = wantedOf(requests, money);
  const [counted, named, lines] = await Promise.all([
    coupons.listUses(db, project, [...wanted.counted]),
    coupons.listNamedUses(db, project, wanted.uses),
    coupons.listLines(db, project, wanted.corrected, wanted.lines),
  ]);
  const uses = groupBy([...counted, ...named], ({ applied_coupon_id }) => applied_coupon_id);
  const withUses = [...money.coupons].map(([id, list]): [string, AppliedCoupon[]] => [
    id,
    list.map((row) => ({ ...row, ...usesOf(uses.get(row.id)) })),
  ]);
  return { coupons: new Map(withUses), lines: groupBy(lines, ({ line }) => line) };
}

type Wanted = {
  /** Coupons that last a number of uses: all their uses are read. */
  readonly counted: Set<string>;
  readonly uses: coupons.NamedUse[];
  readonly corrected: coupons.NamedUse[];
  readonly lines: string[];
};

function wantedOf(requests: readonly InvoiceRequest[], money: Money): Wanted {
  const wanted: Wanted = { counted: new Set(), uses: [], corrected: [], lines: [] };
  for (const request of requests) {
    const own = money.coupons.get(request.customer.id);
    if (own === undefined) continue;
    const lines = linesOf(request);
    const corrected = new Set(
      lines.flatMap(({ fee, part }) => {
        const corrects = fee.money?.corrects;
        return corrects === undefined ? [] : [correctedUse(corrects, part)];
      }),
    );
    const uses = new Set(request.parts.map((part) => ownUse(part, "")));
    for (const { id: applied_coupon_id, times, percent } of own) {
      const named = [...corrected].map((use) => ({ applied_coupon_id, use }));
      wanted.corrected.push(...named);
      if (times !== null) wanted.counted.add(applied_coupon_id);
      else if (percent !== null) wanted.uses.push(...named);
      else wanted.uses.push(...[...uses].map((use) => ({ applied_coupon_id, use })));
    }
    wanted.lines.push(...lines.flatMap(({ fee, part }) => correctedLine(fee, part)));
  }
  return wanted;
}

function correctedLine(fee: FeeDraft, part: Part): string[] {
  const line = fee.money?.corrects === undefined ? null : lineOf(fee, part);
  return line === null ? [] : [line];
}

/** What was taken back is no use, but a pot can give it again. */
function usesOf(uses: readonly coupons.Use[] | undefined): Pick<AppliedCoupon, "uses" | "taken"> {
  if (uses === undefined) return NEVER;
  return {
    uses: new Map(uses.map(({ use, use_cents }) => [use, use_cents])),
    taken: new Map(uses.map(({ use, cents }) => [use, cents])),
  };
}

/** The billing period that a part is one of, or the invoice itself. */
export function ownUse({ draft, subscription }: Part, invoice_id: string): string {
  return draft.part === null || subscription === null
    ? `invoice ${invoice_id}`
    : `${subscription.id} ${fullPeriodOf(draft.part)}`;
}

export function correctedUse({ part }: Corrected, { subscription }: Part): string {
  return `${subscription?.id} ${fullPeriodOf(part)}`;
}

/** Which line of which period a fee is, or corrects. */
export function lineOf(fee: FeeDraft, { subscription, period_no }: Part): string | null {
  const line = fee.money?.line ?? null;
  if (subscription === null || line === null) return null;
  return `${subscription.id} ${fee.money?.corrects?.period_no ?? period_no} ${line}`;
}
