// The API client: a typed method for every operation, and lists that page by themselves.

import type { CallOptions, CallParts, Method } from "./call.ts";
import { Operations } from "./operations.ts";
import { type DuesOptions, Transport } from "./transport.ts";
import type {
  BillingEvent,
  CreditNote,
  Customer,
  Grant,
  Invoice,
  ListBillingEventsQuery,
  ListCreditNotesQuery,
  ListCustomersQuery,
  ListEventsQuery,
  ListGrantsQuery,
  ListInvoicesQuery,
  ListPaymentsQuery,
  ListSubscriptionsQuery,
  Payment,
  Subscription,
  UsageEvent,
} from "./types.ts";

const PAGE = 100;

/** The filters of a list; `limit` is how many rows to ask for at a time. */
type Filters<Query> = Omit<Query, "offset" | "all" | "count" | "cursor">;

type Page = { readonly has_more?: boolean; readonly cursor?: string | null };

/** `for await (const invoice of dues.invoices.all({ status: "overdue" }))` */
export type Listing<Query, Row> = {
  all(filters?: Filters<Query>, options?: CallOptions): AsyncIterableIterator<Row>;
};

/**
 * ```ts
 * const dues = new Dues({ base_url, token, project_id });
 * const { customer } = await dues.createCustomer({ external_id: "acme", name: "Acme Ltd" });
 * ```
 * A refused call throws a DuesError. Failures that are safe to repeat are repeated.
 */
export class Dues extends Operations {
  readonly #transport: Transport;

  readonly customers: Listing<ListCustomersQuery, Customer>;
  readonly subscriptions: Listing<ListSubscriptionsQuery, Subscription>;
  readonly invoices: Listing<ListInvoicesQuery, Invoice>;
  readonly payments: Listing<ListPaymentsQuery, Payment>;
  readonly credit_notes: Listing<ListCreditNotesQuery, CreditNote>;
  readonly grants: Listing<ListGrantsQuery, Grant>;
  readonly events: Listing<ListEventsQuery, UsageEvent>;
  readonly billing_events: Listing<ListBillingEventsQuery, BillingEvent>;

  constructor(options: DuesOptions) {
    super();
    this.#transport = new Transport(options);
    this.customers = listing((query: ListCustomersQuery, options) =>
      this.listCustomers(query, options).then((page) => ({ ...page, rows: page.customers })),
    );
    this.subscriptions = listing((query: ListSubscriptionsQuery, options) =>
      this.listSubscriptions(query, options).then((page) => ({
        ...page,
        rows: page.subscriptions,
      })),
    );
    this.invoices = listing((query: ListInvoicesQuery, options) =>
      this.listInvoices(query, options).then((page) => ({ ...page, rows: page.invoices })),
    );
    this.payments = listing((query: ListPaymentsQuery, options) =>
      this.listPayments(query, options).then((page) => ({ ...page, rows: page.payments })),
    );
    this.credit_notes = listing((query: ListCreditNotesQuery, options) =>
      this.listCreditNotes(query, options).then((page) => ({ ...page, rows: page.credit_notes })),
    );
    this.grants = listing((query: ListGrantsQuery, options) =>
      this.listGrants(query, options).then((page) => ({ ...page, rows: page.grants })),
    );
    this.events = listing((query: ListEventsQuery, options) =>
      this.listEvents(query, options).then((page) => ({ ...page, rows: page.events })),
    );
    this.billing_events = listing((query: ListBillingEventsQuery, options) =>
      this.listBillingEvents(query, options).then((page) => ({
        ...page,
        rows: page.billing_events,
      })),
    );
  }

  protected override call<Reply>(
    method: Method,
    path: string,
    options?: CallOptions,
    parts?: CallParts,
  ): Promise<Reply> {
    return this.#transport.send<Reply>({ method, path, ...parts }, options);
  }
}

type Paging = { readonly offset?: number; readonly cursor?: string };

function listing<Query extends object, Row>(
  read: (
    query: Query,
    options: CallOptions | undefined,
  ) => Promise<Page & { readonly rows: readonly Row[] }>,
): Listing<Query, Row> {
  return {
    async *all(filters, options) {
      let paging: Paging = {};
      for (;;) {
        const query = { limit: PAGE, ...filters, ...paging } as unknown as Query;
        const page = await read(query, options);
        yield* page.rows;
        if (page.has_more !== true || page.rows.length === 0) return;
        // A cursor is not shifted by rows that are added meanwhile; an offset is.
        paging =
          typeof page.cursor === "string"
            ? { cursor: page.cursor }
            : { offset: (paging.offset ?? 0) + page.rows.length };
      }
    },
  };
}
