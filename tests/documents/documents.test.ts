// Invoices as documents, through the API: who may read which, in which form, and what they say.

import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { madeInTheEnd } from "../support/asking-again.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../support/given.ts";

let app: App;
let project: Sandbox;
let invoice: Json;
let customer: Json;

beforeAll(async () => {
  app = await startApp();
  ({ project, invoice, customer } = await billed(app));
});
afterAll(() => app.close());
afterEach(() => {
  vi.useRealTimers();
});

type Billed = { project: Sandbox; invoice: Json; customer: Json; neighbour: Json };

/** A project with the invoices of a customer and of a neighbour, who has no part in the first. */
async function billed(on: App): Promise<Billed> {
  const project = await sandbox(on, "2025-01-10T09:00");
  await project.ok("PUT", "/v1/settings", {
    name: "Northwind <Metering> Ltd",
    address: "1 Sample Street\nSampletown",
    tax_id: "GB000000000",
    logo_color: "#0b6e4f",
  });
  const metric = await project.metric("sum", { code: "calls", name: "API calls" });
  const item = await project.item({ code: "seat", name: "Seat", amount_cents: 1_500 });
  const plan = await project.plan({
    amount_cents: 3_100,
    charges: [perUnit(metric, "0.25"), flatFee({ catalog_item_code: item.code, seats: true })],
  });
  const customer = await project.customer({ name: "Blue & Sons", email: "billing@blue.test" });
  const subscription = await project.subscribe({ plan, customer, properties: { seats: "3" } });
  await project.use(subscription, metric, "430.5", "2025-01-11T00:00");
  await project.subscribe({ plan, customer: await project.customer(), properties: { seats: "1" } });
  await project.travelTo("2025-02-01");
  const invoices = await project.invoices();
  const invoice = invoices.find(({ customer_id }) => customer_id === customer.id) as Json;
  const neighbour = invoices.find(({ customer_id }) => customer_id !== customer.id) as Json;
  return { project, invoice, customer, neighbour };
}

function document(headers: Record<string, string> = {}, query = "", id = invoice.id) {
  const path = `/v1/invoices/${id}/document${query}`;
  return madeInTheEnd(() => project.call("GET", path, undefined, headers));
}

/** The words of a page, without its markup. */
function textOf(page: string): string {
  return page
    .replace(/^[\s\S]*<body>/, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");
}

describe("for the holder of a token", () => {
  test("HTML says who bills whom for what, unit by unit, and what is due", async () => {
    const { status, headers, body } = await document();
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    const text = textOf(body);
    for (const part of [
      "Northwind &lt;Metering&gt; Ltd",
      "Sampletown",
      "Tax number GB000000000",
      "Billed to Blue &amp; Sons billing@blue.test",
      "Invoice number INV-2025-0001",
      "Issued 1 Feb 2025",
      "Due 15 Feb 2025",
      "Period 10 Jan 2025 – 31 Jan 2025",
      "22 of 31 days 1 $31.00 $22.00",
      "API calls 430.5 $0.25 $107.63",
      "Seat 3 $15.00 $45.00",
      "Total $174.63",
      "Amount due $174.63",
    ]) {
      expect(text).toContain(part);
    }
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
  });

  test("PDF comes by the Accept header and by its own path", async () => {
    for (const answer of [
      await document({ accept: "application/pdf" }),
      await madeInTheEnd(() => project.call("GET", `/v1/invoices/${invoice.id}/document.pdf`)),
    ]) {
      expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/pdf"]);
      expect(answer.body.slice(0, 5)).toBe("%PDF-");
      expect(answer.headers["content-disposition"]).toContain("INV-2025-0001.pdf");
    }
    const browser = { accept: "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8" };
    expect((await document(browser)).headers["content-type"]).toContain("text/html");
  });

  test("the same invoice is the same file", async () => {
    const [one, two] = [
      await document({ accept: "application/pdf" }),
      await document({ accept: "application/pdf" }),
    ];
    expect(one.body).toBe(two.body);
  });

  test("paper is A4 or letter, and the PDF that a page leads to is on the same", async () => {
    const letter = (await document({}, "?size=letter")).body;
    expect(letter).toContain("@page{size:letter");
    expect(letter).toContain(`href="/v1/invoices/${invoice.id}/document.pdf?size=letter"`);
    expect((await document()).body).toContain(`href="/v1/invoices/${invoice.id}/document.pdf"`);
    expect((await document()).body).toContain("@page{size:A4");
    expect((await document({}, "?size=a5")).status).toBe(422);
  });

  test("an invoice of another project is not there", async () => {
    const other = await sandbox(app, "2025-01-10");
    for (const path of ["document", "document.pdf"]) {
      const answer = await other.call("GET", `/v1/invoices/${invoice.id}/${path}`);
      expect(answer.status).toBe(404);
    }
    expect((await document({}, "", randomUUID())).status).toBe(404);
  });
});

describe("for the customer, by link", () => {
  const stranger = { authorization: undefined, "x-project-id": undefined };
  const read = (path: string) => madeInTheEnd(() => app.call("GET", path, undefined, stranger));

  test("the page and the PDF, with the email masked", async () => {
    const base = `/portal/${customer.id}/invoices/${invoice.number}`;
    const page = await read(base);
    expect(page.status).toBe(200);
    expect(textOf(page.body)).toContain("API calls 430.5 $0.25 $107.63");
    expect(page.body).toContain("b***@blue.test");
    expect(page.body).not.toContain("billing@");
    expect(page.body).toContain(`href="${base}/pdf"`);
    expect((await read(`${base}?size=letter`)).body).toContain(`href="${base}/pdf?size=letter"`);
    expect(page.body).not.toContain(project.project_id);
    const pdf = await read(`${base}/pdf`);
    expect([pdf.status, pdf.headers["content-type"]]).toEqual([200, "application/pdf"]);
  });

  test("numbers that nobody has use up nobody's share of PDFs", async () => {
    const guesses = Array.from({ length: 80 }, (_, i) =>
      read(`/portal/${randomUUID()}/invoices/${i}/pdf`),
    );
    for (const { status } of await Promise.all(guesses)) expect(status).toBe(404);
    const { status } = await read(`/portal/${customer.id}/invoices/${invoice.number}/pdf`);
    expect(status).toBe(200);
  });

  test("another customer's invoice, or none, is a page that says so", async () => {
    const other = await project.customer();
    for (const path of [
      `/portal/${other.id}/invoices/${invoice.number}`,
      `/portal/${other.id}/invoices/${invoice.number}/pdf`,
      `/portal/${customer.id}/invoices/INV-2025-9999`,
      `/portal/${customer.id}/invoices/x`,
      `/portal/${randomUUID()}/invoices/${invoice.number}`,
      `/portal/ext:${customer.external_id}/invoices/${invoice.number}`,
    ]) {
      const { status, headers, body } = await read(path);
      expect([path, status]).toEqual([path, 404]);
      expect(headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(body).toContain("This page does not exist");
    }
  });

  test("one customer's PDFs do not use up another's share", async () => {
    // Time stands still, and with it what a share gains. Shares remember their time, so these are
    // of a server of their own.
    vi.useFakeTimers({ toFake: ["performance"] });
    const alone = await startApp();
    try {
      const { project: one, invoice: own, customer: owner, neighbour } = await billed(alone);
      const pdfOf = ({ id, number }: { id: string; number: string }) =>
        madeInTheEnd(() =>
          alone.call("GET", `/portal/${id}/invoices/${number}/pdf`, undefined, stranger),
        );
      const statuses: number[] = [];
      for (let house = 1; house <= 11; house++) {
        // The invoice keeps its address; the words below it are today's.
        await one.ok("PUT", "/v1/settings", { footer: `${house} Sample Street` });
        statuses.push((await pdfOf({ id: owner.id, number: own.number })).status);
      }
      expect(statuses).toContain(429);
      const other = await pdfOf({ id: neighbour.customer_id, number: neighbour.number });
      expect(other.status).toBe(200);
    } finally {
      await alone.close();
    }
  });
});
