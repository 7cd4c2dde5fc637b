// Violations of constraints become refusals, also under the names that a cluster's shards have.

import { expect, test } from "vitest";
import { refusalFor } from "../../../src/store/db/constraints.ts";

const violation = (constraint: string, code = "23505") =>
  Object.assign(new Error("duplicate key"), { code, constraint });

test.each(["subscriptions_live_name_key", "subscriptions_live_name_key_102610"])("%s", (name) => {
  const refusal = refusalFor(violation(name));
  expect(refusal).toMatchObject({ code: "already_exists", details: [{ field: "external_id" }] });
});

test("others are bugs", () => {
  expect(refusalFor(violation("invoices_pkey_102610"))).toBeUndefined();
  expect(refusalFor(violation("plans_live_code_key", "23514"))).toBeUndefined();
});
