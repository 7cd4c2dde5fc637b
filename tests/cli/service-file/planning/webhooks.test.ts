// What a sync would do about dunning and about webhook endpoints, decided without a server.

import { expect, test } from "vitest";
import { planSync } from "../../../../src/cli/service-file/planning/plan.ts";
import type { Step } from "../../../../src/cli/service-file/planning/steps.ts";
import type { Present } from "../../../../src/cli/service-file/present-state.ts";
import type { ServiceFile } from "../../../../src/schema/service-file.ts";
import { HEAD, NOTHING_PRESENT } from "../../../support/service-files.ts";

const AT = "2026-01-01T00:00:00.000Z";

function stepsOf(file: Partial<ServiceFile>, present: Partial<Present>): Step[] {
  return planSync({ ...HEAD, ...file }, { ...NOTHING_PRESENT, ...present }).steps;
}

function told(steps: readonly Step[]): string[] {
  return steps.map(({ act, section, key, changes }) =>
    [act, section, key, ...changes.map(({ field }) => field)].join(" "),
  );
}

const steps = [
  { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" as const },
  { days_after_due: 14, webhook_event: "subscription.suspend_requested" as const },
];

test("dunning: steps in another order are the same policy", () => {
  const present = { dunning: { enabled: true, steps } };
  const file = { dunning: { enabled: true, steps: steps.toReversed() } };
  expect(told(stepsOf(file, present))).toEqual(["same dunning policy"]);
});

test("dunning: switching it off keeps its steps", () => {
  const present = { dunning: { enabled: true, steps } };
  const [step] = stepsOf({ dunning: { enabled: false } }, present);
  expect(step?.request?.body).toEqual({ enabled: false, steps });
});

const hook = { id: "w1", url: "https://a.test/", events: ["invoice.created"], created_at: AT };

test("an endpoint is matched by its URL and gets its events replaced", () => {
  const file = { webhooks: [{ url: "https://a.test", events: ["addon.applied" as const] }] };
  const [step] = stepsOf(file, { webhooks: [hook] });
  expect(step?.request).toMatchObject({ operation: "updateWebhook", id: "w1" });
});

test("events in another order are the same; another URL is a new endpoint; others stay", () => {
  const both = { ...hook, events: ["addon.applied", "invoice.created"] };
  const events = ["invoice.created" as const, "addon.applied" as const];
  const file = {
    webhooks: [
      { url: "https://a.test/", events },
      { url: "https://b.test/", events },
    ],
  };
  const other = { ...hook, id: "w2", url: "https://c.test/" };
  expect(told(stepsOf(file, { webhooks: [both, other] }))).toEqual([
    "same webhooks https://a.test/",
    "create webhooks https://b.test/ events",
    "left webhooks https://c.test/",
  ]);
});
