// The documents that are made from the code are those that are committed. UPDATE_DOCS=1 writes
// them instead of comparing.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { TSchema } from "typebox";
import { describe, expect, test } from "vitest";
import { SETTINGS } from "../src/config.ts";
import { Bounds } from "../src/http/admission/bound.ts";
import { openApi } from "../src/http/openapi/document.ts";
import "../src/http/prometheus.ts";
import { checker } from "../src/http/request/validation.ts";
import { renderDocs } from "../src/pages/docs/reference.ts";
import type { OpenApiDocument } from "../src/schema/openapi.ts";
import { registry } from "../src/telemetry.ts";
import { registerWorkerMetrics } from "../src/workers/prometheus.ts";
import { BASE_URL, document, operations, routes } from "./support/document.ts";

/** Compressed it is an eighth. Every field has words, an event its body, a call two samples. */
const PAGE_BYTES_MAX = 450_000;
const LINE_MAX = 120;
const UPDATE = process.env.UPDATE_DOCS === "1";

const page = renderDocs(document);

function fileOf(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

/** JSON as people read it: what fits into a line stands in one, as it is in the schemas. */
function printed(value: unknown, indent = "", before = 0): string {
  const line = JSON.stringify(value);
  if (typeof value !== "object" || value === null) return line;
  if (indent.length + before + line.length <= LINE_MAX) return line;
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((each) => printed(each, inner))
    : Object.entries(value).map(([key, each]) => {
        const name = `${JSON.stringify(key)}: `;
        return `${name}${printed(each, inner, name.length)}`;
      });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${lines.map((each) => inner + each).join(",\n")}\n${indent}${close}`;
}

/** Compares a committed file with what the code makes of it now. */
function expectCommitted(path: string, wanted: string): void {
  if (UPDATE) writeFileSync(fileOf(path), wanted);
  const found = readFileSync(fileOf(path), "utf8");
  expect(found, `${path} is behind the code: UPDATE_DOCS=1 npm test -- tests/docs.test.ts`).toBe(
    wanted,
  );
}

describe("committed documents", () => {
  test("docs/openapi.json is what the routes say", () => {
    expectCommitted("docs/openapi.json", `${printed(document)}\n`);
  });

  test("docs/OPERATING.md lists every setting", () => {
    const [begin, end] = ["<!-- settings -->", "<!-- /settings -->"];
    const text = readFileSync(fileOf("docs/OPERATING.md"), "utf8");
    const [before = "", rest = ""] = text.split(`${begin}\n`);
    const [, after = ""] = rest.split(end);
    const rows = SETTINGS.map(
      ({ name, fallback, says }) => `| \`${name}\` | ${cell(fallback)} | ${says} |`,
    );
    const table = ["| Variable | Default | Meaning |", "|---|---|---|", ...rows].join("\n");
    expect(after, `${begin} and ${end} mark the table`).not.toBe("");
    expectCommitted("docs/OPERATING.md", `${before}${begin}\n${table}\n${end}${after}`);
  });

  test("docs/OPERATING.md lists every metric of ours, and no other", () => {
    registerWorkerMetrics();
    new Bounds().showIn(registry);
    const text = readFileSync(fileOf("docs/OPERATING.md"), "utf8");
    const [, section = ""] = /^## Metrics\n([\s\S]*?)^## /m.exec(text) ?? [];
    const listed = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, name = ""]) => name);
    const known = registry.getMetricsAsArray().map(({ name }) => name);
    expect(known.filter((name) => name.startsWith("dues_") && !listed.includes(name))).toEqual([]);
    expect(listed.filter((name) => !known.includes(name))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });
});

describe("prose", () => {
  const files = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    ...readdirSync(fileOf("docs")).map((name) => `docs/${name}`),
    ...readdirSync(fileOf("docs/decisions")).map((name) => `docs/decisions/${name}`),
  ].filter((path) => path.endsWith(".md"));

  test.each(files)("%s names only files that exist", (path) => {
    const text = readFileSync(fileOf(path), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, link = ""]) =>
      fileURLToPath(new URL(link, fileOf(path))),
    );
    const named = [...text.matchAll(/`([\w-]+(?:\/[\w-]+)*\.(?:ts|md))`/g)].map(
      ([, name = ""]) => name,
    );
    // A file of src may be named without it.
    const missing = named.filter((name) => {
      return ![name, `src/${name}`, `docs/${name}`].some((each) => existsSync(fileOf(each)));
    });
    expect([...missing, ...links.filter((link) => !existsSync(link))]).toEqual([]);
  });
});

function cell(fallback: string): string {
  return fallback.startsWith("(") ? fallback.slice(1, -1) : `\`${fallback}\``;
}

describe("the OpenAPI document", () => {
  test("every reference points at something", () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, ref = ""]) => ref,
    );
    expect(refs.length).toBeGreaterThan(100);
    expect(refs.filter((ref) => find(document, ref) === undefined)).toEqual([]);
  });

  test("operations have names of their own, fit for a client", () => {
    const names = operations.map(([, , { operationId }]) => operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z]+([A-Z][a-z]*)+$/.test(name))).toEqual([]);
    expect(names).toEqual(
      expect.arrayContaining([
        "listCustomers",
        "createCustomer",
        "getCustomer",
        "updateCustomer",
        "archivePlan",
        "createPlanCharge",
        "getCurrentKey",
        "revokeKey",
        "upsertCatalogItem",
      ]),
    );
  });

  test("every route is in it, but for the pages", () => {
    const shown = routes.filter((route) => route.hidden !== true);
    expect(operations).toHaveLength(shown.length);
    expect(Object.keys(document.paths)).not.toContain("/metrics");
  });

  test("every parameter of a path is declared, and described", () => {
    for (const [path, method, { parameters = [] }] of operations) {
      const declared = parameters.flatMap((each) =>
        "in" in each && each.in === "path" ? each : [],
      );
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const at = `${method} ${path}`;
      expect(
        declared.map(({ name }) => name),
        at,
      ).toEqual(named);
      expect(
        declared.every(({ description }) => description !== undefined),
        at,
      ).toBe(true);
    }
  });

  test("every operation has a success and says what a failure looks like", () => {
    for (const [path, method, { responses }] of operations) {
      const statuses = Object.keys(responses);
      expect(
        statuses.some((status) => status.startsWith("2")),
        `${method} ${path}`,
      ).toBe(true);
      expect(statuses, `${method} ${path}`).toContain("500");
    }
  });

  test("our own keywords and formats have become standard ones", () => {
    const text = JSON.stringify(document);
    expect(text).not.toContain("x-at-least-one");
    expect(text).not.toMatch(/"format":"(timestamp|currency)"/);
    expect(text).not.toContain('"~');
  });

  test("each error code has its sentence", () => {
    const words = Object.entries(document["x-error-codes"]);
    expect(words.filter(([, { description }]) => description === "").map(([code]) => code)).toEqual(
      [],
    );
  });

  test("the same routes give the same document", () => {
    expect(JSON.stringify(openApi(routes, BASE_URL))).toBe(JSON.stringify(document));
  });
});

/** Follows `#/components/schemas/Plan` into the document. */
function find(root: OpenApiDocument, ref: string): unknown {
  const steps = ref.replace(/^#\//, "").split("/");
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[step], root);
}

describe("examples", () => {
  const given = routes.filter(({ example }) => example !== undefined);

  test.each(given.map((route) => [route.id, route] as const))("of %s can be sent", (_, route) => {
    if (route.unparsed) return;
    expect(() => checker(route.body as TSchema, "body")(route.example)).not.toThrow();
  });
});

describe("the reference page", () => {
  test("has one script, which it can do without, and nothing from outside", () => {
    expect(page.split("<script>")).toHaveLength(2);
    expect(page).not.toMatch(/<script[^>]|<iframe|<object|<img/i);
    // A blank is no part of an address.
    expect(page).not.toMatch(/<link(?! rel="icon" href="data:[^" ]+")/i);
    expect(page).not.toMatch(/\son\w+=/i);
    expect(page).not.toMatch(/@import|url\(/);
    expect([...page.matchAll(/(?:src|href)="(?![#/]|data:)/g)]).toEqual([]);
  });

  test("is small enough to open at once", () => {
    expect(Buffer.byteLength(page)).toBeLessThan(PAGE_BYTES_MAX);
  });

  test("what several requests take is written once, and linked from each", () => {
    for (const name of ["ChargeInput", "Overrides"]) {
      expect(page.split(`id="object-${name}"`), name).toHaveLength(2);
      expect(page.split(`href="#object-${name}"`).length, name).toBeGreaterThan(3);
    }
    expect(page.match(/<code>package_size<\/code> /g)).toHaveLength(1);
  });

  test("a record is written out in one sample, which the others link to", () => {
    // The portal shows a shorter note, and wallets, of its own; the bodies of events are whole.
    const [calls = "", rest = ""] = page.split('<h2 id="events">');
    const text = `${calls}${rest.slice(rest.indexOf("</section>"))}`.replace(/<[^>]*>/g, "");
    // Payments have the number of their invoice too.
    const fields = {
      '"invoice_number": "': 5,
      '"applied_coupon_id": "': 4,
      '"running_cents": ': 4,
    };
    for (const [field, most] of Object.entries(fields)) {
      expect(text.split(field).length, field).toBeLessThanOrEqual(most);
    }
    const [, created = ""] = page.split('id="createInvoice"');
    expect(created).toMatch(/<b>"invoice"<\/b>: <a href="#getInvoice">InvoiceWithFees<\/a>/);
    const [, read = ""] = page.split('id="getInvoice"');
    expect(read.slice(0, read.indexOf("</article>"))).toContain('<b>"amount_due_cents"</b>: 10000');
  });

  test("its samples say what the example requests said", () => {
    const text = page.replace(/<[^>]*>/g, "").replaceAll("&quot;", '"');
    const [, plan = ""] = text.split("Create a plan").slice(-2);
    expect(plan).toMatch(
      /"tiers": \[\s+\{\s+"up_to": "100",\s+"amount": "0.10",\s+"flat_amount": "5"/,
    );
    expect(text).toMatch(/"anchor_date": "2026-01-31",\s+"properties"/);
    expect(page).not.toMatch(/<b>"customer_id"<\/b>: <i>"ext:/);
    expect(text).toMatch(/"trial_ends_at": "2026-01-31T00:00:00.000Z"/);
  });

  test("has a place for every operation, and every link inside it arrives", () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const missing = operations.filter(([, , { operationId }]) => !ids.includes(operationId));
    expect(missing).toEqual([]);
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("escapes whatever the document says", () => {
    const evil = `</style><script>alert("1")</script>'&`;
    const [first] = routes;
    if (first === undefined) throw new Error("There are no routes.");
    const route = { ...first, summary: evil, tag: evil, description: `${evil} \`${evil}\`` };
    const shown = renderDocs(openApi([{ ...route, example: { name: evil } }], `http://x/"${evil}`));
    expect(shown.split("<script")).toHaveLength(2);
    expect(shown.split("</style>")).toHaveLength(2);
  });

  test("every tag that is opened is closed", () => {
    const open: string[] = [];
    for (const [, slash, name = ""] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
      if (/^(meta|link|br)$/.test(name)) continue;
      if (slash === "") open.push(name);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
  });
});
