// Warns before a plan changes: which live subscriptions have not the property that a new charge of
// their plan is billed by. Such a subscription is set aside, and nothing is billed of it.

import type { Dues } from "../../client/dues.ts";
import type { Plan, Subscription } from "../../client/types.ts";
import { decimalFromJson, isNegative } from "../../domain/decimal.ts";
import type { FilePlan, ServiceFile } from "../../schema/service-file.ts";
import { plural } from "../terminal/output.ts";
import { visible } from "../terminal/visible.ts";
import { isRunning, type Present } from "./present-state.ts";

/** A property that a plan is billed by, and the subscriptions that have none. */
export type MissingProperty = {
  readonly plan: string;
  readonly property: string;
  readonly subscriptions: number;
  /** Whether there were more subscriptions than were looked at. */
  readonly at_least: boolean;
  /** The first of them by their external ids. */
  readonly examples: readonly string[];
};

const PAGE = 500;
/** How many subscriptions of a plan are looked at. */
const LOOKED_AT = 10_000;
const EXAMPLES = 3;
const SOURCE = "subscription_property.";

export async function missingProperties(
  dues: Dues,
  project_id: string,
  wanted: ServiceFile,
  present: Present,
): Promise<MissingProperty[]> {
  const found: MissingProperty[] = [];
  for (const plan of wanted.plans ?? []) {
    const before = present.plans.find(({ code }) => code === plan.code);
    if (before === undefined) continue;
    const properties = newProperties(plan, before);
    if (properties.length > 0)
      found.push(...(await missingOf(dues, project_id, before, properties)));
  }
  return found;
}

/** The properties that the plan is billed by after the change, and not before. */
function newProperties({ charges = [] }: FilePlan, before: Plan): string[] {
  const known = new Set(propertiesOf(before.charges));
  return [...new Set(propertiesOf(charges))].filter((property) => !known.has(property));
}

function propertiesOf(charges: readonly { readonly quantity_from?: string | null }[]): string[] {
  return charges.flatMap(({ quantity_from }) =>
    quantity_from?.startsWith(SOURCE) ? [quantity_from.slice(SOURCE.length)] : [],
  );
}

async function missingOf(
  dues: Dues,
  project_id: string,
  plan: Plan,
  properties: readonly string[],
): Promise<MissingProperty[]> {
  const ids = new Map(properties.map((property) => [property, [] as string[]]));
  let seen = 0;
  for await (const subscription of runningOn(dues, project_id, plan.id)) {
    seen += 1;
    if (seen > LOOKED_AT) break;
    // Prices of its own stay as they are when those of the plan change.
    if (subscription.overrides?.charges !== undefined) continue;
    const has = JSON.parse(subscription.properties) as Record<string, unknown>;
    for (const [property, without] of ids) {
      const value = Object.hasOwn(has, property) ? has[property] : undefined;
      if (!isQuantity(value)) without.push(subscription.external_id);
    }
  }
  const at_least = seen > LOOKED_AT;
  return [...ids].flatMap(([property, without]): MissingProperty[] => {
    if (without.length === 0) return [];
    const examples = without.slice(0, EXAMPLES);
    return [{ plan: plan.code, property, subscriptions: without.length, at_least, examples }];
  });
}

async function* runningOn(
  dues: Dues,
  project_id: string,
  plan_id: string,
): AsyncGenerator<Subscription> {
  for (const status of ["active", "suspended", "pending"] as const) {
    const found = dues.subscriptions.all({ plan_id, status, limit: PAGE }, { project_id });
    for await (const each of found) if (isRunning(each)) yield each;
  }
}

function isQuantity(value: unknown): boolean {
  const quantity = decimalFromJson(value);
  return quantity !== undefined && !isNegative(quantity);
}

export function missingText(found: readonly MissingProperty[]): string {
  return found
    .map(({ plan, property, subscriptions, at_least, examples }) => {
      const count = plural(subscriptions, "live subscription");
      const has = subscriptions === 1 ? "has" : "have";
      const ids = examples.map(visible).join(", ");
      const more = subscriptions > examples.length ? ", …" : "";
      const set = `dues subscriptions update <subscription> --property ${visible(property)}=5`;
      return [
        `${at_least ? "At least " : ""}${count} of ${visible(plan)} ${has} no property`,
        ` ${visible(property)} and could not be billed: ${ids}${more}\n`,
        `  Set it before their next period: ${set}\n`,
      ].join("");
    })
    .join("");
}
