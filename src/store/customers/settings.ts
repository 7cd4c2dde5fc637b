// A project's settings: what stands on its documents, and its rules of billing.

import type { ProjectId } from "../../ids.ts";
import type { Settings, SettingsPut } from "../../schema/settings.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Sql, sql } from "../db/sql.ts";
import { keepSeller } from "./parties.ts";

const COLUMNS: Sql = sql`coalesce(issuer_name, name) as name, issuer_address as address,
  issuer_city as city, issuer_postal_code as postal_code, issuer_region as region,
  issuer_country as country, issuer_tax_id as tax_id, tax_codes, footer, invoice_prefix,
  credit_note_prefix, payment_url, payment_instructions, support_email, logo_color, net_payment_days,
  default_currency, late_usage_periods, portal_access, invoice_grouping`;

export function get(db: Queryable, project: ProjectId) {
  return db.one<Settings>(sql`
    select ${COLUMNS}
      from projects
     where id = ${project}`);
}

/** Settings that invoices name the seller by. */
const SELLER_FIELDS = [
  "name",
  "address",
  "city",
  "postal_code",
  "region",
  "country",
  "tax_id",
] as const;

/** Locks the settings, before all else, so that what is checked against them stays true. */
export async function lock(tx: Tx, project: ProjectId): Promise<void> {
  await tx.many(sql`
    select 1
      from projects
     where id = ${project}
       for no key update`);
}

/** Tells the workers that customers here may have one invoice; before all other locks. */
export async function keepGrouping(tx: Tx, project: ProjectId): Promise<void> {
  await tx.run(sql`
    update projects
       set groups_customers = true
     where id = ${project} and not groups_customers`);
}

/** All prefixes there ever were: a constraint keeps those of the two kinds of documents apart. */
function withPrefix(column: Sql, prefix: string | undefined): Sql {
  return sql`case when ${prefix ?? null}::text = any(${column}) is not false then ${column}
                 else ${column} || ${prefix ?? null}::text end`;
}

/** Changes the fields that `change` has; only tax_codes can be set to null. */
export async function patch(tx: Tx, project: ProjectId, change: SettingsPut): Promise<Settings> {
  const isPartyChange = SELLER_FIELDS.some((field) => change[field] !== undefined);
  // Invoices that are issued name the version of the seller that is about to be replaced.
  if (isPartyChange) await keepSeller(tx, project);
  return tx.one<Settings>(sql`
    update projects
       set issuer_name = coalesce(${change.name}, issuer_name),
           issuer_address = coalesce(${change.address}, issuer_address),
           issuer_city = coalesce(${change.city}, issuer_city),
           issuer_postal_code = coalesce(${change.postal_code}, issuer_postal_code),
           issuer_region = coalesce(${change.region}, issuer_region),
           issuer_country = coalesce(${change.country}, issuer_country),
           issuer_tax_id = coalesce(${change.tax_id}, issuer_tax_id),
           tax_codes = case when ${change.tax_codes === undefined} then tax_codes
                            else ${change.tax_codes ?? null}::text[] end,
           footer = coalesce(${change.footer}, footer),
           invoice_prefix = coalesce(${change.invoice_prefix}, invoice_prefix),
           credit_note_prefix = coalesce(${change.credit_note_prefix}, credit_note_prefix),
           invoice_prefixes = ${withPrefix(sql`invoice_prefixes`, change.invoice_prefix)},
           credit_note_prefixes = ${withPrefix(sql`credit_note_prefixes`, change.credit_note_prefix)},
           payment_url = coalesce(${change.payment_url}, payment_url),
           payment_instructions = coalesce(${change.payment_instructions}, payment_instructions),
           support_email = coalesce(${change.support_email}, support_email),
           party_version = party_version + ${isPartyChange ? 1 : 0},
           logo_color = coalesce(lower(${change.logo_color}), logo_color),
           net_payment_days = coalesce(${change.net_payment_days}, net_payment_days),
           default_currency = coalesce(${change.default_currency}, default_currency),
           late_usage_periods = coalesce(${change.late_usage_periods}, late_usage_periods),
           portal_access = coalesce(${change.portal_access}, portal_access),
           invoice_grouping = coalesce(${change.invoice_grouping}, invoice_grouping),
           groups_customers = groups_customers
             or coalesce(${change.invoice_grouping} = 'customer', false)
     where id = ${project}
    returning ${COLUMNS}`);
}
