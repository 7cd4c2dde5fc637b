// Credit notes and refunds.

import Type from "typebox";
import { notFound } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { createCreditNote, draftNote } from "../../operations/invoices/credit.ts";
import { recordRefund } from "../../operations/money/record-refund.ts";
import { CursorPage, CursorQuery, RefFilter, Uuid, Wrapped } from "../../schema/common.ts";
import {
  CreditNote,
  CreditNoteCreate,
  CreditNotePreview,
  Refund,
  RefundCreate,
} from "../../schema/credit-notes.ts";
import * as parties from "../../store/customers/parties.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import * as refunds from "../../store/money/refunds.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { ownTransactions, point, Reply, type Route, read, write } from "../route.ts";
import { pathId } from "../views.ts";

const tag = "Credit notes";
const One = Wrapped("credit_note", CreditNote);
const ID = "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d70";
/** A note over half of a fee. */
const example = {
  invoice_id: ID,
  lines: [{ fee_id: ID, amount_cents: 4500 }],
  reason: "Outage on 20 January",
};
const errors = [
  "amount_exceeds_creditable",
  "amount_exceeds_refundable",
  "invoice_voided",
  "wrong_invoice_type",
] as const;

/** A note with the parties of its invoice. */
async function withParties(db: Queryable, project: ProjectId, note: creditNotes.CreditNoteRow) {
  return { ...note, ...(await parties.get(db, project, note.invoice_id)) };
}

const create = write({
  method: "POST",
  path: "/v1/credit-notes",
  id: "createCreditNote",
  errors: [...errors],
  tag,
  summary: "Credit an invoice, whole or in part",
  description: "Without lines, all that is left. Goes to what is due, then out, then to credit.",
  scope: "write",
  project: "required",
  body: CreditNoteCreate,
  reply: [201, One],
  example,
  async handle({ tx, project, by, body, now }) {
    const note = await createCreditNote(tx, project, body, by, now);
    return { credit_note: await withParties(tx, project, note) };
  },
});

const preview = ownTransactions({
  method: "POST",
  path: "/v1/credit-notes/preview",
  id: "previewCreditNote",
  errors: [...errors],
  tag,
  summary: "What a credit note would be",
  description: "Nothing is stored.",
  scope: "read",
  project: "required",
  body: CreditNoteCreate,
  reply: [200, Wrapped("credit_note_preview", CreditNotePreview)],
  example,
  handle: ({ db, project, body }) =>
    db.snapshot(async (tx) => {
      const invoice = await invoices.get(tx, project, body.invoice_id.toLowerCase());
      if (invoice === undefined) throw notFound("invoice", { field: "invoice_id" });
      const {
        grant: _grant,
        from_written_off: _off,
        ...draft
      } = await draftNote(tx, project, invoice, body);
      const { id: invoice_id, currency } = invoice;
      const lists = { taxes: [...draft.taxes], lines: [...draft.lines] };
      return { credit_note_preview: { invoice_id, currency, ...draft, ...lists } };
    }),
});

const list = read({
  method: "GET",
  path: "/v1/credit-notes",
  id: "listCreditNotes",
  tag,
  summary: "List credit notes",
  description: "Newest first.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    number: Type.Optional(
      Type.String({ maxLength: 32, description: "The credit note of this number." }),
    ),
    invoice_id: Type.Optional(Uuid),
    customer_id: RefFilter,
  }),
  reply: [200, CursorPage("credit_notes", CreditNote)],
  async handle({ context, db, project, query }) {
    const filter = filtersOf(query);
    const cursors = new Cursors(context.secret_key, project, "credit_notes", filter);
    const found = await creditNotes.list(db, project, filter, cursors.page(query));
    return { credit_notes: found.rows, ...cursors.foot(found) };
  },
});

const get = point({
  method: "GET",
  path: "/v1/credit-notes/:id",
  id: "getCreditNote",
  tag,
  summary: "Get a credit note",
  description: "With its lines and taxes, and what of it was paid out.",
  scope: "read",
  project: "required",
  params: { id: "UUID of the credit note." },
  reply: [200, One],
  async handle({ db, project, params }) {
    const note = await creditNotes.get(db, project, pathId(params.id));
    if (note === undefined) throw notFound("credit note");
    return { credit_note: await withParties(db, project, note) };
  },
});

const refund = write({
  method: "POST",
  path: "/v1/refunds",
  once_by: "provider_refund_id",
  id: "recordRefund",
  errors: ["amount_exceeds_refundable", "refund_conflict", "wrong_invoice_type"],
  tag,
  summary: "Record a refund that was made",
  description:
    "With credit_note_id it pays out what the note set aside; without, the money is due again.",
  scope: "write",
  project: "required",
  body: RefundCreate,
  reply: [201, Wrapped("refund", Refund)],
  example: {
    payment_id: ID,
    amount_cents: 5400,
    provider_refund_id: "re_3Nk8",
    credit_note_id: ID,
  },
  also: { 200: Wrapped("refund", Refund) },
  async handle({ tx, project, by, body, now }) {
    const recorded = await recordRefund(tx, project, body, by, now);
    return new Reply(recorded.created ? 201 : 200, { refund: recorded.refund });
  },
});

const listRefunds = read({
  method: "GET",
  path: "/v1/refunds",
  id: "listRefunds",
  tag,
  summary: "List refunds",
  description: "Newest first.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    payment_id: Type.Optional(Uuid),
    invoice_id: Type.Optional(Uuid),
  }),
  reply: [200, CursorPage("refunds", Refund)],
  async handle({ context, db, project, query }) {
    const { payment_id, invoice_id } = query;
    const about = { payment_id, invoice_id };
    const cursors = new Cursors(context.secret_key, project, "refunds", about);
    const filter = {
      ...(payment_id !== undefined && { payment_id }),
      ...(invoice_id !== undefined && { invoice_id }),
    };
    const found = await refunds.list(db, project, filter, cursors.page(query));
    return { refunds: found.rows, ...cursors.foot(found) };
  },
});

export const creditNoteRoutes: Route[] = [create, preview, list, get, refund, listRefunds];
