// The analytics of a project.

import { readAnalytics } from "../../operations/portal/read-analytics.ts";
import { Analytics } from "../../schema/analytics.ts";
import { type Route, read } from "../route.ts";

const get = read({
  method: "GET",
  path: "/v1/analytics",
  id: "getAnalytics",
  errors: ["limit_exceeded"],
  tag: "Analytics",
  summary: "Subscriptions, MRR, what is due and what came in",
  description: "Amounts are in the project's default currency; by_currency has the others.",
  scope: "read",
  project: "required",
  reply: [200, Analytics],
  async handle({ db, settings, now }) {
    return db.snapshot((tx) => readAnalytics(tx, settings, now));
  },
});

export const analyticsRoutes: Route[] = [get];
