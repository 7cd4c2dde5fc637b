// What a plan is made of: the steps, what each sends, and the faults that only the project shows.

import type {
  CreateMetricBody,
  CreatePlanBody,
  CreateWebhookBody,
  SetDunningBody,
  SetSettingsBody,
  UpdateMetricBody,
  UpdatePlanBody,
  UpdateWebhookBody,
  UpsertAddOnBody,
  UpsertCatalogItemBody,
  UpsertCouponBody,
  UpsertTaxBody,
} from "../../../client/types.ts";
import type { ServiceFile } from "../../../schema/service-file.ts";
import type { Path } from "../checking/yaml.ts";
import type { Change } from "../comparing.ts";

export type Section = Exclude<keyof ServiceFile, "version" | "org" | "workspace" | "project">;

/** The bodies of the client's methods that make or replace what has a code of its own. */
export type Puts = {
  readonly setSettings: SetSettingsBody;
  readonly upsertTax: UpsertTaxBody;
  readonly upsertCatalogItem: UpsertCatalogItemBody;
  readonly createMetric: CreateMetricBody;
  readonly upsertAddOn: UpsertAddOnBody;
  readonly createPlan: CreatePlanBody;
  readonly upsertCoupon: UpsertCouponBody;
  readonly setDunning: SetDunningBody;
  readonly createWebhook: CreateWebhookBody;
};

/** The bodies of those that change what an id names. */
export type Updates = {
  readonly updateMetric: UpdateMetricBody;
  readonly updatePlan: UpdatePlanBody;
  readonly updateWebhook: UpdateWebhookBody;
};

export type Put<Name extends keyof Puts = keyof Puts> = {
  [N in Name]: { readonly operation: N; readonly body: Puts[N] };
}[Name];

export type Update<Name extends keyof Updates = keyof Updates> = {
  [N in Name]: { readonly operation: N; readonly id: string; readonly body: Updates[N] };
}[Name];

export type Step = {
  readonly section: Section;
  /** The code, or the URL of an endpoint. */
  readonly key: string;
  /** `left` is there, is not in the file, and stays as it is. */
  readonly act: "create" | "change" | "same" | "left";
  readonly changes: readonly Change[];
  /** Codes of present plans whose price this changes, from periods that start later. */
  readonly reprices: readonly string[];
  readonly request?: Put | Update;
};

export type PlanFault = {
  readonly path: Path;
  readonly message: string;
  readonly hint: string | undefined;
};

export type SyncPlan = { readonly steps: Step[]; readonly faults: PlanFault[] };

export type TellFault = (path: Path, message: string, hint?: string) => void;

/** The step for one entry. `found` is the present record of its code, where there is one. */
export function putStep(
  section: Section,
  key: string,
  found: object | undefined,
  changes: readonly Change[],
  request: Put | Update,
): Step {
  const step = { section, key, changes, reprices: [] };
  if (found === undefined) return { ...step, act: "create", request };
  return changes.length === 0 ? { ...step, act: "same" } : { ...step, act: "change", request };
}

/** What the project has and the file does not name is shown, and left alone. */
export function stepsLeftAlone(
  section: Section,
  wanted: readonly { readonly code: string }[],
  present: readonly { readonly code: string }[],
): Step[] {
  if (wanted.length === 0) return [];
  const codes = wanted.map(({ code }) => code);
  return present
    .map(({ code }) => code)
    .filter((code) => !codes.includes(code))
    .toSorted()
    .map((key) => ({ section, key, act: "left", changes: [], reprices: [] }));
}
