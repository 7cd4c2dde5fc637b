// Generated from the OpenAPI document: the types of Customers. Do not edit.

import type { Cents, Currency, Page, PageQuery } from "./common.ts";

export type Customer = {
  readonly id: string;
  readonly short_id: string;
  readonly external_id: string;
  readonly name: string;
  readonly email: string;
  readonly currency: Currency;
  readonly created_at: string;
  readonly updated_at: string;
};

export type CreateCustomerBody = {
  readonly external_id: string;
  readonly name: string;
  readonly email?: string;
  readonly currency?: Currency;
};

export type ListCustomersQuery = PageQuery & {
  /** Answers {customer} instead of a list. */
  readonly external_id?: string | undefined;
};

export type ListCustomersReply = Page & { readonly customers: readonly Customer[] };

export type UpdateCustomerBody = {
  readonly name?: string;
  readonly email?: string;
  readonly currency?: Currency;
};

export type Credit = {
  readonly currency: Currency;
  readonly balance_cents: Cents;
};

export type ListCustomerCreditsReply = {
  readonly credits: readonly Credit[];
  readonly has_more: boolean;
};
