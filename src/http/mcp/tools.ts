// The ten tools. Each is a call of routes that exist anyway, through the same door with the same
// token, so that a tool can do, see and answer nothing else than HTTP does.

import { randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import { type ErrorDetail, type Refusal, refuse } from "../../errors.ts";
import { type PlainSchema, standardSchema } from "../../schema/standard-schema.ts";
import type { Route } from "../route.ts";
import { argumentsOf, queryOf } from "./tool-schemas.ts";

export const DOOR_HEADER = "x-dues-door";
/** Known to this process alone: with it a call is logged as made by a tool. */
export const DOOR_KEY = randomBytes(24).toString("base64url");

export type Arguments = Readonly<Record<string, unknown>>;
export type RestAnswer = { readonly status: number; readonly body: object };
export type Rest = (method: "GET" | "POST", url: string, body?: object) => Promise<RestAnswer>;

export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scope: "read" | "write";
  readonly inputSchema: PlainSchema;
  readonly outputSchema: PlainSchema;
  readonly annotations: PlainSchema;
  run(rest: Rest, given: Arguments): Promise<RestAnswer>;
};

const CENTS =
  "Amounts in fields ending _cents are whole numbers of the currency's smallest unit (1250 USD is $12.50; JPY has no decimals, KWD has three).";
const READ = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** Adds a record and changes none away; the same one again changes nothing. */
const RECORD = { ...READ, readOnlyHint: false };

type Listing = {
  readonly name: string;
  readonly path: string;
  readonly title: string;
  readonly description: string;
  /** Arguments that would give one record: there is a tool for that. */
  readonly leftOut?: readonly string[];
};

const LISTINGS: readonly Listing[] = [
  {
    name: "list_customers",
    path: "/v1/customers",
    title: "List customers",
    description:
      "Lists customers, newest first. Use it to browse; when you know an id or external_id, use get_customer.",
    leftOut: ["external_id"],
  },
  {
    name: "list_subscriptions",
    path: "/v1/subscriptions",
    title: "List subscriptions",
    description:
      "Lists subscriptions, newest first, also those of one customer, plan or status. current_period_end is the last millisecond of the open billing period.",
  },
  {
    name: "list_invoices",
    path: "/v1/invoices",
    title: "List invoices",
    description: `Lists invoices without their fees, newest first. Use status overdue or outstanding to find what is unpaid, and get_invoice for the lines. amount_due_cents is what is still to be paid. ${CENTS}`,
    leftOut: ["number"],
  },
  {
    name: "list_payments",
    path: "/v1/payments",
    title: "List payments",
    description: `Lists recorded payments, newest first, also those of one invoice or customer. ${CENTS}`,
  },
  {
    name: "list_plans",
    path: "/v1/plans",
    title: "List plans",
    description: `Lists all live plans with their charges. In a charge, properties.amount is the price per unit in the main unit ("0.05" is five cents). ${CENTS}`,
    leftOut: ["code"],
  },
];

export function toolsOf(table: readonly Route[]): Tool[] {
  const route = (method: string, path: string): Route => {
    const found = table.find((each) => each.method === method && each.path === path);
    if (found === undefined) throw new Error(`There is no route ${method} ${path}.`);
    return found;
  };
  const listed = LISTINGS.map((listing) => listTool(listing, route("GET", listing.path)));
  return [...listed, ...getTools(route), recordPayment(route("POST", "/v1/payments"))];
}

function listTool(listing: Listing, route: Route): Tool {
  const { name, path, title, description, leftOut = [] } = listing;
  return {
    ...{ name, title, description, scope: "read", annotations: READ },
    inputSchema: argumentsOf(route.query, leftOut),
    outputSchema: outputOf(route),
    run: (rest, given) => rest("GET", `${path}${queryOf(given, leftOut)}`),
  };
}

function getTools(route: (method: string, path: string) => Route): Tool[] {
  const get = (
    name: string,
    path: string,
    other: "external_id" | "number" | "code",
    says: { title: string; description: string },
    byOther: (rest: Rest, value: string) => Promise<RestAnswer>,
  ): Tool => ({
    ...{ name, ...says, scope: "read", annotations: READ },
    inputSchema: eitherOf(other),
    outputSchema: outputOf(route("GET", `${path}/:id`)),
    async run(rest, given) {
      const [key, value] = oneOf(given, other);
      if (key === "id") return rest("GET", `${path}/${encodeURIComponent(value)}`);
      return byOther(rest, value);
    },
  });
  const byExternal = (path: string) => (rest: Rest, value: string) =>
    rest("GET", `${path}/${encodeURIComponent(`ext:${value}`)}`);
  return [
    get(
      "get_customer",
      "/v1/customers",
      "external_id",
      {
        title: "Get a customer",
        description: "One customer, by id or by your own external_id. Give exactly one of them.",
      },
      byExternal("/v1/customers"),
    ),
    get(
      "get_subscription",
      "/v1/subscriptions",
      "external_id",
      {
        title: "Get a subscription",
        description:
          "One subscription, by id or external_id (the live one of that name, else the newest). Give exactly one of them. properties is JSON as text.",
      },
      byExternal("/v1/subscriptions"),
    ),
    get(
      "get_invoice",
      "/v1/invoices",
      "number",
      {
        title: "Get an invoice",
        description: `One invoice with its fees, by id or by number such as INV-2026-0001. Give exactly one of them. Read amount_due_cents before you record a payment. ${CENTS}`,
      },
      invoiceByNumber,
    ),
    get(
      "get_plan",
      "/v1/plans",
      "code",
      {
        title: "Get a plan",
        description: `One plan with its charges, by id or code. Give exactly one of them. ${CENTS}`,
      },
      (rest, code) => rest("GET", `/v1/plans?${new URLSearchParams({ code })}`),
    ),
  ];
}

async function invoiceByNumber(rest: Rest, number: string): Promise<RestAnswer> {
  const found = await rest("GET", `/v1/invoices?${new URLSearchParams({ number })}`);
  if (found.status !== 200) return found;
  const [invoice] = (found.body as { invoices: { id: string }[] }).invoices;
  if (invoice === undefined) return failed(refuse("not_found", "No invoice has this number."));
  return rest("GET", `/v1/invoices/${invoice.id}`);
}

function recordPayment(route: Route): Tool {
  const input = standardSchema(route.body as TSchema) as { properties: PlainSchema };
  const output = outputOf(route) as { properties: PlainSchema };
  return {
    name: "record_payment",
    title: "Record a payment",
    description: `Records money that was received for an invoice; it moves no money itself. Needs a token with the scope write. Call it with dry_run true first to see what would happen. The same provider and provider_payment_id again, with the same invoice and amount, records nothing and returns the payment that is there, so repeating after a lost answer is safe. More than amount_due_cents is refused unless allow_overpayment is true. ${CENTS}`,
    scope: "write",
    annotations: RECORD,
    inputSchema: {
      ...input,
      properties: {
        ...input.properties,
        dry_run: { type: "boolean", description: "Check and show the payment, record nothing." },
      },
    },
    outputSchema: {
      ...output,
      properties: {
        ...output.properties,
        dry_run: { type: "boolean", description: "True when nothing was recorded." },
      },
    },
    run: (rest, { dry_run: _dry_run, ...body }) => rest("POST", "/v1/payments", body),
  };
}

/** Success has one shape, whatever its status. */
function outputOf(route: Route): PlainSchema {
  return standardSchema(route.reply[1] as TSchema);
}

function eitherOf(other: string): PlainSchema {
  return {
    type: "object",
    properties: { id: { type: "string", format: "uuid" }, [other]: { type: "string" } },
  };
}

function oneOf(given: Arguments, other: string): readonly [key: string, value: string] {
  const found = ["id", other].flatMap((key) =>
    typeof given[key] === "string" ? [[key, given[key]] as const] : [],
  );
  const [only] = found;
  if (only === undefined || found.length > 1) {
    const message = `Give exactly one of id and ${other}, as text.`;
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
    ...{ code, message, retryable },
    ...(details !== undefined && { details }),
  };
  return { status: refusal.status, body: { error } };
}

/** Calls routes of the same server, as the caller and marked as a tool's call. */
export function restOf(request: FastifyRequest, idempotencyKey: string | undefined): Rest {
  const { authorization, "x-project-id": project } = request.headers;
  return async (method, url, body) => {
    const answer = await request.server.inject({
      method,
      url,
      headers: {
        authorization: String(authorization),
        "x-project-id": String(project),
        "x-request-id": request.id,
        [DOOR_HEADER]: DOOR_KEY,
        ...(idempotencyKey !== undefined &&
          method === "POST" && { "idempotency-key": idempotencyKey }),
      },
      ...(body !== undefined && { payload: body }),
    });
    return { status: answer.statusCode, body: JSON.parse(answer.body) as object };
  };
}
