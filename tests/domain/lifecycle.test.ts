// Every pair of subscription states.

import { describe, expect, test } from "vitest";
import {
  type AskedStatus,
  hasEnded,
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
    ["terminated", "active", { kind: "reactivate" }],
    ["terminated", "suspended", { kind: "relabel", as: "suspended" }],
    ["terminated", "terminated", { kind: "none" }],
    ["terminated", "canceled", { kind: "relabel", as: "canceled" }],
    ["canceled", "active", { kind: "reactivate" }],
    ["canceled", "suspended", { kind: "relabel", as: "suspended" }],
    ["canceled", "terminated", { kind: "relabel", as: "terminated" }],
    ["canceled", "canceled", { kind: "none" }],
  ])("%s to %s", (status, wanted, expected) => {
    expect(transition({ status, is_called_suspended: false }, wanted)).toEqual(expected);
  });

  test.each<[AskedStatus, object]>([
    ["active", { kind: "reactivate" }],
    ["suspended", { kind: "none" }],
    ["terminated", { kind: "relabel", as: "terminated" }],
    ["canceled", { kind: "relabel", as: "canceled" }],
  ])("of an ended one that is called suspended: %s", (wanted, expected) => {
    for (const status of ["terminated", "canceled"] as const) {
      expect(transition({ status, is_called_suspended: true }, wanted)).toEqual(expected);
    }
  });

  test("only active brings one that has ended back to life", () => {
    for (const status of ["terminated", "canceled"] as const) {
      for (const is_called_suspended of [false, true]) {
        const reviving = ASKED_STATUSES.filter(
          (wanted) => transition({ status, is_called_suspended }, wanted).kind === "reactivate",
        );
        expect(reviving).toEqual(["active"]);
      }
    }
  });

  test("only a subscription that is terminated or canceled has ended", () => {
    expect(SUBSCRIPTION_STATUSES.filter(hasEnded)).toEqual(["terminated", "canceled"]);
  });

  test("only a subscription that has begun and not ended can be billed by ending it", () => {
    for (const status of SUBSCRIPTION_STATUSES) {
      const standing = { status, is_called_suspended: false };
      const kinds = ASKED_STATUSES.map((wanted) => transition(standing, wanted).kind);
      expect(kinds.includes("terminate")).toBe(!hasEnded(status) && status !== "pending");
    }
  });
});
