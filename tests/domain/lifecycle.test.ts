// Every pair of subscription states.

import { describe, expect, test } from "vitest";
import {
  type AskedStatus,
  isLive,
  type SubscriptionStatus,
  transition,
} from "../../src/domain/lifecycle.ts";
import { ASKED_STATUSES, SUBSCRIPTION_STATUSES } from "../../src/schema/enums.ts";

describe("what a wanted status does", () => {
  test.each<[SubscriptionStatus, AskedStatus, object]>([
    ["pending", "active", { kind: "start" }],
    ["pending", "suspended", { kind: "not_started" }],
    ["pending", "terminated", { kind: "withdraw" }],
    ["pending", "canceled", { kind: "withdraw" }],
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

  test("only a subscription that is pending, active or suspended is live", () => {
    expect(SUBSCRIPTION_STATUSES.filter(isLive)).toEqual(["pending", "active", "suspended"]);
  });

  test("only a subscription that has begun and not ended can be billed by ending it", () => {
    for (const current of SUBSCRIPTION_STATUSES) {
      const kinds = ASKED_STATUSES.map((wanted) => transition(current, wanted).kind);
      expect(kinds.includes("terminate")).toBe(isLive(current) && current !== "pending");
    }
  });
});
