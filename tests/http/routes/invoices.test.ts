// Filters of the lists of invoices and credit notes: every one that is given counts.

import { beforeAll, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
let project: Sandbox;
/** One a month, from January on. */
const invoices: Json[] = [];

beforeAll(async () => {
  app = await sharedApp();
  project = await sandbox(app, "2026-01-10");
  for (const external_id of ["a", "b"]) await project.customer({ external_id });
  const lines = [{ name: "Setup", unit_amount_cents: 1000 }];
  for (const month of ["01", "02", "03"]) {
    await project.travelTo(`2026-${month}-15`);
    const made = await project.post("/v1/invoices", { customer_id: "ext:a", lines });
    invoices.push(made.invoice);
  }
});

async function numbers(query: string): Promise<string[]> {
  return (await project.get(`/v1/invoices?${query}`)).invoices.map(({ number }: Json) => number);
}

test("a number is one condition among others", async () => {
  const [{ number }] = invoices as [Json];
  expect(await numbers(`number=${number}`)).toEqual([number]);
  expect(await numbers(`number=${number}&customer_id=ext:a&status=overdue`)).toEqual([number]);
  for (const other of ["customer_id=ext:b", "status=voided", "period_start=2026-02-01"]) {
    const page = await project.get(`/v1/invoices?number=${number}&${other}&count=1`);
    expect([other, page.invoices, page.total_count]).toEqual([other, [], 0]);
  }
  expect((await project.get(`/v1/invoices?number=${number}&count=1`)).total_count).toBe(1);
  for (const none of ["", "INV-2026-1", "INV-2026-00001", "x"]) {
    expect([none, await numbers(`number=${none}`)]).toEqual([none, []]);
  }
});

test("so it is of a credit note", async () => {
  const [{ id: invoice_id, fees }] = invoices as [Json];
  const lines = [{ fee_id: fees[0].id, amount_cents: 100 }];
  const { credit_note } = await project.post("/v1/credit-notes", { invoice_id, lines });
  const listed = async (query: string) =>
    project.get(`/v1/credit-notes?number=${credit_note.number}&count=1${query}`);
  for (const query of ["", "&customer_id=ext:a", `&invoice_id=${invoice_id}`]) {
    const { credit_notes, total_count } = await listed(query);
    expect([query, credit_notes[0].id, total_count]).toEqual([query, credit_note.id, 1]);
  }
  for (const query of ["&customer_id=ext:b", `&invoice_id=${invoices[1]?.id}`]) {
    expect(await listed(query)).toMatchObject({ credit_notes: [], total_count: 0 });
  }
});

test("issued_from and issued_to are days of issue, both included", async () => {
  const [january, february, march] = invoices.map(({ number }) => number);
  expect(await numbers("issued_from=2026-02-15")).toEqual([march, february]);
  expect(await numbers("issued_to=2026-02-15")).toEqual([february, january]);
  expect(await numbers("issued_from=2026-02-15&issued_to=2026-02-15")).toEqual([february]);
  expect(await numbers("issued_from=2026-02-16&issued_to=2026-03-14")).toEqual([]);
  const bad = await project.call("GET", "/v1/invoices?issued_from=2026-02-30");
  expect([bad.status, bad.body.error.details[0].field]).toEqual([422, "issued_from"]);
});

test("a cursor goes on whatever the order in which its filters are written", async () => {
  const first = await project.get("/v1/invoices?issued_from=2026-01-01&status=overdue&limit=1");
  const query = `limit=1&cursor=${first.cursor}&status=overdue&issued_from=2026-01-01`;
  expect((await project.get(`/v1/invoices?${query}`)).invoices).toHaveLength(1);
  const other = await project.call("GET", `/v1/invoices?${query}&issued_to=2026-12-31`);
  expect(other.status).toBe(422);
});

test("a span of periods has those in it, the latest first; pairs that cannot be have none", async () => {
  const [january, february, march] = invoices.map(({ number }) => number);
  expect(await numbers("period_start=2026-02-01")).toEqual([march, february]);
  expect(await numbers("period_end=2026-02-28")).toEqual([february, january]);
  expect(await numbers("period_start=2026-02-15&period_end=2026-02-15")).toEqual([february]);
  expect(await numbers("period_start=2026-02-16&period_end=2026-03-14")).toEqual([]);
  expect(await numbers("period_start=2026-01-01&limit=1&offset=2")).toEqual([january]);
  expect(await numbers("status=succeeded&payment_status=pending")).toEqual([]);
  expect(await numbers("payment_status=pending")).toEqual([march, february, january]);
  const [{ customer_name }] = (await project.get("/v1/invoices?limit=1")).invoices;
  const { customer } = await project.get("/v1/customers/ext:a");
  expect(customer_name).toBe(customer.name);
});
