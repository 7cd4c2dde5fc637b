// Turns violations of constraints that callers can cause into refusals. The only place that does.

import { type Refusal, refuse } from "../errors.ts";

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

/** What Citus appends to the names of a shard's constraints. */
const OF_SHARD = /_\d+$/;

/** Undefined for constraints that only a bug can violate. */
export function refusalFor(error: unknown): Refusal | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string };
  if (code !== "23505" || constraint === undefined) return undefined;
  const taken = TAKEN[constraint] ?? TAKEN[constraint.replace(OF_SHARD, "")];
  if (taken === undefined) return undefined;
  return refuse("already_exists", taken.message, {
    details: [{ field: taken.field, code: "taken" }],
  });
}
