// Everything that the end of periods is decided from, in a few statements for any number of
// subscriptions. What only some price lists need is read only for those.

import type { Closing } from "../../domain/closing.ts";
import type { BaseInvoice } from "../../domain/corrections.ts";
import { groupBy } from "../../domain/group-by.ts";
import type { LatePeriod } from "../../domain/late-periods.ts";
import type { NameBook } from "../../domain/names.ts";
import type { PriceLists } from "../../domain/price-lists.ts";
import type { PricedCharge } from "../../domain/pricing.ts";
import type { Exemption } from "../../domain/taxes.ts";
import type { ProjectId } from "../../ids.ts";
import * as names from "../../store/catalog/names.ts";
import * as plans from "../../store/catalog/plans.ts";
import * as priceOverrides from "../../store/catalog/price-overrides.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as closedPeriods from "../../store/subscriptions/closed-periods.ts";
import * as formerProperties from "../../store/subscriptions/former-properties.ts";
import type * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import * as suspensions from "../../store/subscriptions/suspensions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usageSums from "../../store/usage/sums.ts";

type Row = subscriptions.SubscriptionRow;

/** What ends are decided from beside the usage, which may still be moved between periods. */
export type Terms = {
  readonly lists: (subscription_id: string) => PriceLists;
  readonly overrides: ReadonlyMap<string, priceOverrides.OverrideRow[]>;
  readonly names: NameBook;
  readonly suspensions: ReadonlyMap<string, suspensions.SuspensionRow[]>;
  readonly former: ReadonlyMap<string, formerProperties.FormerProperties[]>;
  readonly late: ReadonlyMap<string, closedPeriods.ClosedPeriod[]>;
  readonly invoices: ReadonlyMap<string, closedPeriods.PeriodInvoice>;
  readonly start_invoices: ReadonlyMap<string, BaseInvoice>;
};

export type Usage = ReadonlyMap<string, usageSums.PeriodUsage[]>;

/** `plan_ids` are those that the subscriptions change to, if they do. */
export async function loadTerms(
  db: Queryable,
  project: ProjectId,
  batch: readonly Row[],
  plan_ids: readonly string[] = [],
): Promise<Terms> {
  const ids = batch.map(({ id }) => id);
  const late = await closedPeriods.listLate(db, project, ids);
  const wanted = new Set([...plan_ids, ...[...batch, ...late].map(({ plan_id }) => plan_id)]);
  for (const { scheduled_plan_id: id } of batch) if (id !== null) wanted.add(id);
  const versions = await plans.listVersions(db, project, [...wanted]);
  const overrides = groupBy(
    await loadOverrides(db, project, batch, late, plan_ids.length > 0),
    ({ subscription_id }) => subscription_id,
  );
  const charges = [...versions, ...[...overrides.values()].flat()].flatMap(
    (list) => list.charges ?? [],
  );
  const book = await loadNames(db, project, [...wanted], charges);
  const suspended = await suspensions.list(db, project, ids);
  const former = charges.some(({ price }) => hasHistory(price?.quantity_mode))
    ? await formerProperties.list(db, project, batch)
    : [];
  const invoices = late.length > 0 ? await closedPeriods.listInvoices(db, project, late) : [];
  const byPlan = groupBy(versions, ({ plan_id }) => plan_id);
  const advanced = batch.filter((row) => hasBaseInAdvance(row, byPlan));
  return {
    lists: listsOf(batch, late, byPlan, overrides, plan_ids),
    overrides,
    names: book,
    suspensions: groupBy(suspended, ({ subscription_id }) => subscription_id),
    former: groupBy(former, ({ subscription_id }) => subscription_id),
    late: groupBy(late, ({ subscription_id }) => subscription_id),
    invoices: new Map(invoices.map((invoice) => [periodKey(invoice), invoice])),
    start_invoices: await loadBaseInvoices(db, project, advanced.map(openPeriodRef)),
  };
}

/** A base fee of 0 counts too: beside other lines it was billed, with the taxes of that time. */
function hasBaseInAdvance(
  { plan_id, plan_version }: Row,
  byPlan: ReadonlyMap<string, plans.VersionRow[]>,
): boolean {
  const list = byPlan.get(plan_id)?.find(({ version }) => version === plan_version);
  return list?.base_timing === "advance";
}

/** The invoices that billed the base fees of these periods in advance, with what is left of it. */
async function loadBaseInvoices(
  db: Queryable,
  project: ProjectId,
  periods: readonly usageSums.PeriodRef[],
): Promise<ReadonlyMap<string, BaseInvoice>> {
  if (periods.length === 0) return new Map();
  const started = await closedPeriods.listStartInvoices(db, project, periods);
  const reduced = started.filter(({ has_more }) => has_more);
  const left =
    reduced.length === 0
      ? []
      : await creditNotes.listBaseLeft(db, project, [...new Set(reduced.map(({ id }) => id))]);
  const byPart = new Map(left.map((base) => [`${base.invoice_id} ${base.part_no}`, base]));
  return new Map(
    started.map(({ id, part_no, number, is_voided, ...period }) => {
      const base = byPart.get(`${id} ${part_no}`);
      const left = is_voided ? NOTHING_LEFT : (base ?? null);
      const exemption = base === undefined ? null : exemptionIn(base);
      return [periodKey(period), { number, taxes: base?.taxes ?? [], exemption, left }];
    }),
  );
}

function exemptionIn({ tax_category, tax_reason }: creditNotes.BaseLeft): Exemption | null {
  return tax_category === null || tax_reason === null ? null : { tax_category, tax_reason };
}

const NOTHING_LEFT = { left_cents: 0, taxable_cents: 1 };

function hasHistory(mode: string | undefined): boolean {
  return mode === "prorated" || mode === "max";
}

/** Reads only those of subscriptions that have, or are about to have, prices of their own. */
async function loadOverrides(
  db: Queryable,
  project: ProjectId,
  batch: readonly Row[],
  late: readonly closedPeriods.ClosedPeriod[],
  isChange: boolean,
): Promise<priceOverrides.OverrideRow[]> {
  const ids = new Set(
    batch
      .filter(
        ({ override_no, overrides, scheduled_plan_id }) =>
          isChange || override_no !== null || overrides !== null || scheduled_plan_id !== null,
      )
      .map(({ id }) => id),
  );
  for (const { override_no, subscription_id } of late) {
    if (override_no !== null) ids.add(subscription_id);
  }
  return ids.size === 0 ? [] : priceOverrides.list(db, project, [...ids]);
}

export function loadNames(
  db: Queryable,
  project: ProjectId,
  plan_ids: readonly string[],
  charges: readonly PricedCharge[],
): Promise<NameBook> {
  const unnamed = charges.filter(({ name }) => name === null || name === undefined);
  return names.getBook(db, project, {
    plan_ids,
    metric_ids: [...new Set(unnamed.flatMap(({ metric_id }) => metric_id ?? []))],
    item_codes: [...new Set(unnamed.flatMap(({ catalog_item_code }) => catalog_item_code ?? []))],
  });
}

/** The lists of the plans that each subscription is, was or will be on. */
function listsOf(
  batch: readonly Row[],
  late: readonly closedPeriods.ClosedPeriod[],
  byPlan: ReadonlyMap<string, plans.VersionRow[]>,
  overrides: Terms["overrides"],
  changed_to: readonly string[],
): Terms["lists"] {
  const lateOf = groupBy(late, ({ subscription_id }) => subscription_id);
  const rows = new Map(batch.map((row) => [row.id, row]));
  return (id) => {
    const row = rows.get(id);
    const own = new Set([...changed_to, ...(lateOf.get(id) ?? []).map(({ plan_id }) => plan_id)]);
    if (row !== undefined) own.add(row.plan_id).add(row.scheduled_plan_id ?? row.plan_id);
    return {
      versions: [...own].flatMap((plan_id) => byPlan.get(plan_id) ?? []),
      overrides: overrides.get(id) ?? [],
    };
  };
}

export async function loadUsage(
  db: Queryable,
  project: ProjectId,
  batch: readonly Row[],
  terms: Terms,
): Promise<Usage> {
  const late = [...terms.late.values()].flat();
  const totals = await usageSums.totals(db, project, [...batch.map(openPeriodRef), ...late]);
  return groupBy(totals, periodKey);
}

export function closingOf(
  terms: Terms,
  usage: Usage,
  subscription: Row,
  end: Date,
  settings: Pick<ProjectSettings, "net_payment_days">,
  now: Date,
): Closing {
  const { id, properties } = subscription;
  const late = (terms.late.get(id) ?? []).map(
    (period): LatePeriod => ({
      ...period,
      usage: usage.get(periodKey(period)) ?? [],
      invoice: terms.invoices.get(periodKey(period)),
    }),
  );
  const open = periodKey(openPeriodRef(subscription));
  return {
    subscription,
    end,
    lists: terms.lists(id),
    names: terms.names,
    usage: usage.get(open) ?? [],
    suspensions: terms.suspensions.get(id) ?? [],
    quantities: { former: terms.former.get(id) ?? [], present: properties },
    late,
    base_invoice: terms.start_invoices.get(open) ?? null,
    net_payment_days: settings.net_payment_days,
    now,
  };
}

export function openPeriodRef({ id, period_no }: Row): usageSums.PeriodRef {
  return { subscription_id: id, period_no };
}

function periodKey(period: usageSums.PeriodRef): string {
  return `${period.subscription_id} ${period.period_no}`;
}
