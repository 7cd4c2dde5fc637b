// Who a visitor of the portal asks for: the customer by its id alone, with its project and what is
// cached of its view.

import { customerPrefixOf, type ProjectId } from "../../ids.ts";
import type { PortalShape } from "../../schema/portal.ts";
import type { Settings } from "../../schema/settings.ts";
import type { Db, Queryable } from "../db/db.ts";
import { sql } from "../db/sql.ts";
import { joinView } from "./views.ts";

/** A customer, with what opens its portal and the cached view; null: none is cached. */
export type Found = {
  readonly project_id: ProjectId;
  readonly organization_id: string;
  readonly access: Settings["portal_access"];
  readonly links_version: number;
  readonly frozen_at: Date | null;
  readonly body: string | null;
  readonly page: PortalShape | null;
  readonly generated_at: Date | null;
};

/** The database, or a transaction, which is on a project's connection already. */
type Access = Queryable & Partial<Pick<Db, "forProject">>;

/**
 * Finds a customer of whom only the id is known, which begins with the prefix of the project.
 * Undefined when no customer has this id, or when it `isHidden`: after the same statements, so that
 * the time it takes does not tell the two apart.
 */
export async function findCustomer(
  db: Access,
  customer_id: string,
  isHidden: (found: Found) => boolean = () => false,
): Promise<Found | undefined> {
  const project = await db.maybeOne<{ project_id: ProjectId }>(sql`
    select id as project_id
      from projects
     where customer_prefix = ${customerPrefixOf(customer_id)}`);
  const found = project && (await findIn(db, project.project_id, customer_id));
  return found === undefined || isHidden(found) ? undefined : found;
}

function findIn(db: Access, project: ProjectId, customer_id: string) {
  return (db.forProject?.(project) ?? db).maybeOne<Found>(sql`
    select c.project_id, p.organization_id, p.portal_access as access,
           c.portal_links_version as links_version, k.frozen_at, v.body, v.page, v.generated_at
      from customers c
      join projects p on p.id = ${project}
      left join project_clocks k on k.project_id = ${project}
      ${joinView(project, customer_id)}
     where c.project_id = ${project} and c.id = ${customer_id}`);
}
