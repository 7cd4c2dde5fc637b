// A route as an operation of the OpenAPI document.

import { STATUS_CODES } from "node:http";
import type { TSchema } from "typebox";
import { IDS } from "../../schema/meanings/common.ts";
import {
  nameOf,
  type Operation,
  type Parameter,
  type Reference,
  type Response,
  type SchemaObject,
} from "../../schema/openapi.ts";
import { isReplayable, type Route } from "../route.ts";
import { errorsOf } from "./errors.ts";
import type { Failures } from "./failures.ts";
import type { Schemas } from "./schemas.ts";

export const PARAMETERS: Readonly<
  Record<"ProjectId" | "OptionalProjectId" | "IdempotencyKey", Parameter>
> = {
  ProjectId: {
    name: "X-Project-Id",
    in: "header",
    required: true,
    description: "The project that the call is about.",
    schema: { type: "string", format: "uuid", examples: [IDS.project] },
  },
  OptionalProjectId: {
    name: "X-Project-Id",
    in: "header",
    required: false,
    description: "Narrows the call to this project; without it, all of the organization's.",
    schema: { type: "string", format: "uuid", examples: [IDS.project] },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "Makes the call safe to repeat: a repeat with the same key gets the first answer. A key of its own for each call, such as a fresh UUID.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
};

export function operation(route: Route, schemas: Schemas, failures: Failures): Operation {
  const { id, tag, summary, description, scope } = route;
  const succeeded = successes(route, schemas);
  const owners = [id, ...recordsIn(succeeded)];
  const parameters = parametersOf(route, schemas, owners);
  const errors = errorsOf(route);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: scope === "public" ? [] : [{ bearer: [scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined
      ? {}
      : { requestBody: requestBody(route, schemas.convert(route.body, owners)) }),
    responses: { ...succeeded, ...failures.of(errors) },
    "x-errors": errors,
  };
}

/** The records that an operation answers: what it takes is mostly called as in them. */
function recordsIn(responses: Readonly<Record<string, Response>>): string[] {
  return Object.values(responses).flatMap(({ content }) => {
    const schema = content?.["application/json"]?.schema;
    const fields = [schema, ...(schema?.oneOf ?? [])].flatMap((each) =>
      Object.values(each?.properties ?? {}),
    );
    return fields.flatMap((field) => nameOf(field.items ?? field) ?? []);
  });
}

function parametersOf(
  route: Route,
  schemas: Schemas,
  owners: readonly string[],
): (Parameter | Reference)[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path" as const,
    required: true,
    ...(route.params?.[name] === undefined ? {} : { description: route.params[name] }),
    schema: { type: "string" },
  }));
  const query = route.query === undefined ? {} : schemas.convert(route.query, owners);
  const inQuery = Object.entries(query.properties ?? {}).map(([name, schema]) => {
    const { description, ...given } = schema;
    const required = query.required?.includes(name) ?? false;
    const words = description === undefined ? {} : { description };
    return { name, in: "query" as const, required, ...words, schema: typed(given) };
  });
  const headers: Reference[] = [];
  if (route.project !== "none") {
    headers.push(parameter(route.project === "required" ? "ProjectId" : "OptionalProjectId"));
  }
  if (isReplayable(route)) headers.push(parameter("IdempotencyKey"));
  return [...inPath, ...inQuery, ...headers];
}

/** Query values arrive as text; one that takes digits only is documented as an integer. */
function typed(schema: SchemaObject): SchemaObject {
  if (!schema.pattern?.startsWith("^\\d{")) return schema;
  const examples = schema.examples?.map(Number);
  return { type: "integer", ...(examples === undefined ? {} : { examples }) };
}

function parameter(name: keyof typeof PARAMETERS): Reference {
  return { $ref: `#/components/parameters/${name}` };
}

function requestBody(route: Route, schema: SchemaObject) {
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
    const schema = schemas.convert(shape, [`${route.id}Reply`]);
    return [String(code), { description, content: { "application/json": { schema } } }];
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
