// The customer portal: public data by the customer's id alone, the page for people, and purges.

import Type from "typebox";
import { notFound, type Refusal, refuse } from "../../errors.ts";
import { canonicalUuid, type ProjectId } from "../../ids.ts";
import { type By, emit } from "../../operations/emit.ts";
import { readPortalList } from "../../operations/portal/read-page.ts";
import { PORTAL_SCRIPT, renderPortalError } from "../../pages/portal/frame.ts";
import { renderPortal, renderPortalList } from "../../pages/portal/page.ts";
import { OneOf } from "../../schema/common.ts";
import { Portal, type PortalListKind, Purged, PurgedAll } from "../../schema/portal.ts";
import * as settingsStore from "../../store/customers/settings.ts";
import type { Tx } from "../../store/db/db.ts";
import { findCustomer } from "../../store/portal/found.ts";
import * as portalViews from "../../store/portal/views.ts";
import { listProjectIds } from "../../store/tenants/tenants.ts";
import type { PortalCache } from "../cache/portal-cache.ts";
import { PAGE_HEADERS, sendPage } from "../documents/send-page.ts";
import { ACCESS_CHARS_MAX, accessQuery } from "../portal-links.ts";
import { mayReach } from "../request/auth.ts";
import { JSON_TYPE } from "../responses.ts";
import { Content, Reply, type Route, type RouteRequest, read, write } from "../route.ts";

const tag = "Portal";
const params = { customerId: "UUID of the customer." };
export const Access = Type.Optional(
  Type.String({
    maxLength: ACCESS_CHARS_MAX,
    description: "Of a signed link: needed where the setting portal_access is signed.",
  }),
);
const LIST_KINDS = ["invoices", "payments", "credit-notes"] as const;
const query = Type.Object({
  access: Access,
  refresh: Type.Optional(OneOf(["0", "1"], "1 bypasses the kept view and computes a new one.")),
});

export function portalRoutes(views: PortalCache): Route[] {
  const lists = LIST_KINDS.map((kind) => portalList(views, kind));
  return [portalData(views), purgeOne, purgeAll, portalPage(views), ...lists, portalScript];
}

function portalData(views: PortalCache): Route {
  return read({
    method: "GET",
    path: "/v1/portal/:customerId",
    id: "getPortal",
    errors: ["limit_exceeded", "rate_limited", "unavailable"],
    tag,
    summary: "A customer's own view",
    description:
      "Needs no token: whoever has the id may read, or, where the setting portal_access is signed, whoever has a link. Kept for 30 days; dropped by a change of the customer, a purge, or refresh=1, which is limited and answers 429 beyond. The header X-Portal-Cache says hit or miss.",
    scope: "public",
    project: "none",
    params,
    query,
    reply: [200, Portal],
    headers: {
      ...PAGE_HEADERS,
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "x-portal-cache, retry-after",
    },
    async handle({ params, query, request }) {
      views.admit(request.ip);
      const visit = { customerId: params.customerId, access: query.access };
      const view = await views.read(visit, query.refresh === "1");
      return new Reply(200, new Content(JSON_TYPE, view.body), { "x-portal-cache": view.cache });
    },
  });
}

const purgeOne = write({
  method: "DELETE",
  path: "/v1/portal-cache/:customerId",
  id: "purgePortalCache",
  tag,
  summary: "Purge a customer's cached view",
  description: "An unknown customer, or one of somebody else, gives the same answer.",
  scope: "write",
  project: "optional",
  params,
  reply: [200, Purged],
  async handle({ tx, project, actor, by, params, now }) {
    const customer_id = canonicalUuid(params.customerId);
    if (customer_id === undefined) throw refuse("not_found", "The customer's id must be a UUID.");
    const owner = await findCustomer(tx, customer_id);
    const isOurs = owner?.organization_id === actor.organization_id;
    const isWanted = project === undefined || owner?.project_id === project;
    if (isOurs && isWanted && mayReach(actor, owner.project_id)) {
      await portalViews.drop(tx, owner.project_id, [customer_id]);
      await logPurge(tx, owner.project_id, customer_id, {}, by, now);
    }
    return { purged: true, customer_id };
  },
});

const purgeAll = write({
  method: "DELETE",
  path: "/v1/portal-cache",
  id: "purgeAllPortalCache",
  tag,
  summary: "Purge all cached views",
  description: "Of the project in the header, or without it of every project of the organization.",
  scope: "write",
  project: "optional",
  reply: [200, PurgedAll],
  async handle({ tx, project, actor, by, now }) {
    const projects =
      project === undefined
        ? await listProjectIds(tx, actor.organization_id, actor.project_ids)
        : [project];
    let total = 0;
    for (const id of projects) {
      const count = await portalViews.dropAll(tx, id);
      total += count;
      if (count > 0 || project !== undefined) await logPurge(tx, id, id, { count }, by, now);
    }
    return { purged: true, count: total };
  },
});

async function logPurge(
  tx: Tx,
  project: ProjectId,
  resource_id: string,
  payload: Record<string, unknown>,
  by: By,
  now: Date,
): Promise<void> {
  const fact = { type: "portal_cache.purged" as const, resource_id, payload };
  await emit(tx, project, [fact], by, now);
}

/** A page for people, which is no part of the API. */
const shown = {
  method: "GET",
  tag,
  scope: "public",
  project: "none",
  reply: [200, null],
  hidden: true,
  errors: ["limit_exceeded", "rate_limited", "unavailable"],
  refusalPage: portalRefusal,
} as const;

function portalPage(views: PortalCache): Route {
  return read({
    ...shown,
    path: "/portal/:customerId",
    id: "getPortalPage",
    summary: "The portal as a page for people",
    params,
    query: Type.Object({ access: Access }),
    async handle({ db, params, query, request }) {
      views.admit(request.ip);
      const { access } = query;
      const visit = { customerId: params.customerId, access };
      const { portal, page, project } = await views.show(visit);
      const issuer = await settingsStore.get(db, project);
      return sendPage(renderPortal({ portal, page, issuer, access }));
    },
  });
}

const LIST_IDS = {
  invoices: "getPortalInvoicesPage",
  payments: "getPortalPaymentsPage",
  "credit-notes": "getPortalCreditNotesPage",
} as const satisfies Record<PortalListKind, string>;

function portalList(views: PortalCache, kind: PortalListKind): Route {
  return read({
    ...shown,
    path: `/portal/:customerId/${kind}`,
    id: LIST_IDS[kind],
    summary: "A list of the portal as a page for people",
    params,
    query: Type.Object({
      access: Access,
      page: Type.Optional(Type.String({ pattern: "^[1-9][0-9]{0,2}$" })),
    }),
    async handle({ db, params, query, request }) {
      views.admit(request.ip);
      const { access, page = "1" } = query;
      const number = Number(page);
      const visit = { customerId: params.customerId, access };
      const { id, project_id: project } = await views.enter(visit);
      const list = await db
        .forProject(project)
        .snapshot((tx) => readPortalList(tx, project, id, kind, number));
      if (list === undefined) throw notFound("customer");
      const issuer = await settingsStore.get(db, project);
      return sendPage(renderPortalList({ list, kind, number, issuer, access }));
    },
  });
}

const portalScript = read({
  method: "GET",
  path: "/portal-assets/refresh.js",
  id: "getPortalScript",
  tag,
  summary: "The page's only script",
  scope: "public",
  project: "none",
  reply: [200, null],
  hidden: true,
  async handle() {
    return new Reply(200, new Content("text/javascript; charset=utf-8", PORTAL_SCRIPT), {
      ...PAGE_HEADERS,
      "cache-control": "public, max-age=3600",
    });
  },
});

/** A refusal as a page of the portal. */
export function portalRefusal(
  { code, status, headers }: Refusal,
  { url, query }: RouteRequest,
): Reply<Content> {
  const [path = ""] = url.split("?");
  const again = path + accessQuery(typeof query.access === "string" ? query.access : undefined);
  return sendPage(renderPortalError(code, again), status, headers);
}
