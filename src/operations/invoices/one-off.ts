// Creates one-off invoices.

import { type Decimal, decimal, formatDecimal, isZero, ONE } from "../../domain/decimal.ts";

import { flatAmount } from "../../domain/money.ts";
import type { FeeDraft } from "../../domain/pricing.ts";
import { notFound, refuse, refuseField } from "../../errors.ts";
import type { CatalogItem } from "../../schema/catalog.ts";
import type { InvoiceCreate } from "../../schema/invoices.ts";
import * as catalog from "../../store/catalog/catalog.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import type * as invoices from "../../store/invoices/invoices.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { reading } from "../catalog/resolve-charges.ts";
import { checkTaxCodes } from "../catalog/tax-codes.ts";
import { type By, emit } from "../emit.ts";
import { issueInvoices, takesCredit } from "../issuing/issue.ts";
import { type InvoiceRequest, requestForToday } from "../issuing/request.ts";
import { lookAtWalletsOf } from "../money/watch-wallets.ts";

export async function createInvoice(
  tx: Tx,
  settings: ProjectSettings,
  input: InvoiceCreate,
  by: By,
  now: Date,
): Promise<invoices.InvoiceRow> {
  const request = await oneOffRequest(tx, settings, input, now);
  const [issued] = await issueInvoices(tx, settings.id, [request], now);
  if (issued === undefined) throw new Error("One request makes one invoice.");
  await emit(tx, settings.id, issued.facts, by, now);
  if (takesCredit(issued.invoice)) {
    await lookAtWalletsOf(tx, settings.id, request.customer.id, by, now);
  }
  return issued.invoice;
}

/** The invoice that is asked for. Writes nothing: the preview takes it as well. */
export async function oneOffRequest(
  db: Queryable,
  settings: ProjectSettings,
  input: InvoiceCreate,
  now: Date,
): Promise<InvoiceRequest> {
  const project = settings.id;
  const customer = await customers.get(db, project, input.customer_id);
  if (customer === undefined) throw notFound("customer", { field: "customer_id" });
  const codes = input.lines.flatMap(({ catalog_item_code }) => catalog_item_code ?? []);
  const items = codes.length === 0 ? [] : await catalog.listLive(db, project, codes);
  await checkTaxCodes(
    reading(db, project),
    input.lines.map((line) => line.tax_codes),
    "lines: ",
  );
  const currency = input.currency ?? items[0]?.currency ?? customer.currency;
  const fees = input.lines.map((line, i) => feeOf(line, `lines[${i}]`, items, currency));
  const { memo, po_number, metadata, net_payment_days } = input;
  const terms = {
    ...(memo !== undefined && { memo }),
    ...(po_number !== undefined && { po_number }),
    ...(metadata !== undefined && { metadata }),
    ...(net_payment_days !== undefined && { net_payment_days }),
  };
  return { ...requestForToday(settings, customer, "one_off", { fees, currency }, now), terms };
}

function feeOf(
  line: InvoiceCreate["lines"][number],
  at: string,
  items: readonly CatalogItem[],
  currency: string,
): FeeDraft {
  const { catalog_item_code = null, unit_amount_cents = null, tax_codes = null } = line;
  if ((catalog_item_code === null) === (unit_amount_cents === null)) {
    throw refuseField(
      `${at}.unit_amount_cents`,
      catalog_item_code === null ? "required" : "exclusive",
      `${at} needs exactly one price: unit_amount_cents or catalog_item_code.`,
    );
  }
  const item = items.find(({ code }) => code === catalog_item_code);
  if (catalog_item_code !== null && item === undefined) {
    throw notFound("live catalog item", { field: `${at}.catalog_item_code`, by: "code" });
  }
  if (item !== undefined && item.currency !== currency) {
    throw refuse(
      "currency_mismatch",
      `${at}.catalog_item_code: ${item.code} is priced in ${item.currency}, the invoice in ${currency}.`,
    );
  }
  const name = line.name ?? item?.name;
  if (name === undefined) throw refuseField(`${at}.name`, "required", `${at}.name is required.`);
  const quantity = quantityOf(line.quantity, at);
  const unit_cents = unit_amount_cents ?? item?.amount_cents ?? 0;
  const amount = flatAmount(quantity, unit_cents);
  return {
    fee_type: "one_off",
    charge_id: null,
    billable_metric_code: null,
    units: formatDecimal(quantity),
    amount_cents: amount.amount_cents,
    properties: {
      name,
      ...(catalog_item_code === null ? {} : { catalog_item_code }),
      unit_amount_cents: unit_cents,
      precise_amount: amount.precise_amount,
    },
    money: { tax_codes, line: null },
  };
}

function quantityOf(text: string | undefined, at: string): Decimal {
  if (text === undefined) return ONE;
  const quantity = decimal(text);
  if (!isZero(quantity)) return quantity;
  throw refuseField(`${at}.quantity`, "minimum", `${at}.quantity must be above 0.`);
}
