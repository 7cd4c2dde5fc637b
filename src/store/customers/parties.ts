// Sellers and buyers as invoices name them. An invoice keeps a version; the present one is what the
// project and the customer say now, and what they said before is kept when they change.

import type { ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Sql, sql } from "../db/sql.ts";

export type PartyBody = Readonly<Record<string, string | null>>;

/** The buyer that a customer `c` is now. */
export const BUYER: Sql = sql`jsonb_build_object(
  'name', c.name, 'email', c.email, 'external_id', c.external_id, 'address', c.address,
  'city', c.city, 'postal_code', c.postal_code, 'region', c.region, 'country', c.country,
  'tax_id', c.tax_id, 'tax_exemption', c.tax_exemption)`;
/** The seller that a project `p` is now. */
export const SELLER: Sql = sql`jsonb_build_object(
  'name', coalesce(p.issuer_name, p.name), 'address', p.issuer_address, 'city', p.issuer_city,
  'postal_code', p.issuer_postal_code, 'region', p.issuer_region, 'country', p.issuer_country,
  'tax_id', p.issuer_tax_id)`;

/** Keeps the seller before settings change it. A trigger keeps what customers were. */
export async function keepSeller(tx: Tx, project: ProjectId): Promise<void> {
  const { version, body } = await tx.one<{ version: number; body: string }>(sql`
    select p.party_version as version, ${SELLER}::text as body
      from projects p
     where p.id = ${project}
       for no key update`);
  await tx.run(sql`
    insert into parties (project_id, owner_id, version, body)
    values (${project}, ${project}, ${version}, ${body}::jsonb)`);
}

export type Parties = { readonly seller: PartyBody; readonly buyer: PartyBody };

/** Seller and buyer as an invoice of now would name them, by customer. */
export async function listPresent(
  db: Queryable,
  project: ProjectId,
  customer_ids: readonly string[],
): Promise<ReadonlyMap<string, Parties>> {
  const rows = await db.many<Parties & { id: string }>(sql`
    select c.id, ${SELLER} as seller, ${BUYER} as buyer
      from customers c
      join projects p on p.id = ${project}
     where c.project_id = ${project} and c.id = any(${customer_ids}::uuid[])`);
  return new Map(rows.map(({ id, ...parties }) => [id, parties]));
}

/** The parties of an invoice: a version that was not replaced since is the present one. */
export function get(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.one<Parties>(sql`
    select coalesce(s.body, ${SELLER}) as seller, coalesce(b.body, ${BUYER}) as buyer
      from invoices i
      join projects p on p.id = ${project}
      join customers c on c.project_id = ${project} and c.id = i.customer_id
      left join parties s on s.project_id = ${project} and s.owner_id = ${project}
                         and s.version = i.seller_version
      left join parties b on b.project_id = ${project} and b.owner_id = i.customer_id
                         and b.version = i.buyer_version
     where i.project_id = ${project} and i.id = ${invoice_id}`);
}
