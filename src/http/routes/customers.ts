// Customers.

import Type from "typebox";
import { changedFields } from "../../domain/changed-fields.ts";
import { withTaxId } from "../../domain/tax-ids.ts";
import { notFound, refuse, refuseField } from "../../errors.ts";
import { holding } from "../../operations/catalog/resolve-charges.ts";
import { checkTaxCodes } from "../../operations/catalog/tax-codes.ts";
import { emit, updated } from "../../operations/emit.ts";
import { CursorPage, CursorQuery, ListOrOne, WholeQuery, Wrapped } from "../../schema/common.ts";
import { Credit, Customer, CustomerCreate, CustomerPatch, Search } from "../../schema/customers.ts";
import * as customers from "../../store/customers/customers.ts";
import * as settings from "../../store/customers/settings.ts";
import * as ledger from "../../store/money/ledger.ts";
import * as portalViews from "../../store/portal/views.ts";
import { Cursors, cut, filtersOf } from "../request/paging.ts";
import { point, type Route, read, write } from "../route.ts";

const tag = "Customers";
const params = { id: "UUID, ext:<external_id>, or short_id." };

/** Refuses reverse charge without a tax_id: who owes tax has a number with the tax office. */
function refuseExemption({ tax_exemption, tax_id }: Pick<Customer, "tax_exemption" | "tax_id">) {
  if (tax_exemption !== "reverse_charge" || tax_id !== "") return;
  throw refuseField("tax_id", "required", "tax_id is required for reverse_charge.");
}

const createCustomer = write({
  method: "POST",
  path: "/v1/customers",
  once_by: "external_id",
  id: "createCustomer",
  errors: ["already_exists"],
  tag,
  summary: "Create a customer",
  description:
    "Its external_id is yours to choose, and names it in other calls as `ext:<external_id>`.",
  scope: "write",
  project: "required",
  body: CustomerCreate,
  reply: [201, Wrapped("customer", Customer)],
  example: { external_id: "acme", name: "Acme Ltd", email: "billing@acme.test", currency: "USD" },
  async handle({ tx, project, by, body, now }) {
    if (body.invoice_grouping === "customer") await settings.keepGrouping(tx, project);
    await checkTaxCodes(holding(tx, project), [body.tax_codes]);
    const given = withTaxId(body);
    refuseExemption({ tax_exemption: null, tax_id: "", ...given });
    const wanted = { email: "", ...given };
    const customer = await customers.insert(tx, project, wanted, now);
    if (customer === undefined) {
      const existing = await customers.get(tx, project, `ext:${body.external_id}`);
      throw refuse("already_exists", "A customer with this external_id exists.", {
        details: [
          { field: "external_id", code: "taken", ...(existing && { existing_id: existing.id }) },
        ],
      });
    }
    const payload = { external_id: customer.external_id };
    const fact = { type: "customer.created" as const, resource_id: customer.id, payload };
    await emit(tx, project, [fact], by, now);
    return { customer };
  },
});

const ONE = { limit: 1, offset: 0, count: false };

const listCustomers = read({
  method: "GET",
  path: "/v1/customers",
  id: "listCustomers",
  tag,
  summary: "List customers, search them, or find one by external_id",
  description: "Newest first. With external_id the answer is that customer.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    external_id: Type.Optional(
      Type.String({ description: "Answers {customer} instead of a list." }),
    ),
    search: Type.Optional(Search),
  }),
  reply: [200, ListOrOne("customers", { key: "external_id", one: "customer" }, Customer)],
  async handle({ context, db, project, query }) {
    if (query.external_id !== undefined) {
      const [customer] = (await customers.list(db, project, query, ONE)).rows;
      if (customer !== undefined) return { customer };
      const also = query.search === undefined ? "" : " and fits the search";
      throw notFound("customer", { by: `external_id${also}` });
    }
    const cursors = new Cursors(context.secret_key, project, "customers", filtersOf(query));
    const found = await customers.list(db, project, query, cursors.page(query));
    return { customers: found.rows, ...cursors.foot(found) };
  },
});

const getCustomer = point({
  method: "GET",
  path: "/v1/customers/:id",
  id: "getCustomer",
  tag,
  summary: "Get a customer",
  description: "By its id or by your own.",
  scope: "read",
  project: "required",
  params,
  reply: [200, Wrapped("customer", Customer)],
  async handle({ db, project, params }) {
    const customer = await customers.get(db, project, params.id);
    if (customer === undefined) throw notFound("customer");
    return { customer };
  },
});

const patchCustomer = write({
  method: "PATCH",
  path: "/v1/customers/:id",
  id: "updateCustomer",
  tag,
  summary: "Change a customer",
  description: "Also drops the customer's cached portal view.",
  scope: "write",
  project: "required",
  params,
  body: CustomerPatch,
  reply: [200, Wrapped("customer", Customer)],
  async handle({ tx, project, by, params, body, now }) {
    const { id } = params;
    if ((await customers.get(tx, project, id)) === undefined) throw notFound("customer");
    if (body.invoice_grouping === "customer") await settings.keepGrouping(tx, project);
    await checkTaxCodes(holding(tx, project), [body.tax_codes]);
    const change = withTaxId(body);
    const before = await customers.lock(tx, project, id);
    if (before === undefined) throw notFound("customer");
    refuseExemption({ ...before, ...change });
    const customer = await customers.patch(tx, project, id, change, now);
    if (customer === undefined) throw notFound("customer");
    const changed = changedFields(before, customer, Object.keys(CustomerPatch.properties));
    const facts = updated("customer.updated", before.id, changed);
    await emit(tx, project, facts, by, now);
    // What is emitted drops the view. A caller who changes nothing may want it anew all the same.
    if (facts.length === 0) await portalViews.drop(tx, project, [before.id]);
    return { customer };
  },
});

const listCredits = read({
  method: "GET",
  path: "/v1/customers/:id/credits",
  id: "listCustomerCredits",
  tag,
  summary: "List a customer's credits",
  description: "From overpayments and corrections, by currency; used up by the next invoices.",
  scope: "read",
  project: "required",
  params,
  query: Type.Object({ ...WholeQuery }),
  reply: [200, CursorPage("credits", Credit)],
  async handle({ context, db, project, params, query }) {
    const customer = await customers.get(db, project, params.id);
    if (customer === undefined) throw notFound("customer");
    const cursors = new Cursors(context.secret_key, project, "credits", { of: customer.id });
    const credits = await ledger.listBalances(db, project, customer.id);
    const found = cut(credits, ({ currency }) => currency, cursors.whole(query));
    return { credits: found.rows, ...cursors.foot(found) };
  },
});

export const customerRoutes: Route[] = [
  createCustomer,
  listCustomers,
  getCustomer,
  patchCustomer,
  listCredits,
];
