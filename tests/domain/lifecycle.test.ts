// Every pair of subscription states.

import { describe, expect, test } from "vitest";
import {
  isLive,
  STATUSES,
  type SubscriptionStatus,
  transition,
} from "../../src/domain/lifecycle.ts";

describe("what a wanted status does", () => {
  test.each<[SubscriptionStatus, SubscriptionStatus, object]>([
    ["active", "active", { kind: "none" }],
    ["active", "suspended", { kind: "suspend" }],
    ["active", "terminated", { kind: "terminate" }],
    ["active", "canceled", { kind: "cancel" }],
    ["suspended", "active", { kind: "resume" }],
    ["suspended", "suspended", { kind: "none" }],
    ["suspended", "terminated", { kind: "terminate" }],
    ["suspended", "canceled", { kind: "cancel" }],
    ["terminated", "active", { kind: "reactivate", into: "active" }],
    ["terminated", "suspended", { kind: "reactivate", into: "suspended" }],
    ["terminated", "terminated", { kind: "none" }],
    ["terminated", "canceled", { kind: "relabel" }],
    ["canceled", "active", { kind: "reactivate", into: "active" }],
    ["canceled", "suspended", { kind: "reactivate", into: "suspended" }],
    ["canceled", "terminated", { kind: "relabel" }],
    ["canceled", "canceled", { kind: "none" }],
  ])("%s to %s", (current, wanted, expected) => {
    expect(transition(current, wanted)).toEqual(expected);
  });

  test("only a subscription that is active or suspended is live", () => {
    expect(STATUSES.filter(isLive)).toEqual(["active", "suspended"]);
  });

  test("only a live subscription can be billed by ending it", () => {
    for (const current of STATUSES) {
      const kinds = STATUSES.map((wanted) => transition(current, wanted).kind);
      expect(kinds.includes("terminate")).toBe(isLive(current));
    }
  });
});
