// Signed links to a customer's portal, for projects whose portal is not open to everybody.

import { DAY_MS, parseTimestamp } from "../../domain/dates.ts";
import { notFound, refuseField } from "../../errors.ts";
import { emit } from "../../operations/emit.ts";
import {
  LINK_SECONDS_MAX,
  PortalLink,
  PortalLinkCreate,
  PortalLinksRevoked,
} from "../../schema/portal.ts";
import * as customers from "../../store/customers/customers.ts";
import { accessQuery, signLink } from "../portal-links.ts";
import { type Route, write } from "../route.ts";

const tag = "Portal";
const params = { id: "UUID, or ext:<external_id>." };
const SECOND_MS = 1_000;
const DEFAULT_S = 7 * (DAY_MS / SECOND_MS);

type Wanted = { readonly expires_in?: number; readonly expires_at?: string };

/** When a link ends, by the machine's clock also in a sandbox: a link is given to people. */
function expiryOf({ expires_in, expires_at }: Wanted, now: Date): Date {
  if (expires_at === undefined) {
    const until_ms = now.getTime() + (expires_in ?? DEFAULT_S) * SECOND_MS;
    return new Date(Math.floor(until_ms / SECOND_MS) * SECOND_MS);
  }
  if (expires_in !== undefined) {
    throw refuseField("expires_at", "exclusive", "Use either expires_in or expires_at, not both.");
  }
  const until = parseTimestamp(expires_at) ?? now;
  const latest_ms = now.getTime() + LINK_SECONDS_MAX * SECOND_MS;
  if (until <= now || until.getTime() > latest_ms) {
    throw refuseField("expires_at", "range", "expires_at must be within 366 days from now.");
  }
  return new Date(Math.floor(until.getTime() / SECOND_MS) * SECOND_MS);
}

const createLink = write({
  method: "POST",
  path: "/v1/customers/:id/portal-links",
  once_by: "id",
  id: "createPortalLink",
  tag,
  summary: "Make a link to a customer's portal",
  description:
    "Good until it expires or the customer's links are revoked. Needed where the setting portal_access is signed; where it is open the customer's id alone is enough.",
  scope: "write",
  project: "required",
  params,
  body: PortalLinkCreate,
  body_optional: true,
  secret_answer: true,
  reply: [201, PortalLink],
  example: { expires_in: 86_400 },
  async handle({ context, tx, project, by, params, body, now }) {
    const customer = await customers.getLinks(tx, project, params.id);
    if (customer === undefined) throw notFound("customer");
    const expires_at = expiryOf(body ?? {}, context.clock.now());
    const access = signLink(context.secret_key, customer, expires_at);
    const fact = {
      type: "portal_link.created" as const,
      resource_id: customer.id,
      payload: { expires_at },
    };
    await emit(tx, project, [fact], by, now);
    const url = `${context.config.base_url}/portal/${customer.id}${accessQuery(access)}`;
    return { url, expires_at };
  },
});

const revokeLinks = write({
  method: "DELETE",
  path: "/v1/customers/:id/portal-links",
  id: "revokePortalLinks",
  tag,
  summary: "Revoke all links to a customer's portal",
  description: "Those made before are no longer good, at once. Links made from now on are.",
  scope: "write",
  project: "required",
  params,
  reply: [200, PortalLinksRevoked],
  async handle({ tx, project, by, params, now }) {
    const customer = await customers.revokeLinks(tx, project, params.id);
    if (customer === undefined) throw notFound("customer");
    const fact = {
      type: "portal_link.revoked" as const,
      resource_id: customer.id,
      payload: {},
    };
    await emit(tx, project, [fact], by, now);
    return { revoked: true, customer_id: customer.id };
  },
});

export const portalLinkRoutes: Route[] = [createLink, revokeLinks];
