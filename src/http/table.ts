// Every route of the service, once. Router, OpenAPI, reference page and tests are made from it.

import type { Context } from "../context.ts";
import type { Bounds } from "./admission/bound.ts";
import { PortalCache } from "./cache/portal-cache.ts";
import { PdfMaker } from "./documents/pdf-maker.ts";
import { PdfSender } from "./documents/send-document.ts";
import type { Readiness } from "./readiness.ts";
import type { Route } from "./route.ts";
import { addOnRoutes } from "./routes/addons.ts";
import { analyticsRoutes } from "./routes/analytics.ts";
import { billingEventRoutes } from "./routes/billing-events.ts";
import { catalogRoutes } from "./routes/catalog.ts";
import { clockRoutes } from "./routes/clock.ts";
import { couponRoutes } from "./routes/coupons.ts";
import { creditNoteRoutes } from "./routes/credit-notes.ts";
import { customerRoutes } from "./routes/customers.ts";
import { documentRoutes } from "./routes/documents.ts";
import { dunningRoutes } from "./routes/dunning.ts";
import { eInvoiceRoutes } from "./routes/e-invoices.ts";
import { eventRoutes } from "./routes/events.ts";
import { grantRoutes } from "./routes/grants.ts";
import { homeRoutes } from "./routes/home.ts";
import { invoiceRoutes } from "./routes/invoices.ts";
import { keyRoutes } from "./routes/keys.ts";
import { mcpRoutes } from "./routes/mcp.ts";
import { metricRoutes } from "./routes/metrics.ts";
import { paymentRoutes } from "./routes/payments.ts";
import { planRoutes } from "./routes/plans.ts";
import { portalRoutes } from "./routes/portal.ts";
import { portalLinkRoutes } from "./routes/portal-links.ts";
import { settingsRoutes } from "./routes/settings.ts";
import { subscriptionRoutes } from "./routes/subscriptions.ts";
import { systemRoutes } from "./routes/system.ts";
import { taxRoutes } from "./routes/taxes.ts";
import { tenantRoutes } from "./routes/tenants.ts";
import { webhookRoutes } from "./routes/webhooks.ts";

export function routeTable(
  context: Context,
  readiness: Readiness,
  bounds: Bounds,
): readonly Route[] {
  const { db } = context;
  bounds.addLevel({
    name: "database",
    level: () => db.stats?.waiting ?? 0,
    refusals: () => db.stats?.refused ?? 0,
  });
  const views = new PortalCache(context, bounds);
  const pdfs = new PdfSender(new PdfMaker(bounds), bounds);
  const table: Route[] = [
    ...keyRoutes(),
    ...tenantRoutes,
    ...customerRoutes,
    ...metricRoutes,
    ...catalogRoutes,
    ...planRoutes,
    ...addOnRoutes,
    ...subscriptionRoutes,
    ...eventRoutes(context, bounds),
    ...invoiceRoutes,
    ...paymentRoutes,
    ...creditNoteRoutes,
    ...taxRoutes,
    ...couponRoutes,
    ...grantRoutes,
    ...analyticsRoutes,
    ...webhookRoutes,
    ...dunningRoutes,
    ...clockRoutes,
    ...settingsRoutes,
    ...portalRoutes(views),
    ...portalLinkRoutes,
    ...documentRoutes(views, pdfs),
    ...eInvoiceRoutes,
    ...billingEventRoutes,
    ...mcpRoutes(() => table),
  ];
  table.push(...homeRoutes(readiness), ...systemRoutes(context, readiness, () => table));
  return table;
}
