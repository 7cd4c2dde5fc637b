// The OpenAPI document as data: made by http from the table of routes, read by the reference page
// and by the generator of the client.

import type { RequiredScope } from "./keys.ts";

/** JSON Schema as far as the document uses it. */
export type SchemaObject = {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly contentMediaType?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly "x-unique-items"?: boolean;
  readonly minProperties?: number;
  readonly items?: SchemaObject;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaObject;
  readonly anyOf?: readonly SchemaObject[];
  readonly oneOf?: readonly SchemaObject[];
  readonly allOf?: readonly SchemaObject[];
  readonly examples?: readonly unknown[];
  readonly "x-max-bytes"?: number;
  /** Values of a text that may become more, so that a client takes others too. */
  readonly "x-known-values"?: readonly string[];
};

export const SCHEMA_REF = "#/components/schemas/";

export type Reference = { readonly $ref: string };

export type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: SchemaObject;
};

export type Content = {
  readonly "application/json": { readonly schema: SchemaObject; readonly example?: unknown };
};

export type Response = {
  readonly description: string;
  /** The content by media type: records are JSON, documents for people are not. */
  readonly content?: Readonly<Record<string, { readonly schema: SchemaObject }>>;
  /** The error codes that a refusal of this status can have. */
  readonly "x-codes"?: readonly string[];
};

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly { readonly bearer: readonly RequiredScope[] }[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response | Reference>>;
  /** Every error code that the operation can answer; see x-error-codes for what each means. */
  readonly "x-errors": readonly string[];
};

/** A message to receivers of a webhook, as an operation. */
export type WebhookOperation = Pick<
  Operation,
  "operationId" | "tags" | "summary" | "security" | "responses"
> & {
  readonly description: string;
  readonly parameters: readonly Reference[];
  readonly requestBody: NonNullable<Operation["requestBody"]>;
};

export type ErrorDescription = {
  readonly status: number;
  readonly retryable: boolean;
  readonly description: string;
};

export type OpenApiDocument = {
  readonly openapi: "3.1.0";
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
    readonly contact: { readonly name: string; readonly url: string };
  };
  readonly servers: readonly [
    {
      readonly url: string;
      readonly description: string;
      readonly variables: {
        readonly base_url: { readonly default: string; readonly description: string };
      };
    },
  ];
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  /**
   * The message of each event. Not in the standard's own section: generators of clients take what
   * stands there for calls of the API.
   */
  readonly "x-webhooks": Readonly<Record<string, { readonly post: WebhookOperation }>>;
  readonly components: {
    readonly securitySchemes: {
      readonly bearer: {
        readonly type: "http";
        readonly scheme: "bearer";
        readonly description: string;
        readonly "x-scopes": Readonly<Record<RequiredScope, string>>;
      };
    };
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly schemas: Readonly<Record<string, SchemaObject>>;
  };
  readonly "x-error-codes": Readonly<Record<string, ErrorDescription>>;
};

/** The schema itself, or the named one it points at. */
export function resolved(
  schema: SchemaObject,
  named: Readonly<Record<string, SchemaObject>>,
): SchemaObject {
  const name = nameOf(schema);
  return name === undefined ? schema : (named[name] ?? schema);
}

export function nameOf(schema: SchemaObject): string | undefined {
  return schema.$ref?.startsWith(SCHEMA_REF) ? schema.$ref.slice(SCHEMA_REF.length) : undefined;
}
