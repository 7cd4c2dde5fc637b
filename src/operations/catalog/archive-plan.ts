// Archives a plan, unless it has active subscriptions.

import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import * as plans from "../../store/catalog/plans.ts";
import type { Tx } from "../../store/db/db.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import { type By, emit } from "../emit.ts";

export async function archivePlan(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
  by: By,
  now: Date,
): Promise<void> {
  // Starting a subscription locks the plan shared: it is counted here, or finds the plan archived.
  const [plan] = await plans.lock(tx, project, [plan_id]);
  if (plan === undefined) throw notFound("plan");
  if (plan.archived_at !== null) return;
  if (await subscriptions.hasActive(tx, project, plan_id)) {
    throw refuse(
      "has_active_subscriptions",
      "The plan has active subscriptions. Terminate them before archiving it.",
    );
  }
  await plans.archive(tx, project, plan_id, now);
  const payload = { code: plan.code };
  await emit(tx, project, [{ type: "plan.archived", resource_id: plan_id, payload }], by, now);
}
