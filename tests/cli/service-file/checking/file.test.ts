// The configuration file's own rules: every fault is told, with its line, its column and a hint.

import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkFile } from "../../../../src/cli/service-file/checking/file.ts";
import { urlFault } from "../../../../src/cli/service-file/checking/webhook-url.ts";
import type { Fault } from "../../../../src/cli/service-file/checking/yaml.ts";
import { ServiceFile } from "../../../../src/schema/service-file.ts";
import { schemaDocument } from "../../../../src/schema/standard-schema.ts";

const HEAD = 'version: "1"\norg: acme\nworkspace: main\nproject: test\n';

function check(text: string): Fault[] | "good" {
  const result = checkFile(Buffer.from(text));
  return Array.isArray(result) ? result : "good";
}

/** `line:column field message` of each fault. */
function faults(text: string): string[] {
  const result = check(text);
  if (result === "good") return [];
  return result.map(({ line, column, field, message }) => `${line}:${column} ${field} ${message}`);
}

function fileOf(path: string): URL {
  return new URL(`../../../../${path}`, import.meta.url);
}

describe("the committed files", () => {
  const example = readFileSync(fileOf("service.example.yaml"), "utf8");

  test("docs/service.schema.json is what the schema says", () => {
    const wanted = `${JSON.stringify(schemaDocument(ServiceFile), null, 2)}\n`;
    const file = fileOf("docs/service.schema.json");
    if (process.env.UPDATE_DOCS === "1") writeFileSync(file, wanted);
    const advice =
      "UPDATE_DOCS=1 npm test -- tests/cli/service-file/checking/file.test.ts writes it";
    expect(readFileSync(file, "utf8"), advice).toBe(wanted);
  });

  test("the schema has standard keywords only", () => {
    expect(JSON.stringify(schemaDocument(ServiceFile))).not.toMatch(
      /"(~\w+|x-[a-z-]+)"|"format":"currency"/,
    );
  });

  test("service.example.yaml is well formed and names its schema for editors", () => {
    expect(faults(example)).toEqual([]);
    expect(example).toContain("# yaml-language-server: $schema=./docs/service.schema.json");
  });

  test("service.example.yaml shows every field, and every event and interval", () => {
    const missing = fieldsOf(ServiceFile).filter((name) => !example.includes(`${name}:`));
    expect(missing).toEqual([]);
    for (const word of ["weekly", "semiannual", "yearly", "count_unique", "latest", "advance"]) {
      expect(example).toContain(word);
    }
  });
});

function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {}, items } = schema as { properties?: object; items?: unknown };
  return [
    ...Object.entries(properties).flatMap(([name, inner]) => [name, ...fieldsOf(inner)]),
    ...fieldsOf(items),
  ];
}

describe("a good file", () => {
  test.each([
    ["may have no section at all", HEAD],
    ["may have empty sections", `${HEAD}catalog: []\nmetrics: []\nplans: []\nwebhooks: []\n`],
    ["may be JSON", '{"version":"1","org":"a","workspace":"b","project":"c"}'],
    ["may have Windows line ends", HEAD.replaceAll("\n", "\r\n")],
    ["may begin with a byte order mark", `\ufeff${HEAD}`],
    [
      "may have a latest metric without a field",
      `${HEAD}metrics:\n- {code: a, name: A, aggregation_type: latest}\n`,
    ],
    ["may have an add-on of 0", `${HEAD}addons:\n- {code: a, name: A, amount_cents: 0}\n`],
    ["may have dunning without steps while it is off", `${HEAD}dunning: {enabled: false}\n`],
    [
      "may have a webhook on this machine",
      `${HEAD}webhooks:\n- {url: "http://127.0.0.1:9000/x", events: [invoice.created]}\n`,
    ],
  ])("%s", (_, text) => {
    expect(faults(text)).toEqual([]);
  });
});

describe("a fault is told with line, column and field", () => {
  const plan = (charge: string) =>
    `${HEAD}plans:\n- code: p\n  name: P\n  interval: monthly\n  currency: USD\n  charges:\n  - ${charge}\n`;
  test.each([
    [
      "a version that is a number",
      "version: 1\norg: a\nworkspace: b\nproject: c\n",
      "1:10 version version must be text",
    ],
    [
      "another version",
      'version: "2"\norg: a\nworkspace: b\nproject: c\n',
      '1:10 version version must be "1"',
    ],
    ["a missing slug", 'version: "1"\norg: a\nworkspace: b\n', "1:1 project project is missing"],
    ["an unknown key", `${HEAD}webhook: []\n`, "5:1 webhook The key webhook is not known here"],
    [
      "a rate without quotes",
      plan("{type: standard, metric_ref: m, rate: 0.10}"),
      "11:43 plans[0].charges[0].rate",
    ],
    [
      "a rate with a sign",
      plan('{type: standard, metric_ref: m, rate: "-1"}'),
      "11:43 plans[0].charges[0].rate",
    ],
    [
      "a code that is a number",
      `${HEAD}metrics:\n- {code: 12, name: A, aggregation_type: count}\n`,
      "6:10 metrics[0].code",
    ],
    [
      "a catalog code in capitals",
      `${HEAD}catalog:\n- {code: Seat, name: A, amount_cents: 1}\n`,
      "6:10 catalog[0].code",
    ],
    [
      "a catalog name of 129",
      `${HEAD}catalog:\n- {code: a, name: ${"x".repeat(129)}, amount_cents: 1}\n`,
      "6:19 catalog[0].name",
    ],
    [
      "an amount with a fraction",
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: 1.5}\n`,
      "6:36 catalog[0].amount_cents",
    ],
    [
      "an amount with an exponent",
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: 1e3}\n`,
      "6:36 catalog[0].amount_cents",
    ],
    [
      "a negative amount",
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: -1}\n`,
      "6:36 catalog[0].amount_cents",
    ],
    [
      "an unknown currency",
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: 1, currency: XYZ}\n`,
      "6:49 catalog[0].currency",
    ],
    [
      "a sum without a field",
      `${HEAD}metrics:\n- {code: a, name: A, aggregation_type: sum}\n`,
      "6:3 metrics[0].field_name",
    ],
    [
      "an add-on of two prices",
      `${HEAD}addons:\n- {code: a, name: A, amount_cents: 1, catalog_ref: b}\n`,
      "6:36 addons[0].amount_cents",
    ],
    [
      "an add-on of no price",
      `${HEAD}addons:\n- {code: a, name: A}\n`,
      "6:3 addons[0] An add-on needs",
    ],
    [
      "an add-on in arrears",
      `${HEAD}addons:\n- {code: a, name: A, amount_cents: 1, invoice_timing: arrears}\n`,
      "6:55 addons[0].invoice_timing",
    ],
    [
      "an unknown interval",
      `${HEAD}plans:\n- {code: a, name: A, interval: daily, currency: USD}\n`,
      "6:32 plans[0].interval",
    ],
    [
      "a plan without a currency",
      `${HEAD}plans:\n- {code: a, name: A, interval: weekly}\n`,
      "6:3 plans[0].currency",
    ],
    [
      "usage in advance",
      plan('{type: standard, metric_ref: m, rate: "1", invoice_timing: immediate}'),
      "11:64 plans[0].charges[0].invoice_timing",
    ],
    [
      "usage without a metric",
      plan('{type: standard, rate: "1"}'),
      "11:5 plans[0].charges[0] plans[0].charges[0].metric_ref is missing",
    ],
    [
      "a flat fee without a price",
      plan("{type: flat_fee}"),
      "11:5 plans[0].charges[0] A flat fee needs",
    ],
    [
      "a rate on a flat fee",
      plan('{type: flat_fee, catalog_ref: a, rate: "1"}'),
      "11:38 plans[0].charges[0].rate",
    ],
    [
      "a quantity from elsewhere",
      plan("{type: flat_fee, catalog_ref: a, quantity_from: seats}"),
      "11:53 plans[0].charges[0].quantity_from",
    ],
    ["dunning without steps", `${HEAD}dunning: {enabled: true}\n`, "5:10 dunning.steps"],
    [
      "a step on the due day",
      `${HEAD}dunning:\n  steps: [{days_after_due: 0, webhook_event: subscription.suspend_requested}]\n`,
      "6:28 dunning.steps[0].days_after_due",
    ],
    [
      "a step of another event",
      `${HEAD}dunning:\n  steps: [{days_after_due: 1, webhook_event: invoice.created}]\n`,
      "6:46 dunning.steps[0].webhook_event",
    ],
    ["an empty dunning step", `${HEAD}dunning:\n  steps: [null]\n`, "6:11 dunning.steps[0]"],
    [
      "a webhook over http",
      `${HEAD}webhooks:\n- {url: "http://example.com", events: [invoice.created]}\n`,
      "6:9 webhooks[0].url",
    ],
    [
      "a webhook of no event",
      `${HEAD}webhooks:\n- {url: "https://example.com", events: []}\n`,
      "6:40 webhooks[0].events",
    ],
    [
      "a webhook of an unknown event",
      `${HEAD}webhooks:\n- {url: "https://example.com", events: [invoice.paid]}\n`,
      "6:41 webhooks[0].events[0]",
    ],
    [
      "a code that is there twice",
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: 1}\n- {code: a, name: B, amount_cents: 2}\n`,
      "7:10 catalog[1].code",
    ],
    [
      "two currencies in one plan",
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: 1, currency: EUR}\n${plan("{type: flat_fee, catalog_ref: a}").slice(HEAD.length)}`,
      "13:35 plans[0].charges[0].catalog_ref",
    ],
    ["a key that is there twice", `${HEAD}org: other\n`, "5:1  The key org is there twice"],
    [
      "an anchor",
      'version: "1"\norg: &a acme\nworkspace: *a\nproject: c\n',
      "2:6  Anchors and aliases",
    ],
    [
      "a tag of one's own",
      'version: !secret "1"\norg: a\nworkspace: b\nproject: c\n',
      "1:10  Tags of one's own",
    ],
    ["a tab that indents", `${HEAD}catalog:\n\t- code: a\n`, "6:1  A tab cannot indent"],
    ["two documents", `${HEAD}---\n${HEAD}`, "5:1  The file holds more than one document"],
    ["text that ends nowhere", `${HEAD}catalog: "abc\n`, "6:1  This is not valid YAML"],
    ["a list as the file", "- 1\n", "1:1  The file must be a block of keys"],
    ["an empty file", "", "1:1  The file must be a block of keys"],
    [
      "U+0000",
      `${HEAD}catalog:\n- {code: a, name: "a\\0b", amount_cents: 1}\n`,
      "6:19 catalog[0].name",
    ],
  ])("%s", (_, text, wanted) => {
    const told = faults(text);
    expect(
      told.some((fault) => fault.startsWith(wanted)),
      told.join("\n"),
    ).toBe(true);
  });

  test("all of them at once, in the order of the lines", () => {
    const text = "version: 1\norg: A\nworkspace: b\nproject: c\nplan: []\nmetrics: 5\n";
    const lines = faults(text).map((fault) => Number(fault.split(":")[0]));
    expect(lines).toEqual([1, 2, 5, 6]);
  });
});

describe("hints say what was meant", () => {
  const hint = (text: string) => (check(text) as Fault[])[0]?.hint ?? "";
  test.each([
    ["a version", "version: 1\norg: a\nworkspace: b\nproject: c\n", 'version: "1"'],
    ["a misspelt section", `${HEAD}catlog: []\n`, "Did you mean catalog?"],
    [
      "a misspelt interval",
      `${HEAD}plans:\n- {code: a, name: A, interval: monthy, currency: USD}\n`,
      "Did you mean monthly?",
    ],
    [
      "a number as a code",
      `${HEAD}metrics:\n- {code: 12, name: A, aggregation_type: count}\n`,
      'code: "12"',
    ],
  ])("%s", (_, text, wanted) => {
    expect(hint(text)).toContain(wanted);
  });
});

describe("a file cannot hurt its reader", () => {
  test.each([
    ["a million brackets", `a: ${"[".repeat(1_000_000)}`],
    ["half a million dashes", "- ".repeat(500_000)],
    ["blocks in blocks", Array.from({ length: 60 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")],
    [
      "braces in braces",
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: 1, metadata: ${"{a: ".repeat(40)}1${"}".repeat(40)}}\n`,
    ],
    ["more than four mebibytes", `${HEAD}# ${"x".repeat(4 * 1024 * 1024)}\n`],
    ["bytes that are no text", Buffer.from([0xff, 0xfe, 0x00, 0x80])],
  ])("%s", (_, text) => {
    const start = performance.now();
    const result = checkFile(Buffer.from(text as string));
    expect(Array.isArray(result)).toBe(true);
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  test("metadata of 31 levels is read, as by the API, and of 32 is not", () => {
    const nested = (levels: number) =>
      `${HEAD}catalog:\n- {code: a, name: A, amount_cents: 1, metadata: ${"{a: ".repeat(levels)}1${"}".repeat(levels)}}\n`;
    expect(faults(nested(31))).toEqual([]);
    expect(faults(nested(32))[0]).toContain("metadata nests more than 31 levels deep");
  });
});

describe("what is wrong with the shape of an entry hides nothing else of it", () => {
  test("a URL beside a wrong event", () => {
    const text = `${HEAD}webhooks:\n- {url: "http://example.com", events: [invoice.paid]}\n`;
    expect(faults(text).map((fault) => fault.split(" ")[1])).toEqual([
      "webhooks[0].url",
      "webhooks[0].events[0]",
    ]);
  });

  test("the second charge of a plan that lacks a field, and beside a charge that does", () => {
    const text = `${HEAD}metrics: [{code: calls, name: Calls, aggregation_type: count}]
plans:
- code: pro
  name: Pro
  currency: USD
  charges:
  - {type: standard, metric_ref: calls}
  - {type: flat_fee}
  - {type: standard, metric_ref: calls, rate: 5}
  - {type: flat_fee, catalog_ref: seat, metric_ref: calls}
`;
    expect(faults(text).map((fault) => fault.split(" ")[1])).toEqual([
      "plans[0].interval",
      "plans[0].charges[0].rate",
      "plans[0].charges[1]",
      "plans[0].charges[2].rate",
      "plans[0].charges[3].metric_ref",
    ]);
  });

  test("a metric without a name that aggregates nothing, and a code that is there twice", () => {
    const text = `${HEAD}metrics:
- {code: calls, aggregation_type: sum}
- {code: calls, name: Calls, aggregation_type: count, colour: red}
`;
    const found = faults(text).join("\n");
    expect(found).toContain("metrics[0].name is missing.");
    expect(found).toContain("metrics[0].field_name is required for sum");
    expect(found).toContain("metrics[0] has this code already: calls");
    expect(found).toContain("The key colour is not known here.");
  });
});

test.each([
  ["https://example.com/x", undefined],
  ["http://localhost:9000", undefined],
  ["http://10.1.2.3/x", undefined],
  ["http://example.com/x", "must start with https://"],
  ["ftp://example.com", "must start with https://"],
  ["https://user:pass@example.com", "must not hold a user name or password"],
  ["https://example.com/#a", "must not hold a # part"],
  ["example.com", "must be a full URL such as https://example.com/webhooks"],
])("the URL %s of a webhook", (url, wanted) => {
  expect(urlFault(url)).toBe(wanted);
});
