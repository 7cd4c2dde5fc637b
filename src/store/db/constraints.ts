// Turns violations of constraints that callers can cause into refusals. The only place that does.

import { type Refusal, refuse, refuseField } from "../../errors.ts";

const TAKEN: Readonly<Record<string, { field: string; message: string }>> = {
  subscriptions_live_name_key: {
    field: "external_id",
    message: "Another live subscription has this external_id.",
  },
  plans_live_code_key: { field: "code", message: "A live plan with this code exists." },
  customers_external_id_key: {
    field: "external_id",
    message: "A customer with this external_id exists.",
  },
};

/** What one record says in several fields, which calls at once may have changed. */
const BROKEN: Readonly<Record<string, { field: string; code: string; message: string }>> = {
  customers_tax_exemption_check: {
    field: "tax_id",
    code: "required",
    message: "tax_id is required for reverse_charge.",
  },
  projects_prefixes_apart_check: {
    field: "invoice_prefix",
    code: "taken",
    message:
      "Invoices and credit notes cannot share a prefix, also not one that the other kind once " +
      "had: two documents would have one number.",
  },
  projects_prefixes_count_check: {
    field: "invoice_prefix",
    code: "maximum",
    message: "A project has at most 100 prefixes of invoices and of credit notes in its life.",
  },
};

/** What Citus appends to the names of a shard's constraints. */
const OF_SHARD = /_\d+$/;

/** Undefined for constraints that only a bug can violate. */
export function refusalFor(error: unknown): Refusal | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string };
  if (constraint === undefined) return undefined;
  const name = constraint.replace(OF_SHARD, "");
  if (code === "23514") {
    const broken = BROKEN[constraint] ?? BROKEN[name];
    return broken && refuseField(broken.field, broken.code, broken.message);
  }
  if (code !== "23505") return undefined;
  const taken = TAKEN[constraint] ?? TAKEN[name];
  if (taken === undefined) return undefined;
  return refuse("already_exists", taken.message, {
    details: [{ field: taken.field, code: "taken" }],
  });
}
