// Generated from the OpenAPI document: the types of Catalog. Do not edit.

import type { Cents, Currency, Page } from "./common.ts";

export type CatalogItem = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly amount_cents: Cents;
  readonly currency: Currency;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly archived_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export type UpsertCatalogItemBody = {
  readonly code: string;
  readonly name: string;
  readonly amount_cents: Cents;
  readonly currency?: Currency;
  readonly metadata?: Readonly<Record<string, unknown>>;
};

export type ListCatalogItemsQuery = {
  /** Answers {catalog_item} instead of a list. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type ListCatalogItemsReply = Page & { readonly catalog_items: readonly CatalogItem[] };
