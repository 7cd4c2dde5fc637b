// Grants of money to customers, the ledger that they stand in, and wallets.

import Type from "typebox";
import { notFound } from "../../errors.ts";
import { createGrant, revokeGrant } from "../../operations/money/grant-credit.ts";
import { listWallets } from "../../operations/money/read-wallets.ts";
import { putWallet } from "../../operations/money/watch-wallets.ts";
import {
  Currency,
  CursorPage,
  CursorQuery,
  OneOf,
  RefFilter,
  WholeQuery,
  Wrapped,
} from "../../schema/common.ts";
import { GRANT_STATUSES } from "../../schema/enums.ts";
import { Grant, GrantCreate, LedgerEntry, Wallet, WalletPut } from "../../schema/grants.ts";
import * as customers from "../../store/customers/customers.ts";
import * as ledger from "../../store/money/ledger.ts";
import { Cursors, cut } from "../request/paging.ts";
import { point, type Route, read, write } from "../route.ts";
import { pathId } from "../views.ts";

const tag = "Wallets";
const ofCustomer = { id: "UUID, or ext:<external_id>." };
const One = Wrapped("grant", Grant);

const create = write({
  method: "POST",
  path: "/v1/grants",
  id: "createGrant",
  tag,
  summary: "Give a customer money",
  description:
    "free is active at once; paid makes a top-up invoice and is active once that is paid.",
  scope: "write",
  project: "required",
  body: GrantCreate,
  reply: [201, One],
  example: { customer_id: "ext:acme", amount_cents: 5000, kind: "free", name: "Welcome" },
  async handle({ tx, settings, by, body, now }) {
    return { grant: await createGrant(tx, settings, body, by, now) };
  },
});

const list = read({
  method: "GET",
  path: "/v1/grants",
  id: "listGrants",
  tag,
  summary: "List grants",
  description: "Newest first, also those that are used up.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    customer_id: RefFilter,
    currency: Type.Optional(Currency),
    status: Type.Optional(OneOf(GRANT_STATUSES)),
  }),
  reply: [200, CursorPage("grants", Grant)],
  async handle({ context, db, project, query }) {
    const { customer_id, currency, status } = query;
    const about = { customer_id, currency, status };
    const cursors = new Cursors(context.secret_key, project, "grants", about);
    const filter = {
      ...(customer_id !== undefined && {
        customer: customers.matchesCustomer(project, customer_id),
      }),
      ...(currency !== undefined && { currency }),
      ...(status !== undefined && { status }),
    };
    const found = await ledger.listGrants(db, project, filter, cursors.page(query));
    return { grants: found.rows, ...cursors.foot(found) };
  },
});

const get = point({
  method: "GET",
  path: "/v1/grants/:id",
  id: "getGrant",
  tag,
  summary: "Get a grant",
  description: "With what is left of it.",
  scope: "read",
  project: "required",
  params: { id: "UUID of the grant." },
  reply: [200, One],
  async handle({ db, project, params }) {
    const grant = await ledger.getGrant(db, project, pathId(params.id));
    if (grant === undefined) throw notFound("grant");
    return { grant };
  },
});

const revoke = write({
  method: "POST",
  path: "/v1/grants/:id/revoke",
  id: "revokeGrant",
  errors: ["grant_not_active", "wrong_invoice_type"],
  tag,
  summary: "Take back what is left of a grant",
  description:
    "Of an active one. What was paid for is given back by a credit note on its top-up instead.",
  scope: "write",
  project: "required",
  params: { id: "UUID of the grant." },
  reply: [200, One],
  async handle({ tx, project, by, params, now }) {
    const id = pathId(params.id);
    return { grant: await revokeGrant(tx, project, id, by, now) };
  },
});

const entries = read({
  method: "GET",
  path: "/v1/customers/:id/ledger",
  id: "listLedgerEntries",
  tag,
  summary: "List what moved a customer's money, newest first",
  description:
    "In all currencies, unless one is named. Every entry has the balance of its wallet behind it, and none is ever changed.",
  scope: "read",
  project: "required",
  params: ofCustomer,
  query: Type.Object({ ...CursorQuery, currency: Type.Optional(Currency) }),
  reply: [200, CursorPage("entries", LedgerEntry)],
  async handle({ context, db, project, params, query }) {
    const customer = await customers.get(db, project, params.id);
    if (customer === undefined) throw notFound("customer");
    const about = { customer_id: customer.id, currency: query.currency };
    const cursors = new Cursors(context.secret_key, project, "entries", about);
    const found = await ledger.listEntries(db, project, about, cursors.page(query));
    return { entries: found.rows, ...cursors.foot(found) };
  },
});

const wallets = read({
  method: "GET",
  path: "/v1/customers/:id/wallets",
  id: "listWallets",
  errors: ["limit_exceeded"],
  tag,
  summary: "List a customer's wallets, with what is running against them",
  description: "One for each currency in which the customer has or had money, or a threshold.",
  scope: "read",
  project: "required",
  params: ofCustomer,
  query: Type.Object({ ...WholeQuery }),
  reply: [200, CursorPage("wallets", Wallet)],
  async handle({ context, db, project, settings, params, query, now }) {
    const { id } = params;
    const cursors = new Cursors(context.secret_key, project, "wallets", { of: id });
    const request = cursors.whole(query);
    const wallets = await db.snapshot((tx) => listWallets(tx, settings, id, now));
    const found = cut(wallets, ({ currency }) => currency, request);
    return { wallets: found.rows, ...cursors.foot(found) };
  },
});

const put = write({
  method: "PUT",
  path: "/v1/customers/:id/wallets/:currency",
  id: "setWallet",
  tag,
  summary: "Say when a wallet is low, and what then tops it up",
  description: "null turns it off; a field that is left out keeps its value.",
  scope: "write",
  project: "required",
  params: { ...ofCustomer, currency: "ISO-4217 code." },
  body: WalletPut,
  reply: [200, Wrapped("wallet", Wallet)],
  example: { low_balance_cents: 2000, top_up_cents: 5000 },
  async handle({ tx, settings, by, params, body, now }) {
    const { id, currency } = params;
    return { wallet: await putWallet(tx, settings, id, currency, body, by, now) };
  },
});

export const grantRoutes: Route[] = [create, list, get, revoke, entries, wallets, put];
