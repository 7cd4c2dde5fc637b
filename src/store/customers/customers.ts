// Customers: by id, by the caller's own id as `ext:<external_id>`, or by short_id.

import { refuseField } from "../../errors.ts";
import { canonicalUuid, newCustomerId, newRank, newShortId, type ProjectId } from "../../ids.ts";
import {
  type Customer,
  type CustomerCreate,
  type CustomerPatch,
  SEARCH_WORDS_MAX,
} from "../../schema/customers.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { join, json, type Sql, sql } from "../db/sql.ts";

const COLUMNS: Sql = sql`id, short_id, external_id, name, email, currency, address, city,
  postal_code, region, country, tax_id, tax_exemption, tax_note, tax_codes, net_payment_days,
  invoice_grouping, metadata, created_at, updated_at`;
/** After so many collisions the four characters are used up, and a short_id may repeat. */
const SHORT_ID_TRIES = 20;

/** The customer that a path names: by id when it is a UUID, by `ext:` and the caller's own id. */
export function matchesRef(ref: string): Sql {
  if (ref.startsWith("ext:")) return sql`external_id = ${ref.slice(4)}`;
  // A short_id that had to be given twice names nobody.
  if (ref.startsWith("cust_")) return sql`short_id = ${ref} and short_id_unique`;
  const id = canonicalUuid(ref);
  return id === undefined ? sql`false` : sql`id = ${id}`;
}

/** Rows of the customer, in tables that name it in `column`. */
export function matchesCustomer(
  project: ProjectId,
  ref: string,
  column: Sql = sql`customer_id`,
): Sql {
  const id = canonicalUuid(ref);
  if (id !== undefined) return sql`${column} = ${id}`;
  return sql`${column} = (
    select c.id
      from customers c
     where c.project_id = ${project} and c.external_id = ${ref.startsWith("ext:") ? ref.slice(4) : null})`;
}

export function get(db: Queryable, project: ProjectId, ref: string) {
  return db.maybeOne<Customer>(sql`
    select ${COLUMNS}
      from customers
     where project_id = ${project} and ${matchesRef(ref)}`);
}

export type CustomerFilter = {
  readonly external_id?: string | undefined;
  /** Text, each word of which begins a word of the name, the email or the external_id. */
  readonly search?: string | undefined;
};

export async function list(
  db: Queryable,
  project: ProjectId,
  { external_id, search }: CustomerFilter,
  request: PageRequest,
) {
  const found = search === undefined ? [] : [await matchesSearch(db, project, search)];
  if (external_id !== undefined) found.push(sql`c.external_id = ${external_id}`);
  return page<Customer>(
    db,
    {
      columns: COLUMNS,
      from: sql`customers c`,
      where: [sql`c.project_id = ${project}`, ...found],
      project: sql`c.project_id`,
      order: [{ column: sql`c.seq`, type: sql`bigint` }],
      // A word may begin so in one customer, or in all of them.
      anew: search !== undefined,
    },
    request,
  );
}

const SHORT_ID = /^cust_[0-9a-z]{4}$/;
/** Signs that part words, the same as in the function keep_customer_words of the schema. */
const SIGNS = "\t\n\r!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/** Customers that match: none for text without a word. A short_id may also be meant as words. */
async function matchesSearch(db: Queryable, project: ProjectId, search: string): Promise<Sql> {
  // The database parts the words, so that they are lower-cased as those that it keeps.
  const words = await db.many<{ word: string }>(sql`
    select distinct word
      from unnest(string_to_array(
             translate(lower(${search}), ${SIGNS}, ${" ".repeat(SIGNS.length)}), ' ')) as word
     where word <> ''`);
  if (words.length > SEARCH_WORDS_MAX) {
    const message = `search takes at most ${SEARCH_WORDS_MAX} words.`;
    throw refuseField("search", "too_long", message);
  }
  if (words.length === 0) return sql`false`;
  const begun = join(
    words.map(({ word }) => sql`c.seq in (${beginning(project, word)})`),
    " and ",
  );
  const short_id = search.trim().toLowerCase();
  if (!SHORT_ID.test(short_id)) return begun;
  return sql`c.seq in (
    select c.seq
      from customers c
     where c.project_id = ${project} and ${begun}
     union all
    select n.seq
      from customers n
     where n.project_id = ${project} and n.short_id = ${short_id} and n.short_id_unique)`;
}

/** Customers with a word that begins so: in the order of bytes they are a range of the key. */
function beginning(project: ProjectId, word: string): Sql {
  return sql`
    select w.seq
      from customer_words w
     where w.project_id = ${project} and w.word >= ${word} and w.word < ${`${word}\u{10ffff}`}`;
}

/** Makes a customer; undefined when the external_id is taken. */
export async function insert(
  tx: Tx,
  project: ProjectId,
  customer: CustomerCreate & Required<Pick<CustomerCreate, "email">>,
  now: Date,
): Promise<Customer | undefined> {
  const known = await tx.one<{ customer_prefix: string; default_currency: string }>(sql`
    select customer_prefix, default_currency
      from projects
     where id = ${project}`);
  const { customer_prefix, default_currency } = known;
  for (let attempt = 1; ; attempt++) {
    const inserted = await tx.maybeOne<Customer>(sql`
      insert into customers (project_id, id, seq, short_id, short_id_unique, external_id, name,
                             email, currency, address, city, postal_code, region, country, tax_id,
                             tax_exemption, tax_note, tax_codes, net_payment_days,
                             invoice_grouping, metadata, created_at, updated_at)
      values (${project}, ${newCustomerId(customer_prefix)}, ${newRank()}, ${newShortId()},
              ${attempt <= SHORT_ID_TRIES}, ${customer.external_id}, ${customer.name},
              ${customer.email}, ${customer.currency ?? default_currency}, ${customer.address ?? ""},
              ${customer.city ?? ""}, ${customer.postal_code ?? ""}, ${customer.region ?? ""},
              ${customer.country ?? ""}, ${customer.tax_id ?? ""},
              ${customer.tax_exemption ?? null}, ${customer.tax_note ?? ""},
              ${customer.tax_codes ?? null}, ${customer.net_payment_days ?? null},
              ${customer.invoice_grouping ?? null}, ${json(customer.metadata ?? {})}, ${now}, ${now})
      on conflict do nothing
      returning ${COLUMNS}`);
    if (inserted !== undefined) return inserted;
    if ((await get(tx, project, `ext:${customer.external_id}`)) !== undefined) return undefined;
  }
}

/** The facts that links to the customer's portal are signed with. */
export function getLinks(db: Queryable, project: ProjectId, ref: string) {
  return db.maybeOne<CustomerLinks>(sql`
    select id, portal_links_version as links_version
      from customers
     where project_id = ${project} and ${matchesRef(ref)}`);
}

/** Revokes all links that were signed before. */
export function revokeLinks(tx: Tx, project: ProjectId, ref: string) {
  return tx.maybeOne<CustomerLinks>(sql`
    update customers
       set portal_links_version = portal_links_version + 1
     where project_id = ${project} and ${matchesRef(ref)}
    returning id, portal_links_version as links_version`);
}

export type CustomerLinks = { readonly id: string; readonly links_version: number };

/** Locks the customer as it is until the transaction ends. */
export function lock(tx: Tx, project: ProjectId, ref: string) {
  return tx.maybeOne<Customer>(sql`
    select ${COLUMNS}
      from customers
     where project_id = ${project} and ${matchesRef(ref)}
       for no key update`);
}

/** Changes the fields that `change` has. A trigger keeps what invoices have named. */
export function patch(tx: Tx, project: ProjectId, ref: string, change: CustomerPatch, now: Date) {
  return tx.maybeOne<Customer>(sql`
    update customers
       set name       = coalesce(${change.name}, name),
           email      = coalesce(${change.email}, email),
           currency   = coalesce(${change.currency}, currency),
           address = coalesce(${change.address}, address), city = coalesce(${change.city}, city),
           postal_code = coalesce(${change.postal_code}, postal_code),
           region = coalesce(${change.region}, region),
           country = coalesce(${change.country}, country),
           tax_id = coalesce(${change.tax_id}, tax_id),
           tax_note = coalesce(${change.tax_note}, tax_note),
           tax_exemption = case when ${change.tax_exemption === undefined} then tax_exemption
                                else ${change.tax_exemption ?? null} end,
           tax_codes = case when ${change.tax_codes === undefined} then tax_codes
                            else ${change.tax_codes ?? null}::text[] end,
           net_payment_days = case when ${change.net_payment_days === undefined}
                                   then net_payment_days
                                   else ${change.net_payment_days ?? null}::integer end,
           invoice_grouping = case when ${change.invoice_grouping === undefined}
                                   then invoice_grouping
                                   else ${change.invoice_grouping ?? null} end,
           metadata = coalesce(${change.metadata === undefined ? null : json(change.metadata)}::jsonb,
                               metadata),
           updated_at = ${now}
     where project_id = ${project} and ${matchesRef(ref)}
    returning ${COLUMNS}`);
}
