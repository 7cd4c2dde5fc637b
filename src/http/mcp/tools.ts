// The fifteen tools. Each runs routes that exist anyway, with the caller's own token, so that a
// tool can do, see and answer nothing else than HTTP does; but for a dry run of `record_payment`,
// which routes/mcp.ts does itself.

import Type, { type TObject, type TSchema } from "typebox";
import { type ErrorDetail, notFound, type Refusal, refuse } from "../../errors.ts";
import { InvoicePreviewBody } from "../../schema/invoices.ts";
import { type PlainSchema, standardSchema } from "../../schema/standard-schema.ts";
import type { Check } from "../request/validation.ts";
import type { Call, Route } from "../route.ts";
import { argumentsChecker, argumentsOf, noOthers, queryOf } from "./tool-schemas.ts";

export type Arguments = Readonly<Record<string, unknown>>;
export type RestAnswer = { readonly status: number; readonly body: object };
/** What a tool puts into the call of a route. */
export type RouteInput = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
};
export type CallRoute = (route: Route, input: RouteInput) => Promise<RestAnswer>;

export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scope: "read" | "write";
  readonly inputSchema: PlainSchema;
  readonly outputSchema: PlainSchema;
  readonly annotations: PlainSchema;
  /** Refuses what inputSchema does not allow, before `run`. */
  readonly check: Check;
  run(call: CallRoute, given: Arguments): Promise<RestAnswer>;
};

const CENTS =
  "Amounts in fields ending _cents are whole numbers of the currency's smallest unit (1250 USD is $12.50; JPY has no decimals, KWD has three).";
const CHARGES =
  'In a charge, prices in properties are in the main unit ("0.05" is five cents): amount per unit (of a package: per package_size units), tiers up to and including up_to, percent of the units. minimum_cents is what a full period is billed at least, trial_days are free at the start.';
const FIGURES =
  "total_cents is subtotal_cents less discount_cents (coupons) plus tax_cents; amount_due_cents is that less credit_applied_cents, offset_cents (credit notes), what was paid and not overpaid, and written_off_cents.";
const READ = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** Additive and idempotent: creates a record, changes no other. */
const RECORD = { ...READ, readOnlyHint: false };

type Listing = {
  readonly name: string;
  readonly path: string;
  readonly title: string;
  readonly description: string;
  /** Arguments that would give one record: there is a tool for that. */
  readonly leftOut?: readonly string[];
  /** Descriptions of arguments that mean something else here. */
  readonly says?: Readonly<Record<string, string>>;
};

const LISTINGS: readonly Listing[] = [
  {
    name: "list_customers",
    path: "/v1/customers",
    title: "List customers",
    description:
      "Lists customers, newest first. Give search to find one by name or email; when you know an id or external_id, use get_customer.",
    leftOut: ["external_id"],
  },
  {
    name: "list_subscriptions",
    path: "/v1/subscriptions",
    title: "List subscriptions",
    description:
      "Lists subscriptions, newest first, also those of one customer, plan or status. current_period_end is the last millisecond of the open billing period. status pending starts later, at started_at; trial_ends_at after now means a free trial; ends_at and scheduled_plan_id tell what is to come.",
  },
  {
    name: "list_invoices",
    path: "/v1/invoices",
    title: "List invoices",
    description: `Lists invoices without their fees, newest first. Use status overdue or outstanding to find what is unpaid, and get_invoice for the lines. amount_due_cents is what is still to be paid. ${FIGURES} ${CENTS}`,
    leftOut: ["number"],
  },
  {
    name: "list_payments",
    path: "/v1/payments",
    title: "List payments",
    description: `Lists recorded payments, newest first, also those of one invoice or customer. ${CENTS}`,
  },
  {
    name: "list_credit_notes",
    path: "/v1/credit-notes",
    title: "List credit notes",
    description: `Lists credit notes, newest first, also those of one invoice or customer. Each takes back a part of an invoice: its total_cents is offset_cents (no longer due), refund_cents (paid back, of which refunded_cents so far) and credit_cents (kept for later invoices). ${CENTS}`,
    leftOut: ["number"],
  },
  {
    name: "list_plans",
    path: "/v1/plans",
    title: "List plans",
    description: `Lists all live plans with their charges. ${CHARGES} ${CENTS}`,
    leftOut: ["code"],
    says: { limit: "How many at most; all unless given.", all: "True returns all of them." },
  },
];

export function toolsOf(table: readonly Route[]): Tool[] {
  const findRoute: FindRoute = (method, path) => {
    const found = table.find((each) => each.method === method && each.path === path);
    if (found === undefined) throw new Error(`There is no route ${method} ${path}.`);
    return found;
  };
  const listed = LISTINGS.map((listing) => listTool(listing, findRoute("GET", listing.path)));
  const wallet = getWallet(findRoute("GET", "/v1/customers/:id/wallets"));
  const record = recordPayment(findRoute("POST", "/v1/payments"));
  const usage = getUsage(findRoute("GET", "/v1/subscriptions/:id/usage"));
  const preview = previewInvoice(findRoute("POST", "/v1/invoices/preview"));
  return [...listed, ...getTools(findRoute), wallet, usage, preview, record];
}

function listTool(listing: Listing, route: Route): Tool {
  const { name, title, description, leftOut = [], says = {} } = listing;
  return {
    name,
    title,
    description,
    scope: "read",
    annotations: READ,
    ...taking(argumentsOf(route.query, leftOut, says)),
    outputSchema: outputOf(route),
    run: (call, given) => call(route, { query: queryOf(given) }),
  };
}

type FindRoute = (method: string, path: string) => Route;

function getTools(findRoute: FindRoute): Tool[] {
  const byExternalId = (one: Route) => (call: CallRoute, value: string) =>
    call(one, { params: { id: `ext:${value}` } });
  const customer = findRoute("GET", "/v1/customers/:id");
  const subscription = findRoute("GET", "/v1/subscriptions/:id");
  const invoice = findRoute("GET", "/v1/invoices/:id");
  const invoices = findRoute("GET", "/v1/invoices");
  const note = findRoute("GET", "/v1/credit-notes/:id");
  const notes = findRoute("GET", "/v1/credit-notes");
  const plan = findRoute("GET", "/v1/plans/:id");
  const plans = findRoute("GET", "/v1/plans");
  return [
    getTool(customer, "external_id", byExternalId(customer), {
      name: "get_customer",
      title: "Get a customer",
      description: "One customer, by id or by your own external_id. Give exactly one of them.",
    }),
    getTool(subscription, "external_id", byExternalId(subscription), {
      name: "get_subscription",
      title: "Get a subscription",
      description:
        "One subscription, by id or external_id (the live one of that name, else the newest). Give exactly one of them. properties is JSON as text; overrides are prices of its own in place of the plan's.",
    }),
    getTool(invoice, "number", byNumber(invoices, invoice, "invoice"), {
      name: "get_invoice",
      title: "Get an invoice",
      description: `One invoice with its fees, by id or by number such as INV-2026-0001. Give exactly one of them. parts tell what was billed together, and a fee's part whose line it is. properties of a fee says what it is called (name) and how its amount came about (tiers, packages, dimensions, minimum). coupons, taxes and credits tell where its amounts come from. ${FIGURES} Read amount_due_cents before you record a payment. ${CENTS}`,
    }),
    getTool(note, "number", byNumber(notes, note, "credit note"), {
      name: "get_credit_note",
      title: "Get a credit note",
      description: `One credit note with its lines and taxes, by id or by number such as CN-2026-0001. Give exactly one of them. lines tell how much of which fee of the invoice it takes back, before tax. ${CENTS}`,
    }),
    getTool(plan, "code", (call, code) => call(plans, { query: { code } }), {
      name: "get_plan",
      title: "Get a plan",
      description: `One plan with its charges, by id or code. Give exactly one of them. ${CHARGES} ${CENTS}`,
    }),
  ];
}

/** A record by its id, which its route takes, or by another field that names it. */
function getTool(
  route: Route,
  other: "external_id" | "number" | "code",
  byOther: (call: CallRoute, value: string) => Promise<RestAnswer>,
  labels: Pick<Tool, "name" | "title" | "description">,
): Tool {
  return {
    ...labels,
    scope: "read",
    annotations: READ,
    ...taking(eitherOf(other)),
    outputSchema: outputOf(route),
    async run(call, given) {
      const [key, value] = idOrOther(given, other);
      return key === "id" ? call(route, { params: { id: value } }) : byOther(call, value);
    },
  };
}

/** The list finds the id, and the record is read by it: lists show less of each. */
function byNumber(list: Route, get: Route, what: string) {
  return async (call: CallRoute, number: string): Promise<RestAnswer> => {
    const found = await call(list, { query: { number } });
    if (found.status !== 200) return found;
    const [rows = []] = Object.values(found.body) as { id: string }[][];
    const [row] = rows;
    if (row === undefined) return failed(notFound(what, { by: "number" }));
    return call(get, { params: { id: row.id } });
  };
}

function getWallet(route: Route): Tool {
  return ofOne(route, "customer_id", {
    name: "get_wallet",
    title: "Get a customer's wallet",
    description: `What a customer has in credit and prepaid money, one wallet per currency: balance_cents, running_cents (what the open periods would bill at their end by the usage so far) and available_cents, the difference, which may be below 0. No wallet means that there was never any money. ${CENTS}`,
  });
}

function getUsage(route: Route): Tool {
  return ofOne(route, "subscription_id", {
    name: "get_usage",
    title: "Get a subscription's usage so far",
    description: `What the open period of a subscription has used until now and what that comes to, charge by charge, from the numbers that will be billed; days has the units of each day. Flat and base fees are not in it: preview_invoice has the whole bill. ${CENTS}`,
  });
}

/** What belongs to one customer or subscription, which its route has in the path. */
function ofOne(
  route: Route,
  owner: "customer_id" | "subscription_id",
  labels: Pick<Tool, "name" | "title" | "description">,
): Tool {
  return {
    ...labels,
    scope: "read",
    annotations: READ,
    ...taking(noOthers({ [owner]: Type.String({ description: "UUID, or ext:<external_id>." }) })),
    outputSchema: outputOf(route),
    run: (call, given) => call(route, { params: { id: String(given[owner]) } }),
  };
}

function previewInvoice(route: Route): Tool {
  const { subscription_id, at, plan_id, customer_id } = InvoicePreviewBody.properties;
  return {
    name: "preview_invoice",
    title: "Preview an invoice",
    description: `What a subscription would be billed, with all fees, coupons, taxes and credit, and how each amount comes about; nothing is written. Without at, the bill of now; at period_end, the next bill by the usage so far. With customer_id and at next instead of subscription_id: all that the customer is billed when something falls due next, on its invoices; parts says whose each line is. ${FIGURES} ${CENTS}`,
    scope: "read",
    annotations: READ,
    ...taking(noOthers({ subscription_id, at, plan_id, customer_id })),
    outputSchema: outputOf(route),
    run: (call, body) => call(route, { body }),
  };
}

function recordPayment(route: Route): Tool {
  const { properties } = route.body as TObject;
  const dry_run = Type.Boolean({ description: "Check and show the payment, record nothing." });
  const output = outputOf(route) as { properties: PlainSchema };
  return {
    name: "record_payment",
    title: "Record a payment",
    description: `Records money that was received for an invoice; it moves no money itself. Needs a token with the scope write. Call it with dry_run true first to see what would happen. The same provider and provider_payment_id again, with the same invoice and amount, records nothing and returns the payment that is there, so repeating after a lost answer is safe. More than amount_due_cents is refused unless allow_overpayment is true. ${CENTS}`,
    scope: "write",
    annotations: RECORD,
    ...taking(noOthers({ ...properties, dry_run: Type.Optional(dry_run) })),
    outputSchema: {
      ...output,
      properties: {
        ...output.properties,
        dry_run: { type: "boolean", description: "True when nothing was recorded." },
      },
    },
    run: (call, { dry_run: _dry_run, ...body }) => call(route, { body }),
  };
}

/** What a tool takes: as its callers read it, and as they are held to it. */
function taking(schema: TObject): Pick<Tool, "inputSchema" | "check"> {
  return { inputSchema: standardSchema(schema), check: argumentsChecker(schema) };
}

/** Success has one shape, whatever its status. */
function outputOf(route: Route): PlainSchema {
  return standardSchema(route.reply[1] as TSchema);
}

const OTHER_DESCRIPTIONS = {
  external_id: "Your own id of it.",
  number: "Its number, such as INV-2026-0001.",
  code: "Its code.",
};

function eitherOf(other: keyof typeof OTHER_DESCRIPTIONS): TObject {
  return noOthers({
    id: Type.Optional(Type.String({ description: "Its UUID." })),
    [other]: Type.Optional(Type.String({ description: OTHER_DESCRIPTIONS[other] })),
  });
}

function idOrOther(given: Arguments, other: string): readonly [key: string, value: string] {
  const found = ["id", other].flatMap((key) =>
    typeof given[key] === "string" ? [[key, given[key]] as const] : [],
  );
  const [only] = found;
  if (only === undefined || found.length > 1) {
    const message = `Give exactly one of id and ${other}.`;
    throw refuse("validation_error", message, {
      details: [{ field: "id", code: "required", message }],
    });
  }
  return only;
}

/** A refusal in the shape in which HTTP would have answered it. */
export function failed(refusal: Refusal): RestAnswer {
  const { code, message, retryable, details } = refusal;
  const error: { details?: readonly ErrorDetail[]; [key: string]: unknown } = {
    code,
    message,
    retryable,
    ...(details !== undefined && { details }),
  };
  return { status: refusal.status, body: { error } };
}

/** Runs routes for the caller of the tool endpoint; in the log they are marked as a tool's. */
export function callRoutes(
  { request, run }: Pick<Call, "request" | "run">,
  idempotencyKey: string | undefined,
): CallRoute {
  const { authorization, "x-project-id": project } = request.headers;
  return async (route, { params = {}, query = {}, body }) => {
    const headers = {
      ...(authorization !== undefined && { authorization }),
      ...(project !== undefined && { "x-project-id": project }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    };
    const { id, ip } = request;
    const { method, path: url } = route;
    const readBody = async () => ({ json: body });
    const asked = { id, method, url, headers, params, query, ip, via: "mcp", readBody };
    const response = await run(route, asked);
    return { status: response.status, body: JSON.parse(String(response.body)) as object };
  };
}
