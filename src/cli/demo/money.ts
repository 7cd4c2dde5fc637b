// How customers of the demo pay, and what the company does about invoices that were wrong or are
// not paid.

import type { Dues } from "../../client/dues.ts";
import type { Invoice } from "../../client/types.ts";
import type { Subscriber } from "./subscribers.ts";

const AT_ONCE = 6;
const PAGE = 500;

/** Works on several customers at once, and on the invoices of each one after the other. */
async function byCustomer(
  invoices: readonly Invoice[],
  work: (invoice: Invoice) => Promise<void>,
): Promise<void> {
  const queues = new Map<string, Invoice[]>();
  for (const invoice of invoices) {
    queues.set(invoice.customer_id, [...(queues.get(invoice.customer_id) ?? []), invoice]);
  }
  const waiting = [...queues.values()];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      for (const invoice of next) await work(invoice);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Invoices with something due, the oldest first. */
async function unpaid(dues: Dues, customer_id?: string): Promise<Invoice[]> {
  const filter = { limit: PAGE, ...(customer_id !== undefined && { customer_id }) };
  const found: Invoice[] = [];
  for (const status of ["outstanding", "overdue"] as const) {
    for await (const invoice of dues.invoices.all({ ...filter, status })) found.push(invoice);
  }
  return found
    .filter(({ amount_due_cents }) => amount_due_cents > 0)
    .sort((a, b) => (a.number < b.number ? -1 : 1));
}

const PROVIDERS = ["stripe", "stripe", "adyen", "bank_transfer"] as const;

async function pay(dues: Dues, invoice: Invoice, amount_cents: number): Promise<void> {
  const { number } = invoice;
  const digits = Number(number.slice(-4));
  const part = invoice.amount_paid_cents > 0 ? "-2" : "";
  await dues.recordPayment({
    invoice_id: invoice.id,
    amount_cents,
    currency: invoice.currency,
    provider: PROVIDERS[digits % PROVIDERS.length] ?? "stripe",
    provider_payment_id: `pay_${number}${part}`,
  });
}

/** A week into the month prompt payers pay all, and those in parts the half. */
export async function payPromptly(dues: Dues, subscribers: readonly Subscriber[], month: number) {
  await byCustomer(await unpaid(dues), async (invoice) => {
    const payer = payerOf(subscribers, invoice, month);
    const { amount_due_cents: due } = invoice;
    if (payer === "prompt" || invoice.invoice_type === "top_up") await pay(dues, invoice, due);
    else if (payer === "in_parts" && invoice.amount_paid_cents === 0) {
      await pay(dues, invoice, Math.ceil(due / 2));
    }
  });
}

/** Late payers pay once an invoice is overdue, and those in parts the other half. */
export async function payLate(dues: Dues, subscribers: readonly Subscriber[], month: number) {
  const overdue = (await unpaid(dues)).filter(({ status }) => status === "overdue");
  await byCustomer(overdue, async (invoice) => {
    const payer = payerOf(subscribers, invoice, month);
    if (payer !== "late" && payer !== "in_parts") return;
    await pay(dues, invoice, invoice.amount_due_cents);
  });
}

function payerOf(subscribers: readonly Subscriber[], { customer_id }: Invoice, month: number) {
  const story = subscribers.find((subscriber) => subscriber.customer_id === customer_id)?.story;
  if (story === undefined) return undefined;
  if (story.stops_at === undefined) return story.payer;
  return month >= story.stops_at ? "stops" : "prompt";
}

/** Credits half of the first larger fee of the newest paid invoice, and pays it back. */
export async function creditPart(dues: Dues, { customer_id }: Subscriber): Promise<void> {
  const { invoices } = await dues.listInvoices({ customer_id, status: "succeeded", limit: 20 });
  for (const { id } of invoices) {
    const { invoice } = await dues.getInvoice(id);
    const fee = invoice.fees.find(({ amount_cents }) => amount_cents >= 1_000);
    const [payment] = (await dues.listPayments({ invoice_id: id, limit: 1 })).payments;
    if (fee === undefined || payment === undefined) continue;
    const body = {
      invoice_id: id,
      lines: [{ fee_id: fee.id, amount_cents: Math.floor(fee.amount_cents / 2) }],
      reason: "An outage of nova-max",
    };
    const { credit_note_preview: preview } = await dues.previewCreditNote(body);
    const refund_cents = Math.min(preview.total_cents, payment.amount_cents);
    const { credit_note } = await dues.createCreditNote({ ...body, refund_cents });
    await dues.recordRefund({
      payment_id: payment.id,
      amount_cents: credit_note.refund_cents,
      provider_refund_id: `re_${credit_note.number}`,
      credit_note_id: credit_note.id,
    });
    return;
  }
}

/** Credits the newest invoice that is not paid: nothing is due on it any more. */
export async function creditWhole(dues: Dues, { customer_id }: Subscriber): Promise<void> {
  const invoice = (await unpaid(dues, customer_id)).at(-1);
  if (invoice === undefined) return;
  await dues.createCreditNote({ invoice_id: invoice.id, reason: "Billed to the wrong entity" });
}

export async function voidNewest(dues: Dues, { customer_id }: Subscriber): Promise<void> {
  const invoice = (await unpaid(dues, customer_id)).at(-1);
  if (invoice !== undefined) await dues.voidInvoice(invoice.id);
}

export async function writeOff(dues: Dues, { customer_id }: Subscriber): Promise<void> {
  for (const { id } of await unpaid(dues, customer_id)) await dues.writeOffInvoice(id);
}

export async function billWork(dues: Dues, { customer_id }: Subscriber): Promise<void> {
  await dues.createInvoice({
    customer_id,
    lines: [
      { name: "Fine-tuning of nova on your documents", unit_amount_cents: 480_000 },
      { name: "Review, hours", quantity: "6.5", unit_amount_cents: 18_000 },
    ],
    po_number: "PO-2025-118",
  });
}
