// From what a project is to what its file declares: the steps between, in the order of their
// dependencies. Pure: reads no file and calls no server.

import type {
  FileAddOn,
  FileCatalogItem,
  FileDunning,
  FileMetric,
  FileWebhook,
  ServiceFile,
} from "../schema/service-file.ts";
import { parsedUrl } from "../schema/urls.ts";
import { couponSteps, settingsSteps, taxSteps } from "./sync-plan-money.ts";
import {
  changed,
  codeSet,
  created,
  isSame,
  left,
  live,
  type Present,
  type PresentEndpoint,
  refs,
  revived,
  type Step,
  type SyncPlan,
  type TellFault,
} from "./sync-plan-parts.ts";
import { planSteps } from "./sync-plan-plans.ts";

/** Sections that are absent or empty have no steps: nothing is changed and nothing deleted. */
export function planSync(file: ServiceFile, present: Present): SyncPlan {
  const faults: SyncPlan["faults"] = [];
  const tell: TellFault = (path, message, hint) => faults.push({ path, message, hint });
  const known = refs(file, present);
  const steps = [
    ...taxSteps(file.taxes ?? [], present),
    ...settingsSteps(file.settings ?? {}, present, known, tell),
    ...catalogSteps(file.catalog ?? [], present, tell),
    ...metricSteps(file.metrics ?? [], present, tell),
    ...addOnSteps(file.addons ?? [], present, known, tell),
    ...planSteps(file.plans ?? [], present, known, tell),
    ...couponSteps(file.coupons ?? [], present, known, tell),
    ...dunningSteps(file.dunning ?? {}, present),
    ...webhookSteps(file.webhooks ?? [], present),
  ];
  return { steps, faults };
}

function catalogSteps(
  wanted: readonly FileCatalogItem[],
  present: Present,
  tell: TellFault,
): Step[] {
  const steps = wanted.map((item, i): Step => {
    const currency = item.currency ?? "USD";
    const body = { ...item, currency };
    const step = { section: "catalog", key: item.code, reprices: [] } as const;
    const found = present.catalog.find(({ code }) => code === item.code);
    const request = { operation: "upsertCatalogItem", body } as const;
    if (found === undefined) return { ...step, act: "create", changes: created(body), request };
    // Spec gap: metadata that the file leaves out stays as it is.
    const changes = [...revived(found), ...changed(found, body, FIELDS.catalog)];
    const users = present.plans.filter((plan) =>
      plan.charges.some((charge) => charge.catalog_item_code === item.code),
    );
    const other = users.find((plan) => plan.amount_currency !== currency);
    if (other !== undefined) {
      tell(
        ["catalog", i, "currency"],
        `The plan ${other.code} takes this item's price in ${other.amount_currency}.`,
        "Give the item in another currency a code of its own.",
      );
    }
    const priced = live(users).filter((plan) =>
      plan.charges.some(
        (charge) => charge.catalog_item_code === item.code && charge.amount_override_cents === null,
      ),
    );
    const repriced = changes.some(({ field }) => field === "amount_cents");
    const reprices = repriced ? priced.map(({ code }) => code) : [];
    if (changes.length === 0) return { ...step, act: "same", changes };
    return { ...step, act: "change", changes, reprices, request };
  });
  const codes = wanted.map(({ code }) => code);
  return [
    ...steps,
    ...left(
      "catalog",
      codes,
      live(present.catalog).map(({ code }) => code),
    ),
  ];
}

const FIELDS = {
  catalog: ["name", "amount_cents", "currency", "metadata"],
  addon: ["name", "description", "catalog_item_code", "amount_cents", "currency", "tax_codes"],
} as const;

/** What a metric is when its file does not say so. */
const UNSAID = { field_name: null, dimensions: [], weighted_by: null };

function said(value: unknown): string {
  return [value].flat().join(", ") || "none";
}

function metricSteps(wanted: readonly FileMetric[], present: Present, tell: TellFault): Step[] {
  const steps = wanted.map((metric, i): Step => {
    const step = { section: "metrics", key: metric.code, reprices: [] } as const;
    const found = present.metrics.find(({ code }) => code === metric.code);
    if (found === undefined) {
      const request = { operation: "createMetric", body: metric } as const;
      return { ...step, act: "create", changes: created(metric), request };
    }
    if (found.archived_at !== null) {
      tell(["metrics", i, "code"], "This metric is archived.", "Give the new one another code.");
    }
    const counted = changed(found, { ...UNSAID, ...metric }, [
      "aggregation_type",
      ...Object.keys(UNSAID),
    ]);
    for (const { field, from, to } of counted) {
      tell(
        ["metrics", i, field],
        `${field} of a metric never changes (it is ${said(from)}, the file says ${said(to)}).`,
        "Usage was counted by it: declare a metric with a new code, and use that one in the plans.",
      );
    }
    const changes = changed(found, metric, ["name"]);
    if (changes.length === 0) return { ...step, act: "same", changes };
    const body = { name: metric.name };
    return {
      ...step,
      act: "change",
      changes,
      request: { operation: "updateMetric", id: found.id, body },
    };
  });
  const codes = wanted.map(({ code }) => code);
  return [
    ...steps,
    ...left(
      "metrics",
      codes,
      live(present.metrics).map(({ code }) => code),
    ),
  ];
}

function addOnSteps(
  wanted: readonly FileAddOn[],
  present: Present,
  known: ReturnType<typeof refs>,
  tell: TellFault,
): Step[] {
  const steps = wanted.map((addOn, i): Step => {
    const { code, name, catalog_ref, amount_cents } = addOn;
    const found = present.addons.find((each) => each.code === code);
    const item = known.item(catalog_ref, ["addons", i, "catalog_ref"], tell);
    known.taxes(addOn.tax_codes, ["addons", i], tell);
    const tax_codes = codeSet(addOn.tax_codes);
    // Spec gap: a description that the file leaves out stays as it is.
    const description =
      addOn.description === undefined ? (found?.description ?? null) : addOn.description;
    const price =
      catalog_ref === undefined
        ? { ...(amount_cents !== undefined && { amount_cents }), currency: addOn.currency ?? "USD" }
        : { catalog_item_code: catalog_ref };
    const body = { code, name, description, ...price, tax_codes };
    const step = { section: "addons", key: code, reprices: [] } as const;
    const request = { operation: "upsertAddOn", body } as const;
    if (found === undefined) return { ...step, act: "create", changes: created(body), request };
    const now = { catalog_item_code: null, ...(item && priceOf(item)), ...body };
    const before = { ...found, tax_codes: codeSet(found.tax_codes) };
    const shown = changed(before, now, FIELDS.addon);
    // A new price of the item itself is told where the item stands.
    const own = shown.filter(
      ({ field }) =>
        catalog_ref === undefined ||
        !/^(amount_cents|currency)$/.test(field) ||
        found.catalog_item_code !== catalog_ref,
    );
    const changes = [...revived(found), ...own];
    if (changes.length === 0) return { ...step, act: "same", changes };
    return { ...step, act: "change", changes, request };
  });
  const codes = wanted.map(({ code }) => code);
  return [
    ...steps,
    ...left(
      "addons",
      codes,
      live(present.addons).map(({ code }) => code),
    ),
  ];
}

function priceOf(item: { amount_cents: number; currency: string }) {
  return { amount_cents: item.amount_cents, currency: item.currency };
}

function dunningSteps(wanted: FileDunning, present: Present): Step[] {
  if (Object.keys(wanted).length === 0) return [];
  const before = present.dunning ?? { enabled: false, steps: [] };
  const body = { enabled: wanted.enabled ?? false, steps: wanted.steps ?? before.steps };
  const shown = (steps: typeof before.steps) =>
    steps
      .toSorted((a, b) => a.days_after_due - b.days_after_due)
      .map((step) => `${step.days_after_due} d ${step.webhook_event}`);
  const changes = changed(
    { enabled: before.enabled, steps: shown(before.steps) },
    { enabled: body.enabled, steps: shown(body.steps) },
    ["enabled", "steps"],
  );
  const step = { section: "dunning", key: "policy", changes, reprices: [] } as const;
  if (changes.length === 0) return [{ ...step, act: "same" }];
  return [{ ...step, act: "change", request: { operation: "setDunning", body } }];
}

function webhookSteps(wanted: readonly FileWebhook[], present: Present): Step[] {
  const oldest = present.webhooks.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
  const matched = new Set<PresentEndpoint>();
  const steps = wanted.map(({ url, events }): Step => {
    const step = { section: "webhooks", key: url, reprices: [] } as const;
    const found = oldest.find((each) => hrefOf(each.url) === hrefOf(url));
    if (found === undefined) {
      const request = { operation: "createWebhook", body: { url, events } } as const;
      return { ...step, act: "create", changes: created({ events }), request };
    }
    matched.add(found);
    const [from, to] = [found.events.toSorted(), events.toSorted()];
    if (isSame(from, to)) return { ...step, act: "same", changes: [] };
    const request = { operation: "updateWebhook", id: found.id, body: { events } } as const;
    return { ...step, act: "change", changes: [{ field: "events", from, to }], request };
  });
  if (wanted.length === 0) return steps;
  const others = oldest.filter((each) => !matched.has(each));
  return [
    ...steps,
    ...others.map(
      ({ url }): Step => ({
        section: "webhooks",
        key: url,
        act: "left",
        changes: [],
        reprices: [],
      }),
    ),
  ];
}

function hrefOf(url: string): string {
  return parsedUrl(url)?.href ?? url;
}
