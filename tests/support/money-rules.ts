// What must hold in the database about money, whatever happened: the invariants of taxes, coupons,
// credit notes, grants and refunds. Read over all projects, as the rest of the rules are.

import { raw } from "../../src/store/db/rows.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";
import type { Rule } from "./usage-invariants.ts";

/** What the tax lines of invoices say, one row for each. */
const TAX_LINES: Sql = sql`
  select i.project_id, i.id as invoice_id, t.code, t.percent, t.taxable_cents, t.tax_cents
    from invoices i
   cross join json_to_recordset(coalesce(i.taxes, '[]'))
           as t (code text, percent numeric, taxable_cents numeric, tax_cents numeric)`;

/** What notes have taken of each fee. */
const CREDITED: Sql = sql`
  select n.project_id, n.invoice_id, l.fee_id, sum(l.amount_cents) as cents
    from credit_notes n
   cross join jsonb_to_recordset(n.lines) as l (fee_id uuid, amount_cents numeric)
   group by n.project_id, n.invoice_id, l.fee_id`;

/** Fees with what notes have left of them, and each of their taxes. */
const TAXED_FEES: Sql = sql`
  select f.project_id, f.invoice_id, t.code, t.percent, f.amount_cents - f.discount_cents as cents,
         f.amount_cents - f.discount_cents - coalesce(c.cents, 0) as left_cents
    from fees f
   cross join json_to_recordset(coalesce(f.taxes, '[]')) as t (code text, percent numeric)
    left join (${CREDITED}) c on c.project_id = f.project_id and c.invoice_id = f.invoice_id
                             and c.fee_id = f.id`;

/** What the entries of a list in a column add up to: a table that a cluster joins node by node. */
function listed(table: string, column: string, field: string): Sql {
  return raw(`select x.project_id, x.id, sum(e.${field}) as sum
                from ${table} x
               cross join lateral json_to_recordset(x.${column}::json) as e (${field} numeric)
               group by x.project_id, x.id`);
}

const INVOICE_RULES: readonly Rule[] = [
  {
    name: "an invoice adds up: fees, less coupons, plus taxes",
    broken: sql`
      select i.project_id, i.id, i.subtotal_cents, i.discount_cents, i.tax_cents, i.total_cents
        from invoices i
        left join (select project_id, invoice_id, sum(amount_cents) as sum,
                          sum(discount_cents) as discount, min(amount_currency) as least,
                          max(amount_currency) as most
                     from fees
                    group by project_id, invoice_id) f
               on f.project_id = i.project_id and f.invoice_id = i.id
        left join (${listed("invoices", "coupons", "amount_cents")}) c
               on c.project_id = i.project_id and c.id = i.id
        left join (${listed("invoices", "taxes", "tax_cents")}) t
               on t.project_id = i.project_id and t.id = i.id
       where i.subtotal_cents is distinct from f.sum or i.discount_cents is distinct from f.discount
          or f.least <> i.currency or f.most <> i.currency
          or i.discount_cents <> coalesce(c.sum, 0) or i.tax_cents <> coalesce(t.sum, 0)
          or i.total_cents <> greatest(f.sum - f.discount + i.tax_cents, 0)`,
  },
  {
    name: "a discount lies between 0 and its fee",
    broken: sql`
      select project_id, id, amount_cents, discount_cents
        from fees
       where discount_cents not between least(amount_cents, 0) and greatest(amount_cents, 0)`,
  },
  {
    name: "an invoice's status follows from what is due",
    broken: sql`
      select project_id, id, status, payment_status, due, written_off_cents
        from (select i.*, total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                          + overpaid_cents - written_off_cents as due
                from invoices i) i
       where (status = 'voided') <> (voided_at is not null)
          or (status = 'voided' and written_off_cents <> 0)
          or (status <> 'voided'
              and (due < 0
                   or (status = 'uncollectible') <> (due = 0 and written_off_cents > 0)
                   or (status = 'succeeded') <> (due = 0 and written_off_cents = 0)))
          or (status = 'succeeded') <> (payment_status = 'succeeded')
          or (status <> 'succeeded'
              and (payment_status = 'partially_paid') <> (amount_paid_cents > 0))
          or least(total_cents, credit_applied_cents, offset_cents, amount_paid_cents,
                   overpaid_cents, written_off_cents, credit_notes_cents) < 0`,
  },
  {
    name: "the taxes of an invoice recompute from its fees",
    broken: sql`
      select coalesce(l.project_id, f.project_id) as project_id,
             coalesce(l.invoice_id, f.invoice_id) as invoice_id,
             coalesce(l.code, f.code) as code, l.tax_cents, f.cents
        from (${TAX_LINES}) l
        full join (select project_id, invoice_id, code, percent, sum(cents) as cents
                     from (${TAXED_FEES}) t
                    group by project_id, invoice_id, code, percent) f
               on f.project_id = l.project_id and f.invoice_id = l.invoice_id
              and f.code = l.code and f.percent = l.percent
       where l.taxable_cents is distinct from f.cents
          or l.tax_cents is distinct from round(f.cents * f.percent / 100)`,
  },
  {
    name: "an invoice keeps the seller and the buyer of its day",
    broken: sql`
      select i.project_id, i.id, i.seller_version, i.buyer_version
        from invoices i
        join projects p on p.id = i.project_id
        join customers c on c.project_id = i.project_id and c.id = i.customer_id
        left join parties s on s.project_id = i.project_id and s.owner_id = i.project_id
                           and s.version = i.seller_version
        left join parties b on b.project_id = i.project_id and b.owner_id = i.customer_id
                           and b.version = i.buyer_version
       where (i.seller_version is null) <> (i.buyer_version is null)
          or (i.seller_version <> p.party_version and s.version is null)
          or (i.buyer_version <> c.party_version and b.version is null)
          or i.seller_version > p.party_version or i.buyer_version > c.party_version`,
  },
];

const PAYMENT_RULES: readonly Rule[] = [
  {
    name: "what is paid is the payments, less refunds without a note",
    broken: sql`
      select i.project_id, i.id, i.amount_paid_cents, p.sum, r.sum as refunded
        from invoices i
        left join (select project_id, invoice_id, sum(amount_cents) as sum
                     from payments
                    group by project_id, invoice_id) p
               on p.project_id = i.project_id and p.invoice_id = i.id
        left join (select project_id, invoice_id, sum(amount_cents) as sum
                     from refunds
                    where credit_note_id is null
                    group by project_id, invoice_id) r
               on r.project_id = i.project_id and r.invoice_id = i.id
       where i.amount_paid_cents <> coalesce(p.sum, 0) - coalesce(r.sum, 0)
      union all
      select p.project_id, p.id, p.amount_cents, null, null
        from payments p
        join invoices i on i.project_id = p.project_id and i.id = p.invoice_id
       where p.currency <> i.currency or p.customer_id <> i.customer_id`,
  },
  {
    name: "what is overpaid is what of it became credit",
    broken: sql`
      select i.project_id, i.id, i.overpaid_cents, e.sum
        from invoices i
        left join (select project_id, invoice_id, sum(amount_cents) as sum
                     from ledger_entries
                    where reason in ('overpayment', 'refunded')
                    group by project_id, invoice_id) e
               on e.project_id = i.project_id and e.invoice_id = i.id
       where i.status <> 'voided' and i.overpaid_cents <> coalesce(e.sum, 0)`,
  },
  {
    name: "a payment gives back what its refunds say, and no more than it is",
    broken: sql`
      select p.project_id, p.id, p.amount_cents, p.refunded_cents, r.sum
        from payments p
        left join (select project_id, payment_id, sum(amount_cents) as sum
                     from refunds
                    group by project_id, payment_id) r
               on r.project_id = p.project_id and r.payment_id = p.id
       where p.refunded_cents <> coalesce(r.sum, 0) or p.refunded_cents > p.amount_cents`,
  },
];

const LEDGER_RULES: readonly Rule[] = [
  {
    name: "a wallet is the sum of its entries, and of what its grants have left",
    broken: sql`
      select project_id, customer_id, currency, w.balance_cents, e.sum, g.sum as left_cents
        from wallets w
        full join (select project_id, customer_id, currency, sum(amount_cents) as sum,
                          max(no) as last_no
                     from ledger_entries
                    group by project_id, customer_id, currency) e
            using (project_id, customer_id, currency)
        full join (select project_id, customer_id, currency, sum(remaining_cents) as sum
                     from grants
                    group by project_id, customer_id, currency) g
            using (project_id, customer_id, currency)
       where coalesce(w.balance_cents, 0) <> coalesce(e.sum, 0)
          or coalesce(w.balance_cents, 0) <> coalesce(g.sum, 0)
          or coalesce(w.last_no, 0) <> coalesce(e.last_no, 0) or w.balance_cents < 0`,
  },
  {
    name: "an entry's balance is the one before and its amount, and never below 0",
    broken: sql`
      select project_id, customer_id, currency, no, amount_cents, balance_cents
        from (select e.*, sum(amount_cents) over w as sum, row_number() over w as place
                from ledger_entries e
              window w as (partition by project_id, customer_id, currency order by no)) e
       where balance_cents <> sum or no <> place or balance_cents < 0`,
  },
  {
    name: "a grant has left what its entries say, and is active while that is something",
    broken: sql`
      select g.project_id, g.id, g.kind, g.status, g.remaining_cents, e.sum
        from grants g
        left join (select project_id, grant_id, sum(amount_cents) as sum
                     from ledger_entries
                    group by project_id, grant_id) e
               on e.project_id = g.project_id and e.grant_id = g.id
       where g.remaining_cents <> coalesce(e.sum, 0)
          or g.remaining_cents not between 0 and g.amount_cents
          or (g.status = 'active') <> (g.remaining_cents > 0)`,
  },
  {
    name: "a grant is paid for by its top-up",
    broken: sql`
      select g.project_id, g.id, g.status, i.status as invoice_status
        from (select * from grants where kind = 'paid') g
        full join (select * from invoices where invoice_type = 'top_up') i
               on i.project_id = g.project_id and i.id = g.invoice_id
       where g.id is null or i.id is null or i.total_cents <> g.amount_cents
          or i.customer_id <> g.customer_id or i.currency <> g.currency
          or (g.status = 'pending') <> (i.status in ('outstanding', 'overdue'))
          or (g.status = 'voided') <> (i.status = 'voided')`,
  },
  {
    name: "the credit on an invoice is what was taken from the customer for it",
    broken: sql`
      select i.project_id, i.id, i.credit_applied_cents, e.sum
        from invoices i
        left join (select project_id, invoice_id, -sum(amount_cents) as sum
                     from ledger_entries
                    where reason = 'applied'
                    group by project_id, invoice_id) e
               on e.project_id = i.project_id and e.invoice_id = i.id
        left join (${listed("invoices", "credits", "amount_cents")}) c
               on c.project_id = i.project_id and c.id = i.id
       where i.credit_applied_cents <> coalesce(e.sum, 0)
          or i.credit_applied_cents <> coalesce(c.sum, 0)`,
  },
];

const NOTE_RULES: readonly Rule[] = [
  {
    name: "a credit note adds up, and pays out no more than it set aside",
    broken: sql`
      select n.project_id, n.id, n.total_cents, n.refund_cents, n.refunded_cents, r.sum
        from credit_notes n
        left join (select project_id, credit_note_id, sum(amount_cents) as sum
                     from refunds
                    group by project_id, credit_note_id) r
               on r.project_id = n.project_id and r.credit_note_id = n.id
        left join (${listed("credit_notes", "lines", "amount_cents")}) l
               on l.project_id = n.project_id and l.id = n.id
        left join (${listed("credit_notes", "taxes", "tax_cents")}) t
               on t.project_id = n.project_id and t.id = n.id
       where n.total_cents <> n.subtotal_cents + n.tax_cents
          or n.total_cents <> n.offset_cents + n.refund_cents + n.credit_cents
          or n.subtotal_cents <> coalesce(l.sum, 0) or n.tax_cents <> coalesce(t.sum, 0)
          or n.refunded_cents <> coalesce(r.sum, 0) or n.refunded_cents > n.refund_cents`,
  },
  {
    name: "an invoice knows its credit notes, which never exceed it",
    broken: sql`
      select i.project_id, i.id, i.credit_notes_cents, i.offset_cents, n.total, n.off
        from invoices i
        left join (select project_id, invoice_id, sum(total_cents) as total,
                          sum(offset_cents) as off
                     from credit_notes
                    group by project_id, invoice_id) n
               on n.project_id = i.project_id and n.invoice_id = i.id
       where i.credit_notes_cents <> coalesce(n.total, 0) or i.offset_cents <> coalesce(n.off, 0)
          or i.credit_notes_cents > i.total_cents`,
  },
  {
    name: "an invoice less its notes is the invoice of what is left",
    broken: sql`
      select f.project_id, f.invoice_id, f.code, f.cents, l.tax_cents, c.tax_cents as credited
        from (select project_id, invoice_id, code, percent, sum(left_cents) as cents
                from (${TAXED_FEES}) t
               group by project_id, invoice_id, code, percent) f
        join (${TAX_LINES}) l on l.project_id = f.project_id and l.invoice_id = f.invoice_id
                             and l.code = f.code and l.percent = f.percent
        join (select n.project_id, n.invoice_id, t.code, t.percent, sum(t.tax_cents) as tax_cents
                from credit_notes n
               cross join jsonb_to_recordset(n.taxes)
                       as t (code text, percent numeric, tax_cents numeric)
               group by n.project_id, n.invoice_id, t.code, t.percent) c
          on c.project_id = f.project_id and c.invoice_id = f.invoice_id and c.code = f.code
         and c.percent = f.percent
       where l.tax_cents - c.tax_cents <> round(f.cents * f.percent / 100)
      union all
      select f.project_id, f.id, 'a fee', c.cents, f.amount_cents - f.discount_cents, null
        from fees f
        join (${CREDITED}) c on c.project_id = f.project_id and c.invoice_id = f.invoice_id
                            and c.fee_id = f.id
       where c.cents not between least(f.amount_cents - f.discount_cents, 0)
                             and greatest(f.amount_cents - f.discount_cents, 0)`,
  },
  {
    name: "numbers of credit notes are dense, and the counter stands at the last",
    broken: sql`
      select project_id, n.year, n.n, n.least, n.most, c.last
        from (select project_id, number_year as year, count(*) as n, min(number_seq) as least,
                     max(number_seq) as most
                from credit_notes
               group by project_id, number_year) n
        full join credit_note_counters c using (project_id, year)
       where n.n is distinct from n.most or n.least is distinct from 1
          or c.last is distinct from n.most`,
  },
];

/** What each coupon took of each fee. */
const FEE_PARTS: Sql = sql`
  select f.project_id, f.invoice_id, f.id as fee_id, p.applied_coupon_id, p.amount_cents
    from fees f
   cross join json_to_recordset(coalesce(f.coupons, '[]'))
           as p (applied_coupon_id uuid, amount_cents numeric)`;

const COUPON_RULES: readonly Rule[] = [
  {
    name: "what coupons took of a fee is its discount",
    broken: sql`
      select f.project_id, f.id, f.discount_cents, p.sum
        from fees f
        left join (select project_id, fee_id, invoice_id, sum(amount_cents) as sum
                     from (${FEE_PARTS}) p
                    group by project_id, fee_id, invoice_id) p
               on p.project_id = f.project_id and p.fee_id = f.id and p.invoice_id = f.invoice_id
       where f.discount_cents <> coalesce(p.sum, 0)`,
  },
  {
    name: "what a coupon took on an invoice is the same on it, on its fees and by use",
    broken: sql`
      select project_id, invoice_id, applied_coupon_id, f.sum as of_fees, c.sum as shown,
             u.sum as by_use
        from (select project_id, invoice_id, applied_coupon_id, sum(amount_cents) as sum
                from (${FEE_PARTS}) p
               group by project_id, invoice_id, applied_coupon_id) f
        full join (select i.project_id, i.id as invoice_id, a.applied_coupon_id,
                          sum(a.amount_cents) as sum
                     from invoices i
                    cross join json_to_recordset(coalesce(i.coupons, '[]'))
                            as a (applied_coupon_id uuid, amount_cents numeric)
                    group by i.project_id, i.id, a.applied_coupon_id) c
            using (project_id, invoice_id, applied_coupon_id)
        full join (select project_id, invoice_id, applied_coupon_id, sum(amount_cents) as sum
                     from coupon_uses
                    group by project_id, invoice_id, applied_coupon_id) u
            using (project_id, invoice_id, applied_coupon_id)
       where coalesce(f.sum, 0) <> coalesce(c.sum, 0) or coalesce(f.sum, 0) <> coalesce(u.sum, 0)
      union all
      select u.project_id, u.invoice_id, u.applied_coupon_id, null, null, u.amount_cents
        from coupon_uses u
        join invoices i on i.project_id = u.project_id and i.id = u.invoice_id
       where u.is_voided <> (i.status = 'voided')`,
  },
  {
    name: "a coupon is used no more often, and for no more, than it may",
    broken: sql`
      select a.project_id, a.id, a.times, a.amount_cents, u.uses, u.cents
        from applied_coupons a
        join (select project_id, applied_coupon_id, sum(cents) as cents,
                     count(*) filter (where use_cents > 0) as uses
                from (select project_id, applied_coupon_id, use, sum(amount_cents) as cents,
                             sum(use_cents) as use_cents
                        from coupon_uses
                       where not is_voided
                       group by project_id, applied_coupon_id, use) by_use
               group by project_id, applied_coupon_id) u
          on u.project_id = a.project_id and u.applied_coupon_id = a.id
       where case when a.amount_cents is not null and a.times = 1
                  then u.cents > a.amount_cents and not exists (
                         -- A void can undo what was taken back.
                         select 1
                           from coupon_uses b
                          where b.project_id = a.project_id and b.applied_coupon_id = a.id
                            and b.is_voided and b.amount_cents < b.use_cents)
                  else u.uses > a.times end`,
  },
  {
    name: "a coupon counts its redemptions, and has no more than it may",
    broken: sql`
      select c.project_id, c.id, c.redemptions, c.max_redemptions, a.n
        from coupons c
        left join (select project_id, coupon_id, count(*) as n
                     from applied_coupons
                    group by project_id, coupon_id) a
               on a.project_id = c.project_id and a.coupon_id = c.id
       where c.redemptions <> coalesce(a.n, 0)
          -- Lowered later, it counts for later ones.
          or (c.redemptions > c.max_redemptions and c.updated_at = c.created_at)`,
  },
];

export const MONEY_RULES: readonly Rule[] = [
  ...INVOICE_RULES,
  ...PAYMENT_RULES,
  ...LEDGER_RULES,
  ...NOTE_RULES,
  ...COUPON_RULES,
];
