// The link under the Pay button: the invoice's own, or the project's template filled in.

import { refuseField } from "../errors.ts";
import { dueOf, type Standing } from "./amounts.ts";

const PLACEHOLDERS = [
  "invoice_id",
  "number",
  "customer_id",
  "external_id",
  "amount_due_cents",
  "currency",
] as const;

/** Names in braces that are no placeholder. An invoice's own link may have them too. */
function unknownPlaceholders(template: string): string[] {
  return [...template.matchAll(/\{([^{}]*)\}/g)]
    .map(([, name = ""]) => name)
    .filter((name) => !PLACEHOLDERS.some((known) => known === name));
}

/** Refuses all but https with known placeholders; "" and null are no link. `at` says where. */
export function checkPaymentUrl(url: string | null | undefined, at = ""): void {
  if (url === undefined || url === null || url === "") return;
  const [unknown] = unknownPlaceholders(url);
  const isLink = /^https:\/\/[^\s]+$/.test(url);
  if (isLink && unknown === undefined) return;
  const message = isLink
    ? `payment_url: {${unknown}} is not known; write ${PLACEHOLDERS.map((p) => `{${p}}`).join(" ")}.`
    : "payment_url must begin with https://.";
  throw refuseField(`${at}payment_url`, "format", message);
}

export type Payable = Standing & {
  readonly id: string;
  readonly number: string;
  readonly status: string;
  readonly customer_id: string;
  readonly currency: string;
  readonly own_payment_url: string | null;
};

/** The link to pay at, null when nothing is due or no link is known. */
export function paymentUrl(invoice: Payable, template: string, external_id: string): string | null {
  const due = invoice.status === "voided" ? 0 : dueOf(invoice);
  if (due <= 0) return null;
  const link = invoice.own_payment_url ?? template;
  if (link === "") return null;
  const values: Readonly<Record<(typeof PLACEHOLDERS)[number], string>> = {
    invoice_id: invoice.id,
    number: invoice.number,
    customer_id: invoice.customer_id,
    external_id,
    amount_due_cents: String(due),
    currency: invoice.currency,
  };
  return link.replace(/\{([^{}]*)\}/g, (_, name: string) =>
    encodeURIComponent(values[name as keyof typeof values] ?? ""),
  );
}
