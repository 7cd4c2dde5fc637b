// Finds the project that a file names, and reads its present state from the service.

import type { Dues } from "../client/dues.ts";
import type { Subscription } from "../client/types.ts";
import type { ServiceFile } from "../schema/service-file.ts";
import { CliError } from "./io.ts";
import type { Present } from "./sync-plan-parts.ts";

/** The id of the project that the file names; the token's organization must be the file's. */
export async function projectOf(dues: Dues, file: ServiceFile): Promise<string> {
  const { org, workspace, project } = file;
  const { organization } = await dues.getCurrentKey();
  const init = `dues init --org ${org} --workspace ${workspace} --project ${project} makes it.`;
  if (organization.slug !== org) {
    throw new CliError(
      "failed",
      `The file is for the organization ${org}, the token is of ${organization.slug}.`,
      `Use a token of ${org}. If there is no such organization yet: ${init}`,
    );
  }
  const { projects } = await dues.listProjects({ workspace, slug: project });
  const [found] = projects;
  if (found !== undefined) return found.id;
  throw new CliError("failed", `There is no project ${workspace}/${project} in ${org}.`, init);
}

/** Everything a file can declare, with archived records: a sync may have to restore one. */
export async function presentState(dues: Dues, project_id: string): Promise<Present> {
  const of = { project_id };
  const [settings, taxes, coupons] = await Promise.all([
    dues.getSettings(of),
    dues.listTaxes({ archived: "1" }, of),
    dues.listCoupons({ archived: "1" }, of),
  ]);
  const [catalog, metrics, addons, plans, dunning, webhooks] = await Promise.all([
    dues.listCatalogItems({ archived: "1" }, of),
    dues.listMetrics({ archived: "1" }, of),
    dues.listAddOns({ archived: "1" }, of),
    dues.listPlans({ archived: "1" }, of),
    dues.getDunning(of),
    dues.listWebhooks(of),
  ]);
  return {
    settings: settings.settings,
    taxes: taxes.taxes,
    coupons: coupons.coupons,
    catalog: catalog.catalog_items,
    metrics: metrics.metrics,
    addons: addons.add_ons,
    plans: plans.plans,
    dunning: dunning.dunning,
    webhooks: webhooks.webhook_endpoints,
  };
}

export type LivePlan = {
  readonly code: string;
  readonly subscriptions: number;
  /** When the first period that pays the new price begins, of those that were looked at. */
  readonly from: string;
  /** Whether all that were looked at pay it from then on. */
  readonly together: boolean;
};

/** How many subscriptions of a plan and status are looked at for the start of their next period. */
const LOOKED_AT = 100;

/** Those of the plans with these codes that have live subscriptions. */
export async function livePlans(
  dues: Dues,
  project_id: string,
  present: Present,
  codes: ReadonlySet<string>,
): Promise<LivePlan[]> {
  const found: LivePlan[] = [];
  for (const plan of present.plans) {
    if (plan.archived_at !== null || !codes.has(plan.code)) continue;
    let subscriptions = 0;
    const starts = new Set<string>();
    for (const status of ["active", "suspended", "pending"] as const) {
      const query = { plan_id: plan.id, status, limit: LOOKED_AT, count: "1" } as const;
      const page = await dues.listSubscriptions(query, { project_id });
      subscriptions += page.total_count ?? 0;
      for (const each of page.subscriptions) starts.add(nextStart(each));
    }
    const [from = ""] = [...starts].toSorted();
    const together = starts.size === 1;
    if (subscriptions > 0) found.push({ code: plan.code, subscriptions, from, together });
  }
  return found;
}

/** The day on which the period after the open one begins; of one that is pending, its first. */
function nextStart(subscription: Subscription): string {
  const { status, current_period_start, current_period_end } = subscription;
  // current_period_end is the last millisecond of the period.
  const next = new Date(new Date(current_period_end).getTime() + 1).toISOString();
  return (status === "pending" ? current_period_start : next).slice(0, 10);
}
