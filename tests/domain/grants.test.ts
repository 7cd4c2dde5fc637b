// What an amount takes of grants, and in which order.

import { describe, expect, test } from "vitest";
import { takeGrants, type UsableGrant } from "../../src/domain/grants.ts";

const grant = (id: string, parts: Partial<UsableGrant> = {}): UsableGrant => ({
  id,
  kind: "free",
  remaining_cents: 100,
  priority: 50,
  expires_at: null,
  ...parts,
});
const taken = (amount: number, grants: readonly UsableGrant[]) =>
  takeGrants(amount, grants).map(({ grant_id, amount_cents }) => `${grant_id} ${amount_cents}`);

describe("an amount", () => {
  test.each([
    [1000, 0, []],
    [1000, 300, ["a 300"]],
    [1000, 1000, ["a 1000"]],
    [1000, 5000, ["a 1000"]],
    [0, 500, []],
  ])("of %i takes of a grant of %i", (amount, remaining_cents, expected) => {
    expect(taken(amount, [grant("a", { remaining_cents })])).toEqual(expected);
  });

  test("takes by priority, then expiry, then free ones, then by age", () => {
    const grants = [
      grant("1 paid", { kind: "paid" }),
      grant("2 old"),
      grant("3 new"),
      grant("4 september", { expires_at: new Date("2026-09-01") }),
      grant("5 june", { expires_at: new Date("2026-06-01") }),
      grant("6 first", { priority: 10 }),
      grant("7 last", { priority: 90, expires_at: new Date("2026-04-01") }),
    ];
    expect(taken(650, grants)).toEqual([
      ...["6 first 100", "5 june 100", "4 september 100", "2 old 100", "3 new 100"],
      ...["1 paid 100", "7 last 50"],
    ]);
  });
});
