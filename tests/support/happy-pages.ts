// One successful call of every route that answers with a document or a page, and of the links to
// them. Not the data of the portal, which is no page.

import type { Json } from "./app.ts";
import type { Client } from "./client.ts";
import { called, type Happy } from "./happy-call.ts";
import { code, makeCustomer } from "./records.ts";

/** The settings must say what an e-invoice needs of the seller. */
export async function* pageCalls(api: Client): AsyncGenerator<Happy> {
  const customer = await makeCustomer(api, { country: "FR" });
  const billed = await bill(api, customer.id);
  yield* documents(api, billed);
  yield* portal(api, customer.id, billed);
  yield* service(api);
}

type Billed = { readonly invoice: Json; readonly note: Json };

/** Has one tax, which an e-invoice needs. */
async function bill(api: Client, customer_id: string): Promise<Billed> {
  const { tax } = await api.post("/v1/taxes", { code: code("tax"), name: "VAT", percent: "20" });
  const lines = [{ name: "Work", unit_amount_cents: 1_000, tax_codes: [tax.code] }];
  const { invoice } = await api.post("/v1/invoices", { customer_id, lines });
  const { credit_note } = await api.post("/v1/credit-notes", { invoice_id: invoice.id });
  return { invoice, note: credit_note };
}

async function* documents(api: Client, { invoice, note }: Billed) {
  const kinds = { invoices: invoice.id, "credit-notes": note.id };
  for (const [kind, id] of Object.entries(kinds)) {
    for (const file of ["document", "document.pdf", "document.xml"]) {
      yield await calledOnceMade(api, `GET /v1/${kind}/:id/${file}`, `/v1/${kind}/${id}/${file}`);
    }
  }
}

async function* portal(api: Client, customer_id: string, { invoice, note }: Billed) {
  const links = `/v1/customers/${customer_id}/portal-links`;
  yield await called(api, "POST /v1/customers/:id/portal-links", links);
  yield await called(api, "DELETE /v1/customers/:id/portal-links", links);
  const [pattern, path] = ["/portal/:customerId", `/portal/${customer_id}`];
  yield await called(api, `GET ${pattern}`, `${path}?refresh=1`);
  for (const list of ["invoices", "payments", "credit-notes"]) {
    yield await called(api, `GET ${pattern}/${list}`, `${path}/${list}`);
  }
  const kinds = { invoices: invoice.number, "credit-notes": note.number };
  for (const [kind, number] of Object.entries(kinds)) {
    const one = `${path}/${kind}/${number}`;
    yield await called(api, `GET ${pattern}/${kind}/:number`, one);
    yield await calledOnceMade(api, `GET ${pattern}/${kind}/:number/pdf`, `${one}/pdf`);
  }
}

/** For operators, newcomers and browsers. */
async function* service(api: Client) {
  for (const path of [
    ...["/", "/favicon.svg", "/favicon.ico", "/portal-assets/refresh.js"],
    ...["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"],
  ]) {
    yield await called(api, `GET ${path}`, path);
  }
}

/** On a busy machine a PDF may take longer than a caller is kept waiting: 503, made meanwhile. */
async function calledOnceMade(api: Client, name: string, path: string): Promise<Happy> {
  for (;;) {
    const happy = await called(api, name, path);
    if (happy.answer.status !== 503) return happy;
  }
}
