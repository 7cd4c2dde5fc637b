// Warns before a plan changes: which live subscriptions have not the property that a new charge of
// their plan is billed by. Such a subscription is set aside, and nothing is billed of it.

import type { Dues } from "../client/dues.ts";
import type { Plan, Subscription } from "../client/types.ts";
import { decimalFromJson, isNegative } from "../domain/decimal.ts";
import type { FilePlan, ServiceFile } from "../schema/service-file.ts";
import { plural } from "./output.ts";
import type { Present } from "./sync-plan-parts.ts";
import { visible } from "./visible.ts";

export type Unbillable = {
  readonly plan: string;
  readonly property: string;
  readonly subscriptions: number;
  /** Whether there were more subscriptions than were looked at. */
  readonly at_least: boolean;
  readonly examples: readonly string[];
};

const PAGE = 500;
/** How many subscriptions of a plan are looked at. */
const LOOKED_AT = 10_000;
const EXAMPLES = 3;
const SOURCE = "subscription_property.";

export async function findUnbillable(
  dues: Dues,
  project_id: string,
  file: ServiceFile,
  present: Present,
): Promise<Unbillable[]> {
  const found: Unbillable[] = [];
  for (const plan of file.plans ?? []) {
    const before = present.plans.find(({ code }) => code === plan.code);
    if (before === undefined) continue;
    const properties = newProperties(plan, before);
    if (properties.length > 0) found.push(...(await lacking(dues, project_id, before, properties)));
  }
  return found;
}

/** Those that the plan is billed by after the change, and not before. */
function newProperties({ charges = [] }: FilePlan, before: Plan): string[] {
  const named = (all: readonly { readonly quantity_from?: string | null }[]) =>
    all.flatMap(({ quantity_from }) =>
      quantity_from?.startsWith(SOURCE) ? [quantity_from.slice(SOURCE.length)] : [],
    );
  const known = new Set(named(before.charges));
  return [...new Set(named(charges))].filter((name) => !known.has(name));
}

async function lacking(
  dues: Dues,
  project_id: string,
  plan: Plan,
  properties: readonly string[],
): Promise<Unbillable[]> {
  const without = new Map(properties.map((name) => [name, [] as string[]]));
  let seen = 0;
  for await (const each of liveOn(dues, project_id, plan.id)) {
    seen += 1;
    if (seen > LOOKED_AT) break;
    // Prices of its own stay as they are when those of the plan change.
    if (each.overrides?.charges !== undefined) continue;
    const has = JSON.parse(each.properties) as Record<string, unknown>;
    for (const [name, names] of without) {
      if (!isQuantity(Object.hasOwn(has, name) ? has[name] : undefined))
        names.push(each.external_id);
    }
  }
  return [...without].flatMap(([property, names]): Unbillable[] => {
    if (names.length === 0) return [];
    const [at_least, examples] = [seen > LOOKED_AT, names.slice(0, EXAMPLES)];
    return [{ plan: plan.code, property, subscriptions: names.length, at_least, examples }];
  });
}

async function* liveOn(
  dues: Dues,
  project_id: string,
  plan_id: string,
): AsyncGenerator<Subscription> {
  for (const status of ["active", "suspended", "pending"] as const) {
    yield* dues.subscriptions.all({ plan_id, status, limit: PAGE }, { project_id });
  }
}

function isQuantity(value: unknown): boolean {
  const quantity = decimalFromJson(value);
  return quantity !== undefined && !isNegative(quantity);
}

export function unbillableText(found: readonly Unbillable[]): string {
  return found
    .map(({ plan, property, subscriptions, at_least, examples }) => {
      const count = plural(subscriptions, "live subscription");
      const has = subscriptions === 1 ? "has" : "have";
      const names = examples.map(visible).join(", ");
      const more = subscriptions > examples.length ? ", …" : "";
      const set = `dues subscriptions update <subscription> --property ${visible(property)}=5`;
      return [
        `${at_least ? "At least " : ""}${count} of ${visible(plan)} ${has} no property`,
        ` ${visible(property)} and could not be billed: ${names}${more}\n`,
        `  Set it before their next period: ${set}\n`,
      ].join("");
    })
    .join("");
}
