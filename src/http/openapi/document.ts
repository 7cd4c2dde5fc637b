// Builds the OpenAPI 3.1 document from the table of routes and the table of webhook payloads.

import type { TSchema } from "typebox";
import { ERROR_CODES } from "../../errors.ts";
import { ErrorBody } from "../../schema/common.ts";
import type { RequiredScope } from "../../schema/keys.ts";
import type { OpenApiDocument, Operation, SchemaObject } from "../../schema/openapi.ts";
import { VERSION } from "../../version.ts";
import type { Route } from "../route.ts";
import { describeErrors, Failures } from "./failures.ts";
import { operation, PARAMETERS } from "./operations.ts";
import { Schemas } from "./schemas.ts";
import { TAGS } from "./tags.ts";
import { WEBHOOK_PARAMETERS, webhooks } from "./webhooks.ts";

const SCOPES: Readonly<Record<RequiredScope, string>> = {
  read: "Every read.",
  write: "Every change of a project's records, and all of read and events.",
  events: "Sending usage events, and nothing else.",
  admin: "Tokens, workspaces and projects, and all of the others. `*` means the same.",
};

const INTRODUCTION =
  "Subscription and usage billing: customers, plans and usage events in, invoices out. Send the token as `Authorization: Bearer …` and the project as `X-Project-Id`. Money is an integer of the smallest currency unit, in fields that end in `_cents`.";

export function openApi(routes: readonly Route[], base_url: string): OpenApiDocument {
  const shown = routes.filter((route) => route.hidden !== true);
  const schemas = new Schemas();
  const failures = new Failures(errorSchema(schemas));
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of shown) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route, schemas, failures);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "dues",
      version: VERSION,
      description: INTRODUCTION,
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
      contact: { name: "The reference of this service", url: `${base_url}/docs` },
    },
    servers: [
      {
        url: "{base_url}",
        description: "Where the service runs.",
        variables: {
          base_url: { default: base_url, description: "Scheme, host and port, without a path." },
        },
      },
    ],
    tags: [...new Set(shown.map((route) => route.tag))].map(tagOf),
    paths,
    "x-webhooks": webhooks(schemas),
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: `A token of the organization. Scopes: ${scopeList()}`,
          "x-scopes": SCOPES,
        },
      },
      parameters: { ...PARAMETERS, ...WEBHOOK_PARAMETERS },
      responses: failures.components,
      schemas: schemas.components,
    },
    "x-error-codes": describeErrors(),
  };
}

/** The body of every refusal; a response of an operation says which codes it can have. */
function errorSchema(schemas: Schemas): SchemaObject {
  const { error } = ErrorBody.properties;
  const code = { ...error.properties.code, "x-known-values": ERROR_CODES };
  const body = { ...error, properties: { ...error.properties, code } };
  return schemas.convert({ ...ErrorBody, properties: { error: body } } as TSchema);
}

function tagOf(name: string) {
  const description = TAGS[name];
  return { name, ...(description === undefined ? {} : { description }) };
}

function scopeList(): string {
  return Object.entries(SCOPES)
    .map(([scope, meaning]) => `\`${scope}\`: ${meaning}`)
    .join(" ");
}
