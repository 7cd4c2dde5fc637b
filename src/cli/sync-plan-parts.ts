// What a sync is made of: the present state, steps, changes, and references by code.

import type {
  AddOn,
  CatalogItem,
  Coupon,
  CreateMetricBody,
  CreatePlanBody,
  CreateWebhookBody,
  Metric,
  Plan,
  SetDunningBody,
  SetSettingsBody,
  Settings,
  Tax,
  UpdateMetricBody,
  UpdatePlanBody,
  UpdateWebhookBody,
  UpsertAddOnBody,
  UpsertCatalogItemBody,
  UpsertCouponBody,
  UpsertTaxBody,
} from "../client/types.ts";
import { canonicalJson } from "../schema/canonical-json.ts";
import { nearest } from "../schema/nearest.ts";
import type { ServiceFile } from "../schema/service-file.ts";

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

/** What the server has, archived records too. */
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
};

export type Section = Exclude<keyof ServiceFile, "version" | "org" | "workspace" | "project">;

export type Change = { readonly field: string; readonly from: unknown; readonly to: unknown };

type Body = Readonly<Record<string, unknown>>;

/** What one step sends. Each operation has the body that the client takes for it. */
export type Request =
  | { readonly operation: "setSettings"; readonly body: SetSettingsBody }
  | { readonly operation: "upsertTax"; readonly body: UpsertTaxBody }
  | { readonly operation: "upsertCatalogItem"; readonly body: UpsertCatalogItemBody }
  | { readonly operation: "createMetric"; readonly body: CreateMetricBody }
  | { readonly operation: "upsertAddOn"; readonly body: UpsertAddOnBody }
  | { readonly operation: "createPlan"; readonly body: CreatePlanBody }
  | { readonly operation: "upsertCoupon"; readonly body: UpsertCouponBody }
  | { readonly operation: "setDunning"; readonly body: SetDunningBody }
  | { readonly operation: "createWebhook"; readonly body: CreateWebhookBody }
  | { readonly operation: "updateMetric"; readonly id: string; readonly body: UpdateMetricBody }
  | { readonly operation: "updatePlan"; readonly id: string; readonly body: UpdatePlanBody }
  | { readonly operation: "updateWebhook"; readonly id: string; readonly body: UpdateWebhookBody };

export type Step = {
  readonly section: Section;
  /** The code, or the URL of an endpoint. */
  readonly key: string;
  /** `left` is there, is not in the file, and stays as it is. */
  readonly act: "create" | "change" | "same" | "left";
  readonly changes: readonly Change[];
  /** Codes of present plans whose price this changes, from periods that start later. */
  readonly reprices: readonly string[];
  readonly request?: Request;
};

export type PlanFault = {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly hint: string | undefined;
};

export type SyncPlan = { readonly steps: Step[]; readonly faults: PlanFault[] };

export type TellFault = (path: PlanFault["path"], message: string, hint?: string) => void;

/** Compares the named fields; what `to` does not mention is not compared. */
export function changed(from: object, to: object, fields: readonly string[]): Change[] {
  const [before, after] = [from as Body, to as Body];
  return fields
    .filter((field) => after[field] !== undefined && !isSame(before[field], after[field]))
    .map((field) => ({ field, from: before[field], to: after[field] }));
}

/** What the project has and the file does not name: shown, and left alone. */
export function left(section: Section, wanted: readonly string[], keys: readonly string[]): Step[] {
  if (wanted.length === 0) return [];
  return keys
    .filter((key) => !wanted.includes(key))
    .toSorted()
    .map((key) => ({ section, key, act: "left", changes: [], reprices: [] }));
}

export function live<T extends { readonly archived_at: string | null }>(list: readonly T[]): T[] {
  return list.filter(({ archived_at }) => archived_at === null);
}

export function revived(record: { readonly archived_at: string | null }): Change[] {
  return record.archived_at === null ? [] : [{ field: "archived", from: true, to: false }];
}

/** What is shown of something new: what its file entry says. */
export function created(body: object): Change[] {
  return Object.entries(body)
    .filter(([field, value]) => field !== "code" && value !== undefined && value !== null)
    .map(([field, to]) => ({ field, from: undefined, to }));
}

/** Codes are a set, whatever their order; null says nothing. */
export function codeSet(codes: readonly string[] | null | undefined): readonly string[] | null {
  return codes?.toSorted() ?? null;
}

/** As JSON, whatever the order of keys. */
export function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

export type PricedItem = {
  readonly code: string;
  readonly amount_cents: number;
  readonly currency: string;
};

type Measured = { readonly dimensions?: readonly string[] };

/** Finds what entries refer to: in the file first, then on the server. */
export function refs(file: ServiceFile, present: Present) {
  const items = new Map<string, PricedItem>();
  for (const item of present.catalog) if (item.archived_at === null) items.set(item.code, item);
  for (const item of file.catalog ?? []) items.set(item.code, { currency: "USD", ...item });
  const metrics = new Map<string, Measured>();
  for (const metric of [...live(present.metrics), ...(file.metrics ?? [])]) {
    metrics.set(metric.code, metric);
  }
  const codesOf = (...lists: readonly { readonly code: string }[][]) => [
    ...new Set(lists.flat().map(({ code }) => code)),
  ];
  const taxes = codesOf(live(present.taxes), file.taxes ?? []);
  const plans = codesOf(live(present.plans), file.plans ?? []);
  const unknown = (what: string, code: string, known: readonly string[]) => {
    const near = nearest(code, known);
    const hint = near === undefined ? "Declare it in the file." : `Did you mean ${near}?`;
    return [`There is no ${what} ${code}, neither in the file nor in the project.`, hint] as const;
  };
  return {
    item(code: string | undefined, path: PlanFault["path"], tell: TellFault) {
      if (code === undefined) return undefined;
      const found = items.get(code);
      if (found === undefined) tell(path, ...unknown("catalog item", code, [...items.keys()]));
      return found;
    },
    metric(code: string, path: PlanFault["path"], tell: TellFault) {
      const found = metrics.get(code);
      if (found === undefined) tell(path, ...unknown("metric", code, [...metrics.keys()]));
      return found;
    },
    plan(code: string, path: PlanFault["path"], tell: TellFault) {
      if (!plans.includes(code)) tell(path, ...unknown("plan", code, plans));
    },
    taxes(codes: readonly string[] | null | undefined, at: PlanFault["path"], tell: TellFault) {
      for (const [i, code] of (codes ?? []).entries()) {
        const path = [...at, "tax_codes", i];
        if (!taxes.includes(code)) tell(path, ...unknown("tax", code, taxes));
      }
    },
  };
}
