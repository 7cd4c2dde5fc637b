// Prices that a sync changes and somebody pays: live subscriptions of the plan, or those whose own
// charges take an item's price.

import type { Dues } from "../../client/dues.ts";
import type { ListSubscriptionsReply, Subscription } from "../../client/types.ts";
import type { FileCatalogItem } from "../../schema/service-file.ts";
import type { PlanFault, Step } from "./planning/steps.ts";
import { isRunning, type Present } from "./present-state.ts";

/** The new price of one plan or item, and who will pay it. */
export type PaidPrice = {
  readonly code: string;
  readonly subscriptions: number;
  /** Whether there are more than were counted. */
  readonly more: boolean;
  /** When the first period that pays the new price begins, of those that were looked at. */
  readonly from: string;
  /** Whether all that were looked at pay it from then on. */
  readonly together: boolean;
};

export type PaidPrices = {
  readonly plans: readonly PaidPrice[];
  /** Items that subscriptions pay by charges of their own. */
  readonly items: readonly PaidPrice[];
};

/** How many subscriptions of one status are looked at for the start of their next period. */
const LOOKED_AT = 100;

export async function paidPrices(
  dues: Dues,
  project_id: string,
  present: Present,
  todo: readonly Step[],
): Promise<PaidPrices> {
  const codes = new Set(todo.flatMap((step) => step.reprices));
  const items = todo.filter(
    ({ section, act, changes }) =>
      section === "catalog" &&
      act === "change" &&
      changes.some(({ field }) => field === "amount_cents"),
  );
  const found = { plans: [] as PaidPrice[], items: [] as PaidPrice[] };
  // Archived plans too: suspended subscriptions may be on them, and come back.
  for (const plan of present.plans.filter(({ code }) => codes.has(code))) {
    const count = new Count();
    for (const status of ["active", "suspended", "pending"] as const) {
      const query = { plan_id: plan.id, status, limit: LOOKED_AT, count: "1" } as const;
      count.add(await dues.listSubscriptions(query, { project_id }), isRunning);
    }
    found.plans.push(...count.priceOf(plan.code));
  }
  for (const { key: code } of items) {
    const query = { catalog_item_code: code, limit: LOOKED_AT, count: "1" } as const;
    const count = new Count();
    count.add(await dues.listSubscriptions(query, { project_id }), (one) => takesPrice(one, code));
    found.items.push(...count.priceOf(code));
  }
  return found;
}

type Page = Pick<ListSubscriptionsReply, "subscriptions" | "total_count" | "total_at_least">;

class Count {
  #subscriptions = 0;
  #more = false;
  readonly #starts = new Set<string>();

  add(page: Page, counts: (one: Subscription) => boolean): void {
    const { subscriptions, total_count, total_at_least = 0 } = page;
    const counted = subscriptions.filter(counts);
    this.#more ||= total_count === null;
    this.#subscriptions += (total_count ?? total_at_least) - subscriptions.length + counted.length;
    for (const each of counted) this.#starts.add(nextStart(each));
  }

  priceOf(code: string): PaidPrice[] {
    if (this.#subscriptions === 0) return [];
    const [from = ""] = [...this.#starts].toSorted();
    const together = this.#starts.size === 1;
    return [{ code, subscriptions: this.#subscriptions, more: this.#more, from, together }];
  }
}

type OwnCharge = {
  readonly catalog_item_code?: string | null;
  readonly amount_override_cents?: number | null;
};

/** Whether it has a charge that takes the item's price, and not an amount of its own. */
function takesPrice({ overrides }: Subscription, code: string): boolean {
  const charges = (overrides?.charges ?? []) as readonly OwnCharge[];
  return charges.some(
    (charge) =>
      charge.catalog_item_code === code && (charge.amount_override_cents ?? null) === null,
  );
}

/** The day on which the period after the open one begins, or the first one while it is pending. */
function nextStart(subscription: Subscription): string {
  const { status, current_period_start, current_period_end } = subscription;
  // current_period_end is the last millisecond of the period.
  const next = new Date(new Date(current_period_end).getTime() + 1).toISOString();
  return (status === "pending" ? current_period_start : next).slice(0, 10);
}

/** An item keeps its currency while live subscriptions in another one are billed by it. */
export async function currencyFaults(
  dues: Dues,
  project_id: string,
  present: Present,
  wanted: readonly FileCatalogItem[],
): Promise<PlanFault[]> {
  const faults: PlanFault[] = [];
  for (const [i, { code, currency = "USD" }] of wanted.entries()) {
    const before = present.catalog.find((item) => item.code === code);
    if (before === undefined || before.currency === currency) continue;
    const filters = { catalog_item_code: code };
    for await (const { plan_id, external_id } of dues.subscriptions.all(filters, { project_id })) {
      const plan = present.plans.find(({ id }) => id === plan_id);
      if (plan === undefined || plan.amount_currency === currency) continue;
      faults.push({
        path: ["catalog", i, "currency"],
        message: `The subscription ${external_id} takes this item's price in ${plan.amount_currency}.`,
        hint: "Give the item in another currency a code of its own.",
      });
      break;
    }
  }
  return faults;
}
