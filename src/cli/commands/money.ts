// `dues taxes|coupons|grants|credit-notes list` and `get`, `dues grants add` and `dues invoices
// credit`: what happens to money after the price.

import { type Command, InvalidArgumentError, Option } from "commander";
import type {
  Coupon,
  CreateCreditNoteBody,
  CreditNote,
  CreditNotePreview,
  Grant,
  InvoiceWithFees,
  Tax,
} from "../../client/types.ts";
import { GRANT_STATUSES } from "../../schema/enums.ts";
import { instant, remote, wholeNumber, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import {
  couponId,
  creditNoteId,
  customerId,
  invoiceId,
  pathRef,
  subscriptionId,
  taxId,
} from "../connection/refs.ts";
import type { Declared } from "../terminal/effects.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { money } from "../terminal/output.ts";
import { STATUS } from "../terminal/status.ts";
import { CUSTOMER, day, getCommand, listCommand, recordText } from "./lists.ts";
import { ARCHIVED, archived } from "./prices.ts";

const AMOUNT_MAX = 1e15;

export function taxReads(io: Io): Command[] {
  const list = listCommand<Tax>(io, {
    name: "taxes",
    many: "taxes",
    says: "List taxes.",
    examples: [["dues taxes list", ""]],
    filters: [ARCHIVED],
    columns: [
      { title: "CODE", of: (row) => row.code },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "PERCENT", right: true, of: (row) => row.percent },
      { title: "DESCRIPTION", where_set: true, cut: true, of: (row) => row.description },
      { title: "ARCHIVED", where_set: true, of: (row) => day(row.archived_at) },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues, flags) => (await dues.listTaxes(archived(flags))).taxes,
  });
  const what = { name: "taxes", says: "Show a tax.", ref: "tax", example: "vat" };
  return [list, getCommand(io, what, async (dues, ref) => dues.getTax(await taxId(dues, ref)))];
}

export function couponReads(io: Io): Command[] {
  const list = listCommand<Coupon>(io, {
    name: "coupons",
    many: "coupons",
    says: "List coupons.",
    examples: [["dues coupons list", ""]],
    filters: [ARCHIVED],
    columns: [
      { title: "CODE", of: (row) => row.code },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "OFF", right: true, of: off },
      { title: "TIMES", right: true, of: (row) => row.times ?? "for ever" },
      { title: "PLANS", where_set: true, cut: true, of: (row) => row.plan_codes?.join(", ") },
      { title: "METRICS", where_set: true, cut: true, of: (row) => row.metric_codes?.join(", ") },
      { title: "REDEEM BY", where_set: true, of: (row) => day(row.redeem_by) },
      { title: "APPLIED", right: true, of: applied },
      { title: "ARCHIVED", where_set: true, of: (row) => day(row.archived_at) },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues, flags) => (await dues.listCoupons(archived(flags))).coupons,
  });
  const what = { name: "coupons", says: "Show a coupon.", ref: "coupon", example: "welcome" };
  const get = getCommand(io, what, async (dues, ref) => dues.getCoupon(await couponId(dues, ref)));
  return [list, get];
}

function off({ percent, amount_cents, currency }: Coupon): string {
  return percent === null ? money(amount_cents ?? 0, currency ?? "") : `${percent} %`;
}

/** "7", or "7 of 500" */
function applied({ redemptions, max_redemptions }: Coupon): string {
  return max_redemptions === null ? `${redemptions}` : `${redemptions} of ${max_redemptions}`;
}

export function grantReads(io: Io): Command[] {
  const list = listCommand<Grant>(io, {
    name: "grants",
    many: "grants",
    says: "List money that customers have, newest first.",
    examples: [["dues grants list --customer ext:acme --status active", ""]],
    filters: [
      CUSTOMER,
      { flag: "--currency <code>", says: "in this currency" },
      { flag: "--status <status>", says: "in this state", choices: GRANT_STATUSES },
    ],
    columns: [
      { title: "CREATED", of: (row) => day(row.created_at) },
      { title: "KIND", of: (row) => row.kind },
      STATUS,
      { title: "AMOUNT", right: true, of: (row) => money(row.amount_cents, row.currency) },
      { title: "LEFT", right: true, of: (row) => money(row.remaining_cents, row.currency) },
      { title: "PRIORITY", right: true, drop: 3, of: (row) => row.priority },
      { title: "EXPIRES", where_set: true, of: (row) => day(row.expires_at) },
      { title: "NAME", where_set: true, cut: true, of: (row) => row.name },
      { title: "CUSTOMER ID", drop: 2, of: (row) => row.customer_id },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    async read(dues, { customer, currency, status }, page) {
      return dues.grants.all({
        ...page,
        ...(typeof customer === "string" && { customer_id: await customerId(dues, customer) }),
        ...(typeof currency === "string" && { currency }),
        ...(typeof status === "string" && { status: status as Grant["status"] }),
      });
    },
  });
  const what = { name: "grants", says: "Show a grant.", ref: "id", example: "<id>" };
  return [list, getCommand(io, { ...what, means: "id" }, (dues, ref) => dues.getGrant(ref))];
}

export function creditNoteReads(io: Io): Command[] {
  const list = listCommand<CreditNote>(io, {
    name: "credit-notes",
    many: "credit_notes",
    says: "List credit notes, newest first.",
    examples: [["dues credit-notes list --invoice INV-2026-0001", ""]],
    filters: [CUSTOMER, { flag: "--invoice <invoice>", says: "of this invoice" }],
    columns: [
      { title: "NUMBER", of: (row) => row.number },
      { title: "INVOICE", of: (row) => row.invoice_number },
      { title: "TOTAL", right: true, of: (row) => money(row.total_cents, row.currency) },
      { title: "OFF DUE", right: true, of: (row) => money(row.offset_cents, row.currency) },
      { title: "REFUND", right: true, of: (row) => money(row.refund_cents, row.currency) },
      { title: "CREDIT", right: true, of: (row) => money(row.credit_cents, row.currency) },
      { title: "ISSUED", of: (row) => row.issuing_date },
      { title: "REASON", where_set: true, cut: true, of: (row) => row.reason },
    ],
    async read(dues, { customer, invoice }, page) {
      return dues.credit_notes.all({
        ...page,
        ...(typeof customer === "string" && { customer_id: await customerId(dues, customer) }),
        ...(typeof invoice === "string" && { invoice_id: await invoiceId(dues, invoice) }),
      });
    },
  });
  const what = {
    name: "credit-notes",
    says: "Show a credit note with its lines.",
    ref: "credit-note",
    example: "CN-2026-0001",
  };
  return [
    list,
    getCommand(io, what, async (dues, ref) => dues.getCreditNote(await creditNoteId(dues, ref))),
  ];
}

type AddFlags = ConnectionFlags & {
  readonly json?: boolean;
  readonly customer: string;
  readonly amount: number;
  readonly kind: "free" | "paid";
  readonly currency?: string;
  readonly name?: string;
  readonly expires?: string;
  readonly priority?: number;
};

export function grantActions(io: Io): Command[] {
  const ref = "--customer ext:acme --amount";
  const add = remote("add", "writes", "Give a customer money that later invoices use up.", [
    [`dues grants add ${ref} 1000 --kind free --name Welcome`, "10.00 as a present, at once"],
    [`dues grants add ${ref} 5000 --kind paid`, "50.00 prepaid: an invoice, active once paid"],
    [`dues grants add ${ref} 1000 --kind free --expires 2027-01-01`, "not from then on"],
  ])
    .requiredOption("--customer <customer>", "id, or ext:<external_id>")
    .requiredOption("--amount <cents>", "in the smallest currency unit", wholeNumber(1, AMOUNT_MAX))
    .addOption(
      new Option("--kind <kind>", "free: a present; paid: invoiced, and active once paid")
        .choices(["free", "paid"])
        .makeOptionMandatory(),
    )
    .option("--currency <code>", "ISO-4217 code; the customer's by default")
    .option("--name <name>", "what it is, for people")
    .option("--expires <instant>", "a date or a timestamp; never by default", instant)
    .option("--priority <number>", "lower is used first; 50 by default", wholeNumber(0, 100))
    .option("--json", "print JSON");
  return [add.action(runAdd(io))];
}

function runAdd(io: Io) {
  return withConnection<AddFlags>(io, async ({ dues }, flags) => {
    const { kind, currency, name, expires, priority } = flags;
    const answer = await dues.createGrant({
      customer_id: pathRef(flags.customer),
      amount_cents: flags.amount,
      kind,
      ...(currency !== undefined && { currency }),
      ...(name !== undefined && { name }),
      ...(expires !== undefined && { expires_at: expires }),
      ...(priority !== undefined && { priority }),
    });
    if (flags.json) return printJson(io, answer);
    const { grant } = answer;
    io.out(await recordText(io, grant));
    if (grant.status !== "pending" || grant.invoice_id === null) return;
    const { invoice } = await dues.getInvoice(grant.invoice_id);
    const amount = money(invoice.amount_due_cents, invoice.currency);
    io.out(`\nPending until ${invoice.number} is paid: ${amount} due by ${invoice.due_date}.\n`);
  });
}

type CreditFlags = ConnectionFlags & {
  readonly json?: boolean;
  readonly line?: readonly CreditLine[];
  readonly subscription?: string;
  readonly refundCents?: number;
  readonly reason?: string;
  readonly memo?: string;
  readonly preview?: boolean;
};

type CreditLine = { readonly fee: string; readonly amount_cents: number };

/** `2=1080` or `<fee id>=1080`; a fee below 0 is credited by an amount below 0. */
function creditLine(text: string, before: readonly CreditLine[] = []): CreditLine[] {
  const [, fee = "", cents = ""] = /^([0-9a-fA-F-]{1,36})=(-?\d{1,15})$/.exec(text) ?? [];
  if (fee !== "") return [...before, { fee, amount_cents: Number(cents) }];
  throw new InvalidArgumentError("Takes FEE=CENTS: its place on the invoice or its id, as 2=1080.");
}

const creditEffect: Declared = ({ preview }) => (preview === true ? "reads" : "writes");

export function creditCommand(io: Io): Command {
  const made = remote(
    "credit",
    creditEffect,
    "Credit an invoice: a credit note over all of it, or over a part.",
    [
      ["dues invoices credit INV-2026-0001 --preview", "what it would be; nothing is stored"],
      ["dues invoices credit INV-2026-0001", "all that is left of it"],
      ["dues invoices credit INV-2026-0001 --line 2=1080", "10.80 before tax of its second fee"],
      ["dues invoices credit INV-2026-0001 --subscription ext:acme-pro", "all that is left of it"],
      ["dues invoices credit INV-2026-0001 --refund-cents 4000", "pay 40.00 of it out"],
    ],
  )
    .argument("<invoice>", "id or number")
    .option("--line <fee=cents>", "of this fee, before tax; may be given again", creditLine)
    .addOption(
      new Option(
        "--subscription <subscription>",
        "of its lines, where several are billed together",
      ).conflicts("line"),
    )
    .option(
      "--refund-cents <cents>",
      "of what is not due any more, pay out this; the rest becomes credit",
      wholeNumber(0, AMOUNT_MAX),
    )
    .option("--reason <text>", "why, on the credit note")
    .option("--memo <text>", "a note on its document")
    .option("--preview", "show what it would be and store nothing")
    .option("--json", "print JSON");
  return made.action(
    withConnection<CreditFlags>(io, async ({ dues }, flags, ref = "") => {
      const { invoice } = await dues.getInvoice(await invoiceId(dues, ref));
      const { subscription } = flags;
      const of = subscription && { subscription_id: await subscriptionId(dues, subscription) };
      const body = { ...creditBody(invoice, flags), ...of };
      if (flags.preview) {
        const answer = await dues.previewCreditNote(body);
        if (flags.json) return printJson(io, answer);
        io.out(`A credit note would be over ${creditText(answer.credit_note_preview, invoice)}`);
        io.out("Nothing was stored.\n");
        return;
      }
      const answer = await dues.createCreditNote(body);
      if (flags.json) return printJson(io, answer);
      const note = answer.credit_note;
      io.out(`${note.number} is over ${creditText(note, invoice)}`);
    }),
  );
}

function creditBody(invoice: InvoiceWithFees, flags: CreditFlags): CreateCreditNoteBody {
  const { line, refundCents, reason, memo } = flags;
  const lines = line?.map(({ fee, amount_cents }) => {
    return { fee_id: feeId(invoice, fee), amount_cents };
  });
  return {
    invoice_id: invoice.id,
    ...(lines !== undefined && { lines }),
    ...(refundCents !== undefined && { refund_cents: refundCents }),
    ...(reason !== undefined && { reason }),
    ...(memo !== undefined && { memo }),
  };
}

/** By its place on the invoice, from 1 on, or by its id. */
function feeId({ number, fees }: InvoiceWithFees, ref: string): string {
  const found = /^\d{1,4}$/.test(ref)
    ? fees[Number(ref) - 1]
    : fees.find(({ id }) => id === ref.toLowerCase());
  if (found !== undefined) return found.id;
  throw new CliError(
    "failed",
    `${number} has no fee ${ref}.`,
    `It has ${fees.length}: name one by its place, from 1 on, or by its id (dues invoices get --json).`,
  );
}

/** What the note is over, and where its money goes. */
function creditText(note: CreditNote | CreditNotePreview, invoice: InvoiceWithFees): string {
  const amount = (cents: number) => money(cents, note.currency);
  const { subtotal_cents, tax_cents, total_cents } = note;
  const { offset_cents, refund_cents, credit_cents } = note;
  const tax = tax_cents === 0 ? "" : ` (${amount(subtotal_cents)} and ${amount(tax_cents)} tax)`;
  const due = Math.max(0, invoice.amount_due_cents - offset_cents);
  return [
    `${amount(total_cents)}${tax} of ${invoice.number}:`,
    ...(offset_cents === 0 ? [] : [`  ${amount(offset_cents)} less to pay: ${amount(due)} due`]),
    ...(refund_cents === 0
      ? []
      : [`  ${amount(refund_cents)} to pay back: send it, then record it with POST /v1/refunds`]),
    ...(credit_cents === 0 ? [] : [`  ${amount(credit_cents)} as credit for later invoices`]),
    "",
  ].join("\n");
}
