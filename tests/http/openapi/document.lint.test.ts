// Two linters of the field have nothing to say about the OpenAPI document, but for what is listed
// here with its reason.

import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral, { type RulesetDefinition } from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { expect, test } from "vitest";
import { document } from "../../support/document.ts";

/** They read a document of nearly a megabyte. */
const LONG = { timeout: 60_000 };

const source = JSON.stringify(document);

/** By rule: why it does not hold here. */
const REDOCLY_EXCEPTIONS: Readonly<Record<string, string>> = {
  "no-unused-components":
    "It does not look under x-webhooks, where payloads and headers are used; document.test.ts does.",
};
const SPECTRAL_EXCEPTIONS: Readonly<Record<string, string>> = {
  "oas3-operation-security-defined":
    "OpenAPI 3.1 lets a bearer scheme list the roles that a call needs; the rule knows scopes of OAuth alone.",
};

test("redocly's recommended rules", LONG, async () => {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source, absoluteRef: "openapi.json", config });
  const found = problems.filter(({ ruleId }) => REDOCLY_EXCEPTIONS[ruleId] === undefined);
  expect(
    found.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`),
  ).toEqual([]);
});

test("spectral's rules for OpenAPI", LONG, async () => {
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [rulesets.oas as RulesetDefinition] });
  const problems = await linter.run(JSON.parse(source));
  const found = problems.filter(({ code }) => SPECTRAL_EXCEPTIONS[String(code)] === undefined);
  expect(found.map(({ code, message, path }) => `${code} ${path.join(".")}: ${message}`)).toEqual(
    [],
  );
  // An exception that nothing needs any more is taken out.
  const needed = new Set(problems.map(({ code }) => String(code)));
  expect(Object.keys(SPECTRAL_EXCEPTIONS).filter((code) => !needed.has(code))).toEqual([]);
});
