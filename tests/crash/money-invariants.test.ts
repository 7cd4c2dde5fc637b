// Each rule about money can be broken, and then says so: one corruption for every rule. And what
// the database itself refuses.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, startApp } from "../support/app.ts";
import { checkInvariants } from "../support/invariants.ts";
import { MONEY_RULES } from "../support/money-rules.ts";
import { type Act, act, brokenBy, type Corruption } from "./corrupt.ts";
import { makeWorld } from "./world.ts";

let app: App;
beforeAll(async () => {
  app = await startApp({});
  const { ids } = await makeWorld(app);
  await app.patch(`/v1/customers/${ids.c4}`, { name: "Renamed" });
  await app.travelTo("2025-03-05T00:00:00.000Z");
});
afterAll(() => app.close());

/** Figures of an invoice never change, but here. */
const FREE_INVOICES = "alter table invoices disable trigger invoices_stay";
const UNCHECKED = ["total", "credit", "due", "status"].map(
  (name) => `alter table invoices drop constraint invoices_${name}_check`,
);
const FREE_NOTES = "alter table credit_notes disable trigger credit_notes_stay";
const FREE_ENTRIES = "alter table ledger_entries disable trigger ledger_entries_stay";

const CORRUPTIONS: readonly Corruption[] = [
  [
    "an invoice adds up: fees, less coupons, plus taxes",
    "a fee is a cent too high",
    "alter table fees disable trigger fees_stay",
    `update fees set amount_cents = amount_cents + 1
      where id = (select id from fees order by id limit 1)`,
  ],
  [
    "an invoice adds up: fees, less coupons, plus taxes",
    "a tax is a cent too low",
    FREE_INVOICES,
    ...UNCHECKED,
    "update invoices set tax_cents = tax_cents - 1 where tax_cents > 0",
  ],
  [
    "an invoice adds up: fees, less coupons, plus taxes",
    "a coupon is not told of",
    "update invoices set coupons = null where coupons is not null",
  ],
  [
    "a discount lies between 0 and its fee",
    "a coupon takes more than the fee",
    "alter table fees disable trigger fees_stay",
    "update fees set discount_cents = amount_cents + 1 where discount_cents > 0",
  ],
  [
    "an invoice's status follows from what is due",
    "a voided invoice does not say when",
    `update invoices set status = 'voided' where status = 'outstanding'`,
  ],
  [
    "an invoice's status follows from what is due",
    "an invoice with something due is paid",
    ...UNCHECKED,
    `update invoices set status = 'succeeded', payment_status = 'succeeded'
      where status in ('outstanding', 'overdue')`,
  ],
  [
    "the taxes of an invoice recompute from its fees",
    "a percentage is changed afterwards",
    `update invoices set taxes = jsonb_set(taxes::jsonb, '{0,percent}', '"21"') where taxes is not null`,
  ],
  [
    "the taxes of an invoice recompute from its fees",
    "a fee loses its tax",
    "update fees set taxes = null where taxes::text <> '[]'",
  ],
  [
    "an invoice keeps the seller and the buyer of its day",
    "a version of the buyer that nobody wrote down",
    "update invoices set buyer_version = 99",
  ],
  [
    "an invoice keeps the seller and the buyer of its day",
    "what a buyer was is gone",
    "alter table parties disable trigger parties_stay",
    "delete from parties",
  ],
  [
    "what is paid is the payments, less refunds without a note",
    "a payment is a cent lower",
    "alter table payments disable trigger user",
    "update payments set amount_cents = amount_cents - 1",
  ],
  [
    "what is overpaid is what of it became credit",
    "the credit of an overpayment is another's",
    FREE_ENTRIES,
    "update ledger_entries set invoice_id = null where reason = 'overpayment'",
  ],
  [
    "a payment gives back what its refunds say, and no more than it is",
    "a refund is not counted",
    "update payments set refunded_cents = 0 where refunded_cents > 0",
  ],
  [
    "a wallet is the sum of its entries, and of what its grants have left",
    "a balance without an entry",
    "update wallets set balance_cents = balance_cents + 1",
  ],
  [
    "an entry's balance is the one before and its amount, and never below 0",
    "an entry is skipped",
    FREE_ENTRIES,
    "delete from ledger_entries where no = 1",
  ],
  [
    "a grant has left what its entries say, and is active while that is something",
    "a grant is used up with money in it",
    "alter table grants drop constraint grants_remaining_check",
    "update grants set status = 'used_up' where status = 'active'",
  ],
  [
    "a grant is paid for by its top-up",
    "it counts before it is paid",
    "update grants set status = 'used_up' where status = 'pending'",
  ],
  [
    "the credit on an invoice is what was taken from the customer for it",
    "credit on an invoice that nobody gave",
    FREE_INVOICES,
    ...UNCHECKED,
    `update invoices set credit_applied_cents = 1 where status = 'outstanding'`,
  ],
  [
    "the credit on an invoice is what was taken from the customer for it",
    "an invoice does not say whose credit it took",
    "update invoices set credits = null where credits is not null",
  ],
  [
    "a credit note adds up, and pays out no more than it set aside",
    "a refund is not counted",
    "update credit_notes set refunded_cents = 0 where refunded_cents > 0",
  ],
  [
    "an invoice knows its credit notes, which never exceed it",
    "a note is forgotten",
    "update invoices set credit_notes_cents = 0 where credit_notes_cents > 0",
  ],
  [
    "an invoice less its notes is the invoice of what is left",
    "a note credits a cent of tax too much",
    FREE_NOTES,
    `update credit_notes set taxes = jsonb_set(taxes, '{0,tax_cents}',
            ((taxes -> 0 ->> 'tax_cents')::int + 1)::text::jsonb) where taxes <> '[]'`,
  ],
  [
    "an invoice less its notes is the invoice of what is left",
    "a note credits more than the fee",
    FREE_NOTES,
    `update credit_notes set lines = jsonb_set(lines, '{0,amount_cents}', '999999')`,
  ],
  [
    "numbers of credit notes are dense, and the counter stands at the last",
    "a number is skipped",
    "update credit_notes set number_seq = number_seq + 1",
  ],
  [
    "what coupons took of a fee is its discount",
    "a part of it is gone",
    "update fees set coupons = null where coupons is not null",
  ],
  [
    "what a coupon took on an invoice is the same on it, on its fees and by use",
    "a use is gone",
    "delete from coupon_uses",
  ],
  [
    "what a coupon took on an invoice is the same on it, on its fees and by use",
    "a use is undone without a void",
    "update coupon_uses set is_voided = true",
  ],
  [
    "a coupon is used no more often, and for no more, than it may",
    "a coupon was for one use",
    "update applied_coupons set times = 1",
  ],
  [
    "a coupon is used no more often, and for no more, than it may",
    "a pot was smaller than what it gave",
    "update applied_coupons set times = 1, percent = null, amount_cents = 1, currency = 'USD'",
  ],
  [
    "a coupon counts its redemptions, and has no more than it may",
    "a redemption is not counted",
    "update coupons set redemptions = redemptions + 1",
  ],
];

describe("the rules about money", () => {
  test("hold in a project that has some", async () => {
    expect(await checkInvariants(app.context.db)).toEqual([]);
  });

  test.each(CORRUPTIONS)("%s: broken when %s", async (rule, _how, ...acts) => {
    const found = await brokenBy(app.context.db, acts);
    expect(found.filter((line) => line.startsWith(rule))).toHaveLength(1);
  });

  test("each has a corruption", () => {
    const tried = new Set(CORRUPTIONS.map(([rule]) => rule));
    expect(MONEY_RULES.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([]);
  });
});

/** What no rule needs to find, for it cannot come about. */
const REFUSED: readonly [what: string, tried: Act][] = [
  ["a discount changes", "update fees set discount_cents = discount_cents + 1"],
  ["an invoice's tax changes", "update invoices set tax_cents = tax_cents + 1"],
  ["an entry of the ledger changes", "update ledger_entries set amount_cents = amount_cents + 1"],
  ["an entry of the ledger is removed", "delete from ledger_entries"],
  ["a credit note changes", "update credit_notes set total_cents = total_cents + 1"],
  ["a credit note is removed", "delete from credit_notes"],
  ["a party changes", "update parties set body = '{}'"],
  ["a balance falls below 0", "update wallets set balance_cents = -1"],
  ["a grant has more left than it was", "update grants set remaining_cents = amount_cents + 1"],
  ["a fee is exempt without a reason", "update fees set tax_category = 'E'"],
  ["a fee has a reason without a category", "update fees set tax_reason = 'Reverse charge'"],
  ["a note pays out too much", "update credit_notes set refunded_cents = refund_cents + 1"],
  ["a payment gives back too much", "update payments set refunded_cents = amount_cents + 1"],
];

test.each(REFUSED)("the database refuses it when %s", async (_what, tried) => {
  await expect(app.context.db.tx((tx) => act(tx, tried))).rejects.toThrow(
    /do not change|violates check/,
  );
});
