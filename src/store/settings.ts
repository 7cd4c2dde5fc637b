// A project's settings: what stands on its documents, and its rules of billing.

import type { Settings, SettingsPut } from "../schema/settings.ts";
import type { Queryable, Tx } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

const COLUMNS: Sql = sql`coalesce(issuer_name, name) as name, issuer_address as address,
  issuer_tax_id as tax_id, logo_color, net_payment_days, default_currency, late_usage_periods,
  portal_access`;

export function get(db: Queryable, project: ProjectId) {
  return db.one<Settings>(sql`
    select ${COLUMNS}
      from projects
     where id = ${project}`);
}

/** A field that is absent from `change` keeps its value. */
export function patch(tx: Tx, project: ProjectId, change: SettingsPut) {
  return tx.one<Settings>(sql`
    update projects
       set issuer_name = coalesce(${change.name}, issuer_name),
           issuer_address = coalesce(${change.address}, issuer_address),
           issuer_tax_id = coalesce(${change.tax_id}, issuer_tax_id),
           logo_color = coalesce(lower(${change.logo_color}), logo_color),
           net_payment_days = coalesce(${change.net_payment_days}, net_payment_days),
           default_currency = coalesce(${change.default_currency}, default_currency),
           late_usage_periods = coalesce(${change.late_usage_periods}, late_usage_periods),
           portal_access = coalesce(${change.portal_access}, portal_access)
     where id = ${project}
    returning ${COLUMNS}`);
}
