// What a program can read of the API: every field and every operation says what it means, webhooks
// and error codes are all there. That examples fit is looked at by document.lint.test.ts.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ERROR_CODES } from "../../../src/errors.ts";
import { isStructured } from "../../../src/schema/meanings.ts";
import type { SchemaObject } from "../../../src/schema/openapi.ts";
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
  test("has all events that endpoints can subscribe to, and the test's", () => {
    expect(Object.keys(document.webhooks)).toEqual([...WEBHOOK_EVENTS, TEST_EVENT]);
  });

  test.each(Object.entries(document.webhooks))("%s has headers and a body", (event, { post }) => {
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
  });
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
    expect(error?.properties?.code?.enum).toEqual(ERROR_CODES);
  });
});

function codesOf(response: object): readonly unknown[] {
  const { $ref } = response as { $ref?: string };
  const found =
    $ref === undefined ? response : document.components.responses[$ref.split("/").at(-1) ?? ""];
  const { content } = found as { content?: Record<string, { schema: SchemaObject }> };
  const [, narrowed] = content?.["application/json"]?.schema.allOf ?? [];
  return narrowed?.properties?.error?.properties?.code?.enum ?? [];
}

test("a list that answers one record by its key is a choice of two bodies", () => {
  const listed = document.paths["/v1/customers"]?.get?.responses["200"];
  if (listed === undefined || "$ref" in listed) throw new Error("There is no list of customers.");
  const { oneOf } = listed.content?.["application/json"]?.schema ?? {};
  expect(oneOf?.map(({ required }) => required)).toEqual([["customers", "has_more"], ["customer"]]);
});

test("the version is that of the package, and the server a variable", () => {
  const { version, license } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(document.info.version).toBe(version);
  expect(document.info.license.identifier).toBe(license);
  expect(document.servers[0].url).toBe("{base_url}");
});
