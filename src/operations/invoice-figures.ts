// Invoices that are asked for, with their amounts: taxes, coupons, and the credit that each takes
// or leaves. Shared by what writes invoices and by previews.

import { type AmountFee, type Amounts, amountsOf } from "../domain/amounts.ts";
import type { AppliedCoupon } from "../domain/coupons.ts";
import { addDays } from "../domain/dates.ts";
import { DEFAULT_PRIORITY, type Taken, takeGrants } from "../domain/grants.ts";
import type { FeeDraft } from "../domain/pricing.ts";
import { decidingCodes, type Tax, type TaxTerms } from "../domain/taxes.ts";
import { newId } from "../ids.ts";
import type * as coupons from "../store/coupons.ts";
import type { Queryable } from "../store/db.ts";
import type * as ledger from "../store/ledger.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type CouponHistory, correctedUse, lineOf, loadHistory, ownUse } from "./coupon-history.ts";
import type { InvoiceRequest } from "./invoice-request.ts";
import { type Money, taxTermsOf } from "./load-money.ts";

/** An invoice with its amounts, before it is written. */
export type Figure = {
  readonly request: InvoiceRequest;
  readonly id: string;
  readonly fee_ids: readonly string[];
  readonly taxes: readonly (readonly Tax[])[];
  readonly amounts: Amounts;
  readonly taken: readonly Taken[];
  readonly credit_applied_cents: number;
};

/**
 * In the order of the requests: what one takes of coupons and grants the next cannot, and the
 * credit that one gives may pay the next.
 */
export async function computeFigures(
  db: Queryable,
  project: ProjectId,
  requests: readonly InvoiceRequest[],
  money: Money,
): Promise<Figure[]> {
  const history = await loadHistory(db, project, requests, money);
  const running = new Map(history.coupons);
  const usable = new Map([...money.grants].map(([id, list]) => [id, [...list]]));
  const lastOf = new Map(requests.map((request) => [request.customer.id, request]));
  return requests.map((request) => {
    const { draft, customer } = request;
    const id = newId();
    const terms = taxTermsOf(money, customer.id);
    const usual = taxesOf(terms, null);
    const taxes = draft.fees.map((fee) => taxesOn(fee, terms, usual));
    const isTopUp = request.cause === "top_up";
    const own = isTopUp ? NONE : (running.get(customer.id) ?? NONE);
    const own_use = own.length === 0 ? "" : ownUse(request, id);
    const fees = draft.fees.map((fee, i) =>
      amountFee(fee, taxes[i] ?? NONE, request, own_use, history),
    );
    const subscription_id = request.subscription?.id ?? null;
    const invoice = { currency: draft.currency, subscription_id, own_use };
    const amounts = amountsOf(fees, own, invoice);
    const isLast = lastOf.get(customer.id) === request;
    if (own.length > 0 && !isLast) {
      const after = own.map((coupon) => afterInvoice(coupon, amounts));
      running.set(customer.id, after);
    }
    const grants = usable.get(customer.id) ?? [];
    const inCurrency = grants.filter(({ currency }) => currency === draft.currency);
    const taken = isTopUp ? NONE : takeGrants(amounts.total_cents, inCurrency);
    if (!isLast) usable.set(customer.id, afterTaking(grants, taken));
    const credit_applied_cents = taken.reduce((sum, { amount_cents }) => sum + amount_cents, 0);
    const figure = { request, id, fee_ids: fees.map(() => newId()), taxes, amounts, taken };
    const made = creditGrant({ ...figure, credit_applied_cents });
    if (made !== undefined) {
      const { amount_cents: remaining_cents } = made;
      usable.get(customer.id)?.push({ ...made, remaining_cents });
    }
    return { ...figure, credit_applied_cents };
  });
}

const NONE: readonly never[] = [];
const NO_LINE: AmountFee["line"] = new Map();

/** `usual` are those of fees that say nothing about taxes, which is most of them. */
function taxesOn(fee: FeeDraft, now: TaxTerms | null, usual: readonly Tax[]): readonly Tax[] {
  if (fee.fee_type === "top_up") return NONE;
  const { corrects, tax_codes = null } = fee.money ?? {};
  // A late line is taxed as what it corrects was, if that was billed before.
  if (corrects?.taxes !== undefined) return taxesOf(corrects.taxes, tax_codes);
  return tax_codes === null ? usual : taxesOf(now, tax_codes);
}

/** The charge's or plan's word, else the customer's, else that of the settings. */
function taxesOf(terms: TaxTerms | null, own: readonly string[] | null): readonly Tax[] {
  if (terms === null || terms.is_exempt) return NONE;
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
  request: InvoiceRequest,
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
    use: isCounted ? correctedUse(corrects, request) : own_use,
    corrected_period_end: corrects?.ended_at ?? null,
    gives_back_base: corrects?.gives_back_base ?? false,
    line: isCounted ? lineDiscounts(lines.get(lineOf(fee, request) ?? "") ?? []) : NO_LINE,
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

/** What lies below 0 is given back; it has the invoice's own id as the credit's. */
export function creditGrant({
  request,
  id,
  amounts,
}: Omit<Figure, "taken">): ledger.NewGrant | undefined {
  if (amounts.credit_cents === 0) return undefined;
  return {
    id,
    customer_id: request.customer.id,
    currency: request.draft.currency,
    kind: "negative_total",
    name: "",
    amount_cents: amounts.credit_cents,
    priority: DEFAULT_PRIORITY,
    expires_at: null,
    status: "active",
    invoice_id: id,
    payment_id: null,
  };
}

/** By the invoice's own terms, the customer's, or the project's. */
export function dueDateOf({ draft, customer, terms }: InvoiceRequest, money: Money): string {
  const days = terms?.net_payment_days ?? money.customers.get(customer.id)?.net_payment_days;
  const isOwn = days !== null && days !== undefined;
  return isOwn ? addDays(draft.issuing_date, days) : draft.due_date;
}

/** Why there is no tax, in words. */
export function noteFor({ cause, customer }: InvoiceRequest, money: Money): string {
  const { tax_exemption = null, tax_note = "" } = money.customers.get(customer.id) ?? {};
  if (tax_exemption === null || cause === "top_up") return "";
  if (tax_note !== "") return tax_note;
  return tax_exemption === "exempt" ? "Exempt from tax" : "Reverse charge";
}

export function shownCoupon({ coupon, amount_cents }: Amounts["coupons"][number]) {
  const { id: applied_coupon_id, code, name, percent } = coupon;
  return { applied_coupon_id, code, name, percent, amount_cents };
}
