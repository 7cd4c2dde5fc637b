// What must hold of a project's money whatever happened, read through the API alone: the eight
// invariants of the rules of money. Each rule lists what breaks it.

import type { Json } from "./app.ts";
import { percentOf, sum, tenThousandths } from "./exact.ts";
import type { Sandbox } from "./given.ts";
import { type Money, readMoney } from "./money-books.ts";

const FIGURES = [
  "subtotal_cents",
  "discount_cents",
  "tax_cents",
  "total_cents",
  "credit_applied_cents",
  "offset_cents",
  "amount_paid_cents",
  "overpaid_cents",
  "written_off_cents",
  "amount_due_cents",
  "credit_notes_cents",
];

const of = (rows: readonly Json[], field: string): number => sum(rows.map((row) => row[field]));
const isVoided = (invoice: Json): boolean => invoice.status === "voided";

/** "INV-2026-0001 total_cents: 5, not 6" unless the two are the same. */
function unequal(what: string, found: unknown, wanted: unknown): string[] {
  const [shown, expected] = [JSON.stringify(found), JSON.stringify(wanted)];
  return shown === expected ? [] : [`${what}: ${shown}, not ${expected}`];
}

function unless(holds: boolean, what: string): string[] {
  return holds ? [] : [what];
}

/** 1. The order of amounts, and the state that follows from it. */
function orderOfAmounts({ invoices, listed, today }: Money): string[] {
  return invoices.flatMap((invoice) => {
    const is = (field: string, wanted: unknown) =>
      unequal(`1: ${invoice.number} ${field}`, invoice[field], wanted);
    const { subtotal_cents, discount_cents, tax_cents, total_cents, fees } = invoice;
    const row = listed.find(({ id }) => id === invoice.id) ?? {};
    const owed = total_cents - invoice.credit_applied_cents - invoice.offset_cents;
    const open = owed - invoice.amount_paid_cents + invoice.overpaid_cents;
    return [
      ...is("subtotal_cents", of(fees, "amount_cents")),
      ...is("discount_cents", of(invoice.coupons, "amount_cents")),
      ...is("discount_cents", of(fees, "discount_cents")),
      ...is("tax_cents", of(invoice.taxes, "tax_cents")),
      ...is("total_cents", Math.max(0, subtotal_cents - discount_cents + tax_cents)),
      ...is("amount_due_cents", isVoided(invoice) ? 0 : open - invoice.written_off_cents),
      ...(isVoided(invoice) ? is("written_off_cents", 0) : []),
      ...FIGURES.flatMap((field) => is(field, row[field])),
      ...FIGURES.slice(3).flatMap((field) =>
        unless(invoice[field] >= 0, `1: ${invoice.number} ${field} is below 0`),
      ),
      // Of one whose parts cancel each other, the fees bear what it took.
      ...unless(
        invoice.coupons.every((one: Json) => one.amount_cents !== 0) ||
          fees.some((fee: Json) => fee.discount_cents !== 0),
        `1: ${invoice.number} shows a coupon that took nothing`,
      ),
      ...fees.flatMap((fee: Json) => feeFaults(invoice, fee)),
      ...stateFaults(invoice, today),
    ];
  });
}

function feeFaults({ number }: Json, fee: Json): string[] {
  const { amount_cents, discount_cents, taxable_cents } = fee;
  const [least, most] = [Math.min(0, amount_cents), Math.max(0, amount_cents)];
  return [
    ...unequal(`1: ${number} taxable_cents`, taxable_cents, amount_cents - discount_cents),
    ...unless(
      least <= discount_cents && discount_cents <= most,
      `1: ${number} takes ${discount_cents} from a fee of ${amount_cents}`,
    ),
  ];
}

function stateFaults(invoice: Json, today: string): string[] {
  const { number, voided_at, amount_due_cents, written_off_cents, due_date } = invoice;
  const dated = today > due_date ? "overdue" : "outstanding";
  const settled = written_off_cents > 0 ? "uncollectible" : "succeeded";
  const living = amount_due_cents === 0 ? settled : dated;
  const status = voided_at === null ? living : "voided";
  const unpaid = invoice.amount_paid_cents > 0 ? "partially_paid" : "pending";
  const payment_status = status === "succeeded" ? "succeeded" : unpaid;
  return [
    ...unequal(`1: ${number} status`, invoice.status, status),
    ...unequal(`1: ${number} payment_status`, invoice.payment_status, payment_status),
  ];
}

type Line = { code: string; percent: string; taxable_cents: number };

/** One line per code and percent, sorted so, with the part of each fee that it has. */
function taxLines(fees: readonly Json[], part: (fee: Json) => number): Line[] {
  const lines = new Map<string, Line>();
  for (const fee of fees) {
    for (const { code, percent } of fee.taxes) {
      const line = lines.get(`${code} ${percent}`) ?? { code, percent, taxable_cents: 0 };
      line.taxable_cents += part(fee);
      lines.set(`${code} ${percent}`, line);
    }
  }
  const before = (a: Line, b: Line) =>
    a.code === b.code
      ? Number(tenThousandths(a.percent) - tenThousandths(b.percent))
      : a.code < b.code
        ? -1
        : 1;
  return [...lines.values()].sort(before);
}

/** 2. Taxes recompute from the fees alone. */
function taxesFromFees({ invoices }: Money): string[] {
  return invoices.flatMap((invoice) => {
    const lines = taxLines(invoice.fees, (fee) => fee.taxable_cents);
    const wanted = lines.map(({ code, percent, taxable_cents }) => {
      const tax_cents = percentOf(taxable_cents, percent);
      return { code, percent, taxable_cents, tax_cents };
    });
    const found = invoice.taxes.map((line: Json) => {
      const { code, percent, taxable_cents, tax_cents } = line;
      return { code, percent, taxable_cents, tax_cents };
    });
    return unequal(`2: ${invoice.number} taxes`, found, wanted);
  });
}

/** 3. What is paid is what payments brought less what refunds without a note took. */
function paymentsAndRefunds({ invoices, payments, refunds, entries }: Money): string[] {
  const ofInvoices = invoices.flatMap((invoice) => {
    const here = (row: Json) => row.invoice_id === invoice.id;
    const bare = refunds.filter((row) => here(row) && row.credit_note_id === null);
    const paid = of(payments.filter(here), "amount_cents") - of(bare, "amount_cents");
    const credited = entries.filter(
      (entry) => here(entry) && ["overpayment", "refunded"].includes(entry.reason),
    );
    const overpaid = isVoided(invoice) ? invoice.overpaid_cents : of(credited, "amount_cents");
    return [
      ...unequal(`3: ${invoice.number} amount_paid_cents`, invoice.amount_paid_cents, paid),
      ...unequal(`3: ${invoice.number} overpaid_cents`, invoice.overpaid_cents, overpaid),
    ];
  });
  const ofPayments = payments.flatMap((payment) => {
    const back = of(
      refunds.filter((row) => row.payment_id === payment.id),
      "amount_cents",
    );
    return [
      ...unequal(`3: payment ${payment.id} refunded_cents`, payment.refunded_cents, back),
      ...unless(back <= payment.amount_cents, `3: payment ${payment.id} gave ${back} back`),
    ];
  });
  return [...ofInvoices, ...ofPayments];
}

/** 4. A wallet is the sum of its entries and of what its grants have left. */
function ledger({ wallets, grants }: Money): string[] {
  return wallets.flatMap(({ wallet, entries }) => {
    const name = `4: ${wallet.currency} of ${wallet.customer_id}`;
    const own = grants.filter(
      (each) => each.customer_id === wallet.customer_id && each.currency === wallet.currency,
    );
    let balance = 0;
    const steps = entries.flatMap((entry) => {
      balance += entry.amount_cents;
      return [
        ...unequal(`${name}, entry ${entry.reason}`, entry.balance_cents, balance),
        ...unless(balance >= 0, `${name} stood at ${balance}`),
      ];
    });
    return [
      ...steps,
      ...unequal(`${name} balance_cents`, wallet.balance_cents, balance),
      ...unequal(`${name} Σ remaining_cents`, of(own, "remaining_cents"), balance),
      ...unequal(
        `${name} available_cents`,
        wallet.available_cents,
        wallet.balance_cents - wallet.running_cents,
      ),
      ...own.flatMap((each) => grantFaults(each, entries)),
    ];
  });
}

function grantFaults(grant: Json, entries: readonly Json[]): string[] {
  const { id, kind, status, remaining_cents, amount_cents } = grant;
  const left = of(
    entries.filter(({ grant_id }) => grant_id === id),
    "amount_cents",
  );
  return [
    ...unequal(`4: ${kind} grant ${id} remaining_cents`, remaining_cents, left),
    ...unless(0 <= left && left <= amount_cents, `4: ${kind} grant ${id} has ${left} left`),
    ...unequal(`4: ${kind} grant ${id}, ${status}, is active`, status === "active", left > 0),
  ];
}

/** 5. The credit on an invoice is what its grants gave for it. */
function creditApplied({ invoices, entries }: Money): string[] {
  return invoices
    .filter((invoice) => !isVoided(invoice))
    .flatMap((invoice) => {
      const used = entries.filter(
        ({ reason, invoice_id }) => reason === "applied" && invoice_id === invoice.id,
      );
      const name = `5: ${invoice.number} credit_applied_cents`;
      return [
        ...unequal(name, invoice.credit_applied_cents, 0 - of(used, "amount_cents")),
        ...unequal(name, invoice.credit_applied_cents, of(invoice.credits, "amount_cents")),
      ];
    });
}

/** 6. Notes add up, and an invoice less its notes is the invoice of what is left. */
function creditNotes({ invoices, notes, refunds }: Money): string[] {
  const ofNotes = notes.flatMap((note) => {
    const is = (field: string, wanted: number) =>
      unequal(`6: ${note.number} ${field}`, note[field], wanted);
    const out = refunds.filter(({ credit_note_id }) => credit_note_id === note.id);
    return [
      ...is("subtotal_cents", of(note.lines, "amount_cents")),
      ...is("tax_cents", of(note.taxes, "tax_cents")),
      ...is("total_cents", note.subtotal_cents + note.tax_cents),
      ...is("total_cents", note.offset_cents + note.refund_cents + note.credit_cents),
      ...is("refunded_cents", of(out, "amount_cents")),
      ...unless(note.refunded_cents <= note.refund_cents, `6: ${note.number} paid out too much`),
    ];
  });
  const ofInvoices = invoices.flatMap((invoice) =>
    creditedFaults(
      invoice,
      notes.filter(({ invoice_id }) => invoice_id === invoice.id),
    ),
  );
  return [...ofNotes, ...ofInvoices];
}

function creditedFaults(invoice: Json, notes: readonly Json[]): string[] {
  const { number, credit_notes_cents, total_cents, fees } = invoice;
  const lines: Json[] = notes.flatMap((note) => note.lines);
  // What a note takes of a fee below 0 is below 0 itself.
  const left = (fee: Json): number => {
    const noted = of(
      lines.filter(({ fee_id }) => fee_id === fee.id),
      "amount_cents",
    );
    return fee.taxable_cents - noted;
  };
  const taxed = taxLines(fees, left).flatMap((line) => {
    const same = ({ code, percent }: Json) => code === line.code && percent === line.percent;
    const before = of(invoice.taxes.filter(same), "tax_cents");
    const credited = of(notes.flatMap((note) => note.taxes).filter(same), "tax_cents");
    const wanted = percentOf(line.taxable_cents, line.percent);
    return unequal(`6: ${number}, left of ${line.code}`, before - credited, wanted);
  });
  const nothingLeft = notes.length > 0 && fees.every((fee: Json) => left(fee) === 0);
  return [
    ...unequal(`6: ${number} credit_notes_cents`, credit_notes_cents, of(notes, "total_cents")),
    ...unequal(`6: ${number} offset_cents`, invoice.offset_cents, of(notes, "offset_cents")),
    ...unless(credit_notes_cents <= total_cents, `6: ${number} is credited beyond its total`),
    ...(nothingLeft ? unequal(`6: ${number}, all of it`, credit_notes_cents, total_cents) : []),
    ...(notes.length > 0 ? taxed : []),
  ];
}

/** 7. A coupon took what its invoices say, no more often and no more than it may. */
function coupons({ coupons: made, applied, invoices }: Money): string[] {
  const ofApplied = applied.flatMap((each) => {
    const name = `7: applied ${each.code}`;
    const rows = invoices
      .filter((invoice) => !isVoided(invoice))
      .flatMap((invoice) => invoice.coupons)
      .filter(({ applied_coupon_id }: Json) => applied_coupon_id === each.id);
    const isPot = each.amount_cents !== null && each.times === 1;
    const left = Math.max(0, each.amount_cents - each.used_cents);
    return [
      ...unequal(`${name} used_cents`, each.used_cents, of(rows, "amount_cents")),
      ...unless(
        isPot || each.times === null || each.uses <= each.times,
        `${name} is used too often`,
      ),
      ...(isPot && each.status !== "ended"
        ? unequal(`${name} remaining_cents`, each.remaining_cents, left)
        : []),
    ];
  });
  const ofCoupons = made.flatMap((coupon) => {
    const own = applied.filter(({ coupon_id }) => coupon_id === coupon.id);
    return [
      ...unequal(`7: ${coupon.code} redemptions`, coupon.redemptions, own.length),
      ...unless(
        coupon.max_redemptions === null || own.length <= coupon.max_redemptions,
        `7: ${coupon.code} has ${own.length} redemptions`,
      ),
    ];
  });
  return [...ofApplied, ...ofCoupons];
}

/** 8. Numbers are 1 to n in each year. */
function numbers({ invoices, notes }: Money): string[] {
  return [invoices, notes].flatMap((series) => {
    const years = new Map<string, number[]>();
    for (const { number } of series) {
      const [, year = "", n = ""] = /^[A-Z0-9]{1,8}-(\d{4})-(\d{4,})$/.exec(number) ?? [];
      if (n === "") return [`8: ${number} is no number`];
      years.set(year, [...(years.get(year) ?? []), Number(n)]);
    }
    return [...years].flatMap(([year, taken]) => {
      const sorted = taken.sort((a, b) => a - b);
      const wanted = sorted.map((_, i) => i + 1);
      return unequal(`8: the numbers of ${year}`, sorted, wanted);
    });
  });
}

const RULES: readonly ((money: Money) => string[])[] = [
  orderOfAmounts,
  taxesFromFees,
  paymentsAndRefunds,
  ledger,
  creditApplied,
  creditNotes,
  coupons,
  numbers,
];

/** The books of one project; looked at more than once, it also sees what may never change. */
export class Books {
  readonly #story: Sandbox;
  readonly #kept = new Map<string, string>();

  constructor(story: Sandbox) {
    this.#story = story;
  }

  /** What is broken, each with the number of its invariant; empty when all is well. */
  async broken(): Promise<string[]> {
    const money = await readMoney(this.#story);
    return [...RULES.flatMap((rule) => rule(money)), ...this.#changed(money)];
  }

  /** Parties, coupons, taxes and fees of an invoice, and all of a note but what it paid out. */
  #changed({ invoices, notes }: Money): string[] {
    const fixed = [
      ...invoices.map(({ id, number, seller, buyer, coupons: taken, taxes, fees }) => {
        return [id, number, JSON.stringify({ seller, buyer, taken, taxes, fees })] as const;
      }),
      ...notes.map(({ id, number, refunded_cents: _, ...rest }) => {
        return [id, number, JSON.stringify(rest)] as const;
      }),
    ];
    return fixed.flatMap(([id, number, text]) => {
      const before = this.#kept.get(id) ?? text;
      this.#kept.set(id, text);
      return unless(before === text, `8: ${number} was ${before} and is ${text}`);
    });
  }
}
