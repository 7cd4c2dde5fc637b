// Everything that stands on the document of an invoice, read for the renderers.

import { type InvoiceDocument, invoiceDocument } from "../domain/documents.ts";
import { maskedEmail } from "../domain/email-mask.ts";
import type { Invoice } from "../schema/invoices.ts";
import * as customers from "../store/customers.ts";
import type { Queryable } from "../store/db.ts";
import * as documents from "../store/documents.ts";
import * as invoices from "../store/invoices.ts";
import * as settings from "../store/settings.ts";
import type { ProjectId } from "../store/tenants.ts";

/** Needs a snapshot. A `stranger` has a link and no token, and sees the email masked. */
export async function readDocument(
  db: Queryable,
  project: ProjectId,
  invoice: Invoice,
  reader: "owner" | "stranger",
): Promise<InvoiceDocument> {
  const fees = await invoices.listFees(db, project, invoice.id);
  const issuer = await settings.get(db, project);
  const customer = await customers.get(db, project, invoice.customer_id);
  if (customer === undefined) throw new Error("An invoice always has a customer.");
  const metricCodes = fees.flatMap((fee) => fee.billable_metric_code ?? []);
  const itemCodes = fees.flatMap(({ properties: { catalog_item_code: code } }) =>
    typeof code === "string" ? [code] : [],
  );
  const metrics = await documents.listMetrics(db, project, metricCodes);
  const names = {
    plan:
      invoice.subscription_id === null
        ? undefined
        : await documents.getPlan(db, project, invoice.id),
    metrics: byCode(metrics),
    catalog: byCode(await documents.listCatalogNames(db, project, itemCodes)),
    dimensions: new Map(metrics.map(({ code, dimensions }) => [code, dimensions])),
  };
  const { name, external_id } = customer;
  const email = reader === "owner" ? customer.email : maskedEmail(customer.email);
  return invoiceDocument({
    issuer,
    customer: { name, email, reference: external_id },
    invoice: { ...invoice, fees },
    names,
  });
}

function byCode(rows: readonly documents.Named[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ code, name }) => [code, name]));
}
