// From what a project is to what its file declares: the steps between, in the order of their
// dependencies. Pure: reads no file and calls no server.

import type { ServiceFile } from "../../../schema/service-file.ts";
import type { Present } from "../present-state.ts";
import { addOnSteps, itemSteps, metricSteps } from "./catalog.ts";
import { couponSteps, settingsSteps, taxSteps } from "./money.ts";
import { planSteps } from "./plans.ts";
import { References } from "./references.ts";
import type { SyncPlan, TellFault } from "./steps.ts";
import { dunningSteps, webhookSteps } from "./webhooks.ts";

/** Sections that are absent or empty have no steps: nothing is changed and nothing deleted. */
export function planSync(wanted: ServiceFile, present: Present): SyncPlan {
  const faults: SyncPlan["faults"] = [];
  const tell: TellFault = (path, message, hint) => faults.push({ path, message, hint });
  const references = new References(wanted, present, tell);
  const steps = [
    ...taxSteps(wanted.taxes ?? [], present),
    ...settingsSteps(wanted.settings ?? {}, present, references, tell),
    ...itemSteps(wanted.catalog ?? [], present, tell),
    ...metricSteps(wanted.metrics ?? [], present, tell),
    ...addOnSteps(wanted.addons ?? [], present, references),
    ...planSteps(wanted.plans ?? [], present, references, tell),
    ...couponSteps(wanted.coupons ?? [], present, references),
    ...dunningSteps(wanted.dunning ?? {}, present),
    ...webhookSteps(wanted.webhooks ?? [], present, tell),
  ];
  return { steps, faults };
}
