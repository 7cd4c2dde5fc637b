// Finds the project that a file names, and reads its present state from the service.

import type { Dues } from "../../client/dues.ts";
import type {
  AddOn,
  CatalogItem,
  Coupon,
  Metric,
  Plan,
  SetDunningBody,
  Settings,
  Subscription,
  Tax,
} from "../../client/types.ts";
import type { AddressPolicy } from "../../domain/addresses.ts";
import type { ServiceFile } from "../../schema/service-file.ts";
import { CliError } from "../terminal/io.ts";

export type PresentEndpoint = {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly created_at: string;
};

export type PresentDunning = {
  readonly enabled: boolean;
  readonly steps: NonNullable<SetDunningBody["steps"]>;
};

/** Everything a file can declare, as the service has it; archived records too. */
export type Present = {
  readonly settings: Settings;
  readonly taxes: readonly Tax[];
  readonly catalog: readonly CatalogItem[];
  readonly metrics: readonly Metric[];
  readonly addons: readonly AddOn[];
  readonly plans: readonly Plan[];
  readonly coupons: readonly Coupon[];
  readonly dunning: PresentDunning | undefined;
  readonly webhooks: readonly PresentEndpoint[];
  /** Which URLs the service takes, as far as it says so. */
  readonly url_policy?: AddressPolicy;
};

/** The project that the file names, and whether the token may change it. */
export type Target = { readonly id: string; readonly scopes: readonly string[] };

/** The token's organization must be the file's; `only` is the project of --project. */
export async function targetOf(
  dues: Dues,
  { org, workspace, project }: ServiceFile,
  only: string | undefined,
): Promise<Target> {
  const { organization, token } = await dues.getCurrentKey();
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
  if (found !== undefined && only !== undefined && found.id !== only) {
    throw new CliError(
      "usage",
      `The file is for ${workspace}/${project}, and --project names another one.`,
      "Leave --project out: the file says which project it is.",
    );
  }
  if (found !== undefined) return { id: found.id, scopes: token.scopes };
  throw new CliError("failed", `There is no project ${workspace}/${project} in ${org}.`, init);
}

const CHANGES = ["write", "admin", "*"];

/** Refuses before anything is done. */
export function needWrite({ scopes }: Target): void {
  if (scopes.some((scope) => CHANGES.includes(scope))) return;
  throw new CliError(
    "not_allowed",
    `The token may not change anything: it has the scope ${scopes.join(", ")}.`,
    "Nothing was changed. Use a token with the scope write.",
  );
}

/** Reads archived records too: a sync may have to restore one. */
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
    dues.listWebhooks({}, of),
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
    url_policy: webhooks.url_policy,
  };
}

/** The status does not say it: a subscription that has ended may be called suspended. */
export function isRunning({ terminated_at }: Subscription): boolean {
  return terminated_at === null;
}
