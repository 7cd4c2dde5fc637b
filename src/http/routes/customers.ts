// Customers.

import Type from "typebox";
import { refuse, refuseField } from "../../errors.ts";
import { emit } from "../../operations/emit.ts";
import { holding } from "../../operations/resolve-charges.ts";
import { checkTaxCodes } from "../../operations/tax-codes.ts";
import { ListOrOne, PageQuery, Wrapped } from "../../schema/common.ts";
import { Credit, Customer, CustomerCreate, CustomerPatch, Search } from "../../schema/customers.ts";
import * as customers from "../../store/customers.ts";
import * as ledger from "../../store/ledger.ts";
import { pageOf } from "../paging.ts";
import { point, type Route, read, write } from "../route.ts";
import { byCaller } from "../views.ts";

const tag = "Customers";
const params = { id: "UUID, ext:<external_id>, or short_id." };

/** Whose tax another owes has a number with the tax office. */
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
  async handle({ tx, project, settings, actor, body, now }) {
    await checkTaxCodes(holding(tx, project), [body.tax_codes]);
    refuseExemption({ tax_exemption: null, tax_id: "", ...body });
    const wanted = { email: "", currency: settings.default_currency, ...body };
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
    await emit(tx, project, [fact], byCaller(actor), now);
    return { customer };
  },
});

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
    ...PageQuery,
    external_id: Type.Optional(
      Type.String({ description: "Answers {customer} instead of a list." }),
    ),
    search: Type.Optional(Search),
  }),
  reply: [200, ListOrOne("customers", { key: "external_id", one: "customer" }, Customer)],
  async handle({ db, project, query }) {
    if (query.external_id !== undefined) {
      const customer = await customers.get(db, project, `ext:${query.external_id}`);
      if (customer === undefined) throw refuse("not_found", "No customer has this external_id.");
      return { customer };
    }
    const { rows, has_more, total_count } = await customers.list(db, project, query, pageOf(query));
    return { customers: rows, has_more, total_count };
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
    const customer = await customers.get(db, project, params.id ?? "");
    if (customer === undefined) throw refuse("not_found", "No customer has this id.");
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
  async handle({ tx, project, actor, params, body, now }) {
    const before = await customers.get(tx, project, params.id ?? "");
    if (before === undefined) throw refuse("not_found", "No customer has this id.");
    await checkTaxCodes(holding(tx, project), [body.tax_codes]);
    refuseExemption({ ...before, ...body });
    const customer = await customers.patch(tx, project, params.id ?? "", body, now);
    if (customer === undefined) throw refuse("not_found", "No customer has this id.");
    const names = Object.keys(CustomerPatch.properties);
    const payload = Object.fromEntries(
      Object.entries(body).filter(([name]) => names.includes(name)),
    );
    const fact = { type: "customer.updated" as const, resource_id: customer.id, payload };
    await emit(tx, project, [fact], byCaller(actor), now);
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
  reply: [200, Type.Object({ credits: Type.Array(Credit), has_more: Type.Boolean() })],
  async handle({ db, project, params }) {
    const customer = await customers.get(db, project, params.id ?? "");
    if (customer === undefined) throw refuse("not_found", "No customer has this id.");
    return { credits: await ledger.listBalances(db, project, customer.id), has_more: false };
  },
});

export const customerRoutes: Route[] = [
  createCustomer,
  listCustomers,
  getCustomer,
  patchCustomer,
  listCredits,
];
