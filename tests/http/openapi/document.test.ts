// What a program can read of the API: every field and every operation says what it means, webhooks
// and error codes are all there. That examples fit is looked at by document.lint.test.ts.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ERROR_CODES } from "../../../src/errors.ts";
import { isStructured } from "../../../src/schema/meanings.ts";
import type { Response, SchemaObject } from "../../../src/schema/openapi.ts";
import { TEST_EVENT, WEBHOOK_EVENTS } from "../../../src/schema/webhooks.ts";
import { document, operations, outerSchemas } from "../../support/document.ts";

type Found = readonly [at: string, field: SchemaObject];

function fieldsIn(schema: SchemaObject, at: string): Found[] {
  const { properties = {}, items, anyOf = [], oneOf = [] } = schema;
  const own = Object.entries(properties).flatMap(([name, field]): Found[] => {
    return [[`${at}.${name}`, field], ...fieldsIn(field, `${at}.${name}`)];
  });
  const inner = [...(items === undefined ? [] : [items]), ...anyOf, ...oneOf];
  return [...own, ...inner.flatMap((each) => fieldsIn(each, at))];
}

const fields = outerSchemas().flatMap(([at, schema]) => fieldsIn(schema, at));
const ADVICE = "say what it means, and give an example, in src/schema/meanings";

describe("every field", () => {
  test("has a description", () => {
    expect(fields.length).toBeGreaterThan(1000);
    const silent = fields.filter(([, { description = "" }]) => description.length < 3);
    expect(
      silent.map(([at]) => at),
      ADVICE,
    ).toEqual([]);
  });

  test("has an example, itself or in its fields", () => {
    const bare = fields.filter(([, field]) => !isStructured(field) && field.examples === undefined);
    expect(
      bare.map(([at]) => at),
      ADVICE,
    ).toEqual([]);
  });

  test("of a query is described too", () => {
    const silent = operations.flatMap(([path, method, { parameters = [] }]) =>
      parameters.flatMap((each) => {
        if ("$ref" in each || each.in !== "query") return [];
        const isWhole = each.description !== undefined && each.schema.examples !== undefined;
        return isWhole ? [] : [`${method} ${path} ${each.name}`];
      }),
    );
    expect(silent, ADVICE).toEqual([]);
  });
});

describe("what generators of clients stumble over does not occur", () => {
  /** Schemas at any depth, those of parameters too, by where they stand. */
  function all(value: unknown, at: string): Found[] {
    if (typeof value !== "object" || value === null) return [];
    const inner = Object.entries(value)
      .filter(([name]) => name !== "examples" && name !== "example")
      .flatMap(([name, each]) => all(each, `${at}/${name}`));
    return [[at, value as SchemaObject], ...inner];
  }
  const everything = all(document, "");
  const places = (has: (schema: SchemaObject) => boolean) =>
    everything.filter(([, schema]) => has(schema)).map(([at]) => at);

  test("uniqueItems", () => {
    expect(places((schema) => "uniqueItems" in schema)).toEqual([]);
  });

  test("a pattern beside format uuid", () => {
    expect(places(({ format, pattern }) => format === "uuid" && pattern !== undefined)).toEqual([]);
  });

  test("values to choose from without a type, or of several", () => {
    const typed = ({ enum: values = [], type }: SchemaObject) => {
      const types = [type ?? []].flat().filter((each) => each !== "null");
      const all = values.filter((value) => value !== null);
      return types.length === 1 && all.every((value) => typeof value === types[0]);
    };
    expect(places((schema) => Array.isArray(schema.enum) && !typed(schema))).toEqual([]);
  });
});

test("every record, operation, tag and parameter has a description", () => {
  const { schemas, parameters } = document.components;
  const silent = [
    ...Object.entries(schemas).filter(([, { description }]) => description === undefined),
    ...Object.entries(parameters).filter(([, { description }]) => description === undefined),
    ...document.tags
      .filter(({ description }) => description === undefined)
      .map(({ name }) => [name]),
    ...operations
      .filter(([, , { description }]) => description === undefined)
      .map(([, , { operationId }]) => [operationId]),
  ];
  expect(silent.map(([name]) => name)).toEqual([]);
});

test("the key of a call has no example, which tools would send with every call", () => {
  const { IdempotencyKey: key } = document.components.parameters;
  expect(key).toMatchObject({ name: "Idempotency-Key", in: "header" });
  expect(JSON.stringify(key)).not.toContain("example");
});

test("no component is without use", () => {
  const text = JSON.stringify(document);
  const unused = Object.entries(document.components).flatMap(([kind, named]) =>
    kind === "securitySchemes"
      ? []
      : Object.keys(named).filter((name) => !text.includes(`"#/components/${kind}/${name}"`)),
  );
  expect(unused).toEqual([]);
});

describe("webhooks", () => {
  test("stand where no generator of clients takes them for calls", () => {
    expect(Object.keys(document)).not.toContain("webhooks");
    const ids = operations.map(([, , { operationId }]) => operationId);
    for (const { post } of Object.values(document["x-webhooks"])) {
      expect(ids).not.toContain(post.operationId);
    }
  });

  test("has all events that endpoints can subscribe to, and the test's", () => {
    expect(Object.keys(document["x-webhooks"])).toEqual([...WEBHOOK_EVENTS, TEST_EVENT]);
  });

  test.each(Object.entries(document["x-webhooks"]))(
    "%s has headers and a body",
    (event, { post }) => {
      const headers = post.parameters.map(({ $ref }) => $ref.split("/").at(-1));
      expect(headers).toEqual([
        "ServiceEvent",
        "ServiceSignature",
        "WebhookId",
        "WebhookTimestamp",
        "WebhookSignature",
      ]);
      const name = post.requestBody.content["application/json"].schema.$ref?.split("/").at(-1);
      const body = document.components.schemas[name ?? ""];
      expect(body?.required).toEqual(["event", "created_at", "data"]);
      expect(body?.properties?.event?.const).toBe(event);
      expect(Object.keys(body?.properties?.data?.properties ?? {})).not.toEqual([]);
    },
  );
});

describe("errors", () => {
  test("a response names the codes that the operation can answer with this status", () => {
    const wrong = operations.flatMap(([path, method, { responses, "x-errors": errors }]) => {
      const said = Object.entries(responses).flatMap(([status, response]) =>
        status.startsWith("2") ? [] : codesOf(response),
      );
      return said.toSorted().join() === errors.toSorted().join() ? [] : [`${method} ${path}`];
    });
    expect(wrong).toEqual([]);
  });

  test("the body of all of them names every code", () => {
    const { error } = document.components.schemas.ErrorBody?.properties ?? {};
    expect(error?.properties?.code?.["x-known-values"]).toEqual(ERROR_CODES);
    expect(error?.properties?.code?.enum).toBeUndefined();
  });

  test("every refusal has that body and no other", () => {
    const { responses } = document.components;
    const placed = operations.flatMap(([, , operation]) =>
      Object.entries(operation.responses).flatMap(([status, response]) =>
        status.startsWith("2") || "$ref" in response ? [] : [response],
      ),
    );
    const bodies = [...Object.values(responses), ...placed].map(
      ({ content }) => content?.["application/json"]?.schema,
    );
    expect(new Set(bodies.map((body) => JSON.stringify(body)))).toEqual(
      new Set(['{"$ref":"#/components/schemas/ErrorBody"}']),
    );
  });
});

function codesOf(response: object): readonly unknown[] {
  const { $ref } = response as { $ref?: string };
  const found =
    $ref === undefined ? response : document.components.responses[$ref.split("/").at(-1) ?? ""];
  return (found as Response)["x-codes"] ?? [];
}

test("a list that answers one record by its key is a choice of two bodies", () => {
  const listed = document.paths["/v1/customers"]?.get?.responses["200"];
  if (listed === undefined || "$ref" in listed) throw new Error("There is no list of customers.");
  const { oneOf } = listed.content?.["application/json"]?.schema ?? {};
  expect(oneOf?.map(({ required }) => required)).toEqual([
    ["customers", "cursor", "has_more"],
    ["customer"],
  ]);
});

test("the version is that of the package, and the server a variable", () => {
  const { version, license } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(document.info.version).toBe(version);
  expect(document.info.license.identifier).toBe(license);
  expect(document.servers[0].url).toBe("{base_url}");
});
