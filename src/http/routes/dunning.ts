// The dunning policy.

import { putDunning } from "../../operations/issuing/plan-dunning.ts";
import { Wrapped } from "../../schema/common.ts";
import { Dunning, DunningPut } from "../../schema/dunning.ts";
import { getPolicy } from "../../store/invoices/dunning.ts";
import { type Route, read, write } from "../route.ts";

const tag = "Dunning";

const get = read({
  method: "GET",
  path: "/v1/dunning",
  id: "getDunning",
  tag,
  summary: "The dunning policy",
  description: "Off until it is set.",
  scope: "read",
  project: "required",
  reply: [200, Wrapped("dunning", Dunning)],
  async handle({ db, project }) {
    const { enabled, steps } = await getPolicy(db, project);
    return { dunning: { enabled, steps } };
  },
});

const put = write({
  method: "PUT",
  path: "/v1/dunning",
  id: "setDunning",
  tag,
  summary: "Set the dunning policy",
  description:
    "Each step is sent once per overdue invoice, at most one a day, when the UTC date is the due date plus its days; counted from the day the invoice was due again, or dunning was switched on, where that is later.",
  scope: "write",
  project: "required",
  body: DunningPut,
  reply: [200, Wrapped("dunning", Dunning)],
  example: {
    enabled: true,
    steps: [
      { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
      { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
      { days_after_due: 14, webhook_event: "subscription.suspend_requested" },
      { days_after_due: 30, webhook_event: "subscription.terminate_requested" },
    ],
  },
  async handle({ tx, project, by, body, now }) {
    return { dunning: await putDunning(tx, project, body, by, now) };
  },
});

export const dunningRoutes: Route[] = [get, put];
