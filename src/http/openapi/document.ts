// Builds the OpenAPI 3.1 document from the table of routes.

import { STATUS_CODES } from "node:http";
import type { TSchema } from "typebox";
import { ERROR_CODES, type ErrorCode, refuse } from "../../errors.ts";
import { ErrorBody } from "../../schema/common.ts";
import type { RequiredScope } from "../../schema/keys.ts";
import type {
  ErrorWords,
  OpenApiDocument,
  Operation,
  Parameter,
  Reference,
  Response,
  SchemaObject,
} from "../../schema/openapi.ts";
import type { Route } from "../route.ts";
import { errorsOf, isReplayable } from "./errors.ts";
import { Schemas } from "./schemas.ts";

const SCOPES: Readonly<Record<RequiredScope, string>> = {
  read: "Every read.",
  write: "Every change of a project's records, and all of read and events.",
  events: "Sending usage events, and nothing else.",
  admin: "Tokens, workspaces and projects, and all of the others. `*` means the same.",
};

const WORDS: Readonly<Record<ErrorCode, string>> = {
  invalid_json: "The body is not valid JSON.",
  missing_project: "The header X-Project-Id is needed and was not sent.",
  bad_request: "The request cannot be read as HTTP.",
  unauthorized: "The token is missing, unknown, expired or revoked.",
  forbidden: "The token lacks the scope that this call needs.",
  not_found: "There is no such record in this project, or no such path.",
  method_not_allowed: "The path exists, with other methods: see the Allow header.",
  already_exists: "The code, slug or external_id is taken; `details` names the existing id.",
  payment_conflict: "The provider's payment was recorded before, with other terms.",
  refund_conflict: "The provider's refund was recorded before, with other terms.",
  idempotency_conflict: "The Idempotency-Key was used with another request.",
  idempotency_in_flight: "A request with this Idempotency-Key is still running.",
  live_project: "The clock of a live project cannot be moved.",
  clock_conflict: "The project's clock does not move that way.",
  payload_too_large: "The body is larger than this call takes.",
  unsupported_media_type: "The body is not sent as application/json, or it is compressed.",
  validation_error: "A field is missing or malformed; `details` names each one.",
  has_active_subscriptions: "The plan has active subscriptions.",
  has_dependencies: "Something live still refers to this record.",
  currency_mismatch: "Two amounts that belong together are in different currencies.",
  plan_archived: "The plan is archived.",
  amount_exceeds_due: "The payment is larger than what is due.",
  invoice_already_paid: "Nothing is due on the invoice any more.",
  invoice_voided: "The invoice is voided.",
  not_started: "The subscription is pending: status active starts it, terminate ends it.",
  subscription_ended: "The subscription has ended: make it active again first.",
  has_credit_notes: "The invoice has credit notes.",
  coupon_expired: "The coupon can no longer be applied.",
  coupon_exhausted: "The coupon has been applied as often as it may be.",
  amount_exceeds_creditable: "More than is left of the invoice, the fee or the grant.",
  amount_exceeds_refundable: "More than was paid, or than is left of it.",
  grant_not_active: "The grant has nothing that could be taken back.",
  wrong_invoice_type: "Not for an invoice of this type.",
  document_incomplete: "Something that the document needs is missing; the message names it.",
  limit_exceeded:
    "There are as many of these as there may be, of combinations of dimensions 200 in a period, or a sum is beyond what is billed.",
  rate_limited: "Too many requests; Retry-After says when to try again.",
  internal_error: "Something went wrong on our side.",
  unavailable: "The service or its database is away for a moment.",
};

const INTRODUCTION =
  "Subscription and usage billing: customers, plans and usage events in, invoices out. Send the token as `Authorization: Bearer …` and the project as `X-Project-Id`. Money is an integer of the smallest currency unit, in fields that end in `_cents`.";

const PARAMETERS: Readonly<
  Record<"ProjectId" | "OptionalProjectId" | "IdempotencyKey", Parameter>
> = {
  ProjectId: {
    name: "X-Project-Id",
    in: "header",
    required: true,
    description: "The project that the call is about.",
    schema: { type: "string", format: "uuid" },
  },
  OptionalProjectId: {
    name: "X-Project-Id",
    in: "header",
    required: false,
    description: "Narrows the call to this project; without it, all of the organization's.",
    schema: { type: "string", format: "uuid" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "Makes the call safe to repeat: a repeat with the same key gets the first answer.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
};

export function openApi(routes: readonly Route[], base_url: string): OpenApiDocument {
  const shown = routes.filter((route) => route.hidden !== true);
  const schemas = new Schemas();
  const error = schemas.convert(ErrorBody);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of shown) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route, schemas);
  }
  return {
    openapi: "3.1.0",
    info: { title: "dues", version: "1", description: INTRODUCTION },
    servers: [{ url: base_url }],
    tags: [...new Set(shown.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: `A token of the organization. Scopes: ${scopeList()}`,
          "x-scopes": SCOPES,
        },
      },
      parameters: PARAMETERS,
      responses: errorResponses(error),
      schemas: schemas.components,
    },
    "x-error-codes": Object.fromEntries(ERROR_CODES.map((code) => [code, errorWords(code)])),
  };
}

function scopeList(): string {
  return Object.entries(SCOPES)
    .map(([scope, words]) => `\`${scope}\`: ${words}`)
    .join(" ");
}

function operation(route: Route, schemas: Schemas): Operation {
  const { id, tag, summary, description, scope } = route;
  const parameters = parametersOf(route, schemas);
  const errors = errorsOf(route);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: scope === "public" ? [] : [{ bearer: [scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route, route.body, schemas) }),
    responses: { ...successes(route, schemas), ...failures(errors) },
    "x-errors": errors,
  };
}

function parametersOf(route: Route, schemas: Schemas): (Parameter | Reference)[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path" as const,
    required: true,
    ...(route.params?.[name] === undefined ? {} : { description: route.params[name] }),
    schema: { type: "string" },
  }));
  const query = route.query === undefined ? {} : schemas.convert(route.query);
  const inQuery = Object.entries(query.properties ?? {}).map(([name, schema]) => {
    const { description, ...given } = schema;
    // Query values arrive as text; one that takes digits only is documented as an integer.
    const rest = given.pattern?.startsWith("^\\d{") ? { type: "integer" } : given;
    const required = query.required?.includes(name) ?? false;
    const words = description === undefined ? {} : { description };
    return { name, in: "query" as const, required, ...words, schema: rest };
  });
  const headers: Reference[] = [];
  if (route.project !== "none") {
    headers.push(parameter(route.project === "required" ? "ProjectId" : "OptionalProjectId"));
  }
  if (isReplayable(route)) headers.push(parameter("IdempotencyKey"));
  return [...inPath, ...inQuery, ...headers];
}

function parameter(name: keyof typeof PARAMETERS): Reference {
  return { $ref: `#/components/parameters/${name}` };
}

function requestBody(route: Route, body: TSchema, schemas: Schemas) {
  const schema = schemas.convert(body);
  const example = route.example === undefined ? {} : { example: route.example };
  return {
    required: route.body_optional !== true,
    content: { "application/json": { schema, ...example } },
  };
}

function successes(route: Route, schemas: Schemas): Record<string, Response> {
  const [status, body] = route.reply;
  const all: [number, TSchema | null][] = [
    [status, body],
    ...Object.entries(route.also ?? {}).map(([code, shape]): [number, TSchema | null] => {
      return [Number(code), shape];
    }),
  ];
  const entries = all.map(([code, shape]): [string, Response] => {
    const description = STATUS_CODES[code] ?? "Success";
    if (shape === null) return [String(code), { description, ...documents(route) }];
    const content = { "application/json": { schema: schemas.convert(shape) } };
    return [String(code), { description, content }];
  });
  return Object.fromEntries(entries);
}

function documents({ produces }: Route): Pick<Response, "content"> {
  if (produces === undefined) return {};
  const schemaOf = (type: string): SchemaObject =>
    type.startsWith("text/") ? { type: "string" } : { type: "string", contentMediaType: type };
  const content = produces.map((type) => [type, { schema: schemaOf(type) }]);
  return { content: Object.fromEntries(content) };
}

function failures(errors: readonly ErrorCode[]): Record<string, Reference> {
  const statuses = [...new Set(errors.map((code) => errorWords(code).status))];
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      { $ref: `#/components/responses/${responseName(status)}` },
    ]),
  );
}

function errorResponses(schema: SchemaObject): Record<string, Response> {
  const codes = new Map<number, ErrorCode[]>();
  for (const code of ERROR_CODES) {
    const { status } = errorWords(code);
    codes.set(status, [...(codes.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...codes].map(([status, named]) => {
      const list = named.map((code) => `\`${code}\``).join(", ");
      const description = `${STATUS_CODES[status] ?? "Error"}: ${list}.`;
      return [responseName(status), { description, content: { "application/json": { schema } } }];
    }),
  );
}

function responseName(status: number): string {
  return (STATUS_CODES[status] ?? `Status ${status}`).replace(/\W/g, "");
}

function errorWords(code: ErrorCode): ErrorWords {
  const { status, retryable } = refuse(code, "");
  return { status, retryable, description: WORDS[code] };
}
