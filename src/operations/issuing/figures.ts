// Invoices that are asked for, with their amounts: taxes, coupons, and the credit that each takes
// or leaves. Shared by what writes invoices and by previews.

import { type AmountFee, type Amounts, amountsOf } from "../../domain/amounts.ts";
import type { AppliedCoupon } from "../../domain/coupons.ts";
import { addDays } from "../../domain/dates.ts";
import { type Taken, takeGrants } from "../../domain/grants.ts";
import type { InvoiceDraft } from "../../domain/invoicing.ts";
import type { FeeDraft } from "../../domain/pricing.ts";
import {
  decidingCodes,
  type Exemption,
  exemptionOf,
  type Tax,
  type TaxTerms,
} from "../../domain/taxes.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type * as coupons from "../../store/catalog/coupons.ts";
import type { Queryable } from "../../store/db/db.ts";
import type * as ledger from "../../store/money/ledger.ts";
import { type Credit, grantOf } from "./add-credit.ts";
import { type CouponHistory, correctedUse, lineOf, loadHistory, ownUse } from "./coupon-history.ts";
import { type Money, taxTermsOf } from "./load-money.ts";
import { type InvoiceRequest, linesOf, type Part } from "./request.ts";

/** An invoice with its amounts, before it is written. */
export type Figure = {
  readonly request: InvoiceRequest;
  readonly id: string;
  readonly fee_ids: readonly string[];
  readonly taxes: readonly (readonly Tax[])[];
  /** Fee by fee: why it has no tax. */
  readonly exemptions: readonly (Exemption | null)[];
  readonly amounts: Amounts;
  readonly taken: readonly Taken[];
  readonly credit_applied_cents: number;
};

/**
 * Computes them in the order of the requests: what one takes of coupons and grants the next cannot,
 * and the credit that one gives may pay the next.
 */
export async function computeFigures(
  db: Queryable,
  project: ProjectId,
  requests: readonly InvoiceRequest[],
  money: Money,
): Promise<Figure[]> {
  const history = await loadHistory(db, project, requests, money);
  // By customer, as the invoices before leave them.
  const couponsLeft = new Map(history.coupons);
  const grantsLeft = new Map([...money.grants].map(([id, list]) => [id, [...list]]));
  const lastOf = new Map(requests.map((request) => [request.customer.id, request]));
  return requests.map((request) => {
    const { draft, customer } = request;
    const id = newId();
    const terms = taxTermsOf(money, customer.id);
    const usual = taxesOf(terms, null);
    const taxes = draft.fees.map((fee) => taxesOn(fee, terms, usual));
    const exemptions = draft.fees.map((fee) => termsOn(fee, terms)?.exemption ?? null);
    const isTopUp = isOfTopUp(request);
    const applied = isTopUp ? NONE : (couponsLeft.get(customer.id) ?? NONE);
    const ownUses = request.parts.map((part) => (applied.length === 0 ? "" : ownUse(part, id)));
    const fees = linesOf(request).map(({ fee, part, part_no }, i) =>
      amountFee(fee, taxes[i] ?? NONE, part, ownUses[part_no] ?? "", history),
    );
    const amounts = amountsOf(fees, applied, draft);
    const isLast = lastOf.get(customer.id) === request;
    if (applied.length > 0 && !isLast) {
      const after = applied.map((coupon) => afterInvoice(coupon, amounts));
      couponsLeft.set(customer.id, after);
    }
    const grants = grantsLeft.get(customer.id) ?? [];
    const inTime = grants.filter((grant) => isUsable(grant, draft));
    const taken = isTopUp ? NONE : takeGrants(amounts.total_cents, inTime);
    if (!isLast) grantsLeft.set(customer.id, afterTaking(grants, taken));
    const credit_applied_cents = taken.reduce((sum, { amount_cents }) => sum + amount_cents, 0);
    const figure = {
      request,
      id,
      fee_ids: fees.map(() => newId()),
      taxes,
      exemptions,
      amounts,
      taken,
    };
    const credit = creditOf(figure);
    if (credit !== undefined) {
      const { amount_cents: remaining_cents } = credit;
      grantsLeft.get(customer.id)?.push({ ...grantOf(id, credit), remaining_cents });
    }
    return { ...figure, credit_applied_cents };
  });
}

const NONE: readonly never[] = [];

function isOfTopUp({ parts }: InvoiceRequest): boolean {
  return parts.some(({ reason }) => reason === "top_up");
}

/** Whether the grant can pay the invoice: a preview is of a later day, when some have expired. */
function isUsable({ currency, expires_at }: ledger.OwnedGrant, draft: InvoiceDraft): boolean {
  return currency === draft.currency && (expires_at === null || expires_at > draft.issued_at);
}

const NO_LINE: AmountFee["line"] = new Map();

/** `usual` are the taxes of a fee that says nothing about them, as most do not. */
function taxesOn(fee: FeeDraft, now: TaxTerms | null, usual: readonly Tax[]): readonly Tax[] {
  if (fee.fee_type === "top_up") return NONE;
  const terms = termsOn(fee, now);
  const { tax_codes = null } = fee.money ?? {};
  return terms === now && tax_codes === null ? usual : taxesOf(terms, tax_codes);
}

/** A late line is taxed as what it corrects was, if that was billed before. */
function termsOn({ money, fee_type }: FeeDraft, now: TaxTerms | null): TaxTerms | null {
  if (fee_type === "top_up") return null;
  return money?.corrects?.taxes === undefined ? now : money.corrects.taxes;
}

/** The taxes that the charge or the plan names, else the customer, else the settings. */
function taxesOf(terms: TaxTerms | null, own: readonly string[] | null): readonly Tax[] {
  if (terms === null || terms.exemption) return NONE;
  const codes = decidingCodes([own, terms.customer_codes, terms.settings_codes]);
  return codes.flatMap((code) => {
    const tax = terms.taxes[code];
    return tax === undefined ? [] : [{ code, ...tax }];
  });
}

/** `own_use` is "" where there is no coupon to count it. */
function amountFee(
  fee: FeeDraft,
  taxes: readonly Tax[],
  part: Part,
  own_use: string,
  { lines }: CouponHistory,
): AmountFee {
  const { amount_cents, fee_type, billable_metric_code, money } = fee;
  const corrects = money?.corrects;
  const { plan_code } = fee.properties;
  const isCounted = own_use !== "" && corrects !== undefined;
  return {
    amount_cents,
    fee_type,
    plan_code: typeof plan_code === "string" ? plan_code : null,
    metric_code: billable_metric_code,
    subscription_id: part.subscription?.id ?? null,
    use: isCounted ? correctedUse(corrects, part) : own_use,
    corrected_period_end: corrects?.ended_at ?? null,
    gives_back_base: corrects?.gives_back_base ?? false,
    line: isCounted ? lineDiscounts(lines.get(lineOf(fee, part) ?? "") ?? []) : NO_LINE,
    taxes,
  };
}

function lineDiscounts(parts: readonly coupons.LinePart[]): AmountFee["line"] {
  return new Map(parts.map(({ applied_coupon_id, ...discount }) => [applied_coupon_id, discount]));
}

function afterInvoice(coupon: AppliedCoupon, amounts: Amounts): AppliedCoupon {
  const uses = new Map(coupon.uses);
  const taken = new Map(coupon.taken);
  for (const { parts } of amounts.fees) {
    for (const { applied_coupon_id, use, amount_cents, is_taken_back } of parts) {
      if (applied_coupon_id !== coupon.id) continue;
      taken.set(use, (taken.get(use) ?? 0) + amount_cents);
      if (!is_taken_back) uses.set(use, (uses.get(use) ?? 0) + amount_cents);
    }
  }
  return { ...coupon, uses, taken };
}

function afterTaking(
  grants: readonly ledger.OwnedGrant[],
  taken: readonly Taken[],
): ledger.OwnedGrant[] {
  const by = new Map(taken.map(({ grant_id, amount_cents }) => [grant_id, amount_cents]));
  return grants.map((grant) => ({
    ...grant,
    remaining_cents: grant.remaining_cents - (by.get(grant.id) ?? 0),
  }));
}

/** What lies below 0 is given back. The grant has the id of the invoice. */
export function creditOf({
  request: { customer, draft },
  id: invoice_id,
  amounts,
}: Pick<Figure, "request" | "id" | "amounts">): Credit | undefined {
  const { credit_cents: amount_cents } = amounts;
  if (amount_cents === 0) return undefined;
  const of = { customer_id: customer.id, currency: draft.currency, invoice_id };
  return { ...of, amount_cents, reason: "negative_total" };
}

/** The due date by the invoice's own terms, else by the customer's, else by the project's. */
export function dueDateOf({ draft, customer, terms }: InvoiceRequest, money: Money): string {
  const known = money.customers.get(customer.id);
  if (known === undefined) return draft.due_date;
  const { net_payment_days, settings_net_payment_days } = known;
  // The draft was made with settings that the process may know from a moment ago.
  const days = terms?.net_payment_days ?? net_payment_days ?? settings_net_payment_days;
  return addDays(draft.issuing_date, days);
}

/** Why there is no tax, in words: the customer's reason of now, and those of late lines. */
export function noteFor({ request, exemptions }: Figure, money: Money): string {
  const customer = money.customers.get(request.customer.id);
  if (customer === undefined || isOfTopUp(request)) return "";
  const all = [exemptionOf(customer), ...exemptions].flatMap((each) => each?.tax_reason ?? []);
  return [...new Set(all)].join("; ");
}

export function shownCoupon({ coupon, amount_cents }: Amounts["coupons"][number]) {
  const { id: applied_coupon_id, code, name, percent } = coupon;
  return { applied_coupon_id, code, name, percent, amount_cents };
}
