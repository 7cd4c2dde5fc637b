// Who does what in the demo's year. The first customers have a story of their own; the others
// come, grow and pay as the seed has it.

import type { CreateCustomerBody } from "../../client/types.ts";
import { type Random, randomOf } from "./random.ts";

/** prompt pays after a week, late when reminded, in_parts in two halves; stops ceases some day. */
export type Payer = "prompt" | "late" | "in_parts" | "stops";

export type Change =
  | { readonly act: "plan"; readonly plan: string; readonly at: "now" | "period_end" }
  | { readonly act: "seats"; readonly seats: number }
  | { readonly act: "add_on" | "one_off" | "suspend" | "terminate" | "cancel" }
  | { readonly act: "credit_part" | "credit_whole" | "void" | "write_off" };

export type Story = {
  readonly customer: CreateCustomerBody;
  readonly plan: string;
  /** The month it comes in, from 0, and the day. */
  readonly joins: { readonly month: number; readonly day: number };
  readonly payer: Payer;
  /** From this month on nothing is paid. */
  readonly stops_at?: number;
  readonly coupon?: string;
  readonly wallet?: { readonly prepaid_cents: number; readonly low_cents: number };
  readonly free_cents?: number;
  /** Its usage of the last days of a month arrives in the next. */
  readonly reports_late?: true;
  readonly seats: number;
  /** Tokens of an ordinary day, in thousands, and what the months add, in percent. */
  readonly tokens_k: number;
  readonly growth: number;
  readonly changes: readonly (Change & { readonly month: number })[];
  /** Why somebody would look at it, where there is a reason. */
  readonly note?: string;
};

type Own = Partial<Omit<Story, "customer">>;

const upgrade = (month: number, plan: string) => ({ month, act: "plan", plan, at: "now" }) as const;
const downgrade = (month: number, plan: string) =>
  ({ month, act: "plan", plan, at: "period_end" }) as const;

const OWN: Readonly<Record<string, Own>> = {
  northwind: {
    plan: "scale",
    payer: "stops",
    stops_at: 8,
    tokens_k: 40_000,
    note: "overdue, in dunning",
  },
  kranich: {
    plan: "team-eur",
    coupon: "launch20",
    tokens_k: 4_000,
    changes: [{ month: 3, act: "seats", seats: 9 }, upgrade(6, "scale-eur")],
    note: "VAT, coupon, upgraded to Scale",
  },
  sakura: { plan: "team-jpy", tokens_k: 6_000, note: "billed in yen" },
  "harbor-legal": {
    plan: "team",
    wallet: { prepaid_cents: 100_000, low_cents: 30_000 },
    tokens_k: 12_000,
    note: "prepaid wallet that tops itself up",
  },
  "atlas-robotics": {
    plan: "scale-eur",
    reports_late: true,
    tokens_k: 30_000,
    note: "reverse charge; late usage is corrected",
  },
  nour: {
    plan: "team",
    changes: [{ month: 4, act: "credit_part" }],
    note: "Arabic; a credit note that was paid back",
  },
  "pine-street": {
    plan: "starter",
    free_cents: 100_000,
    coupon: "startup",
    tokens_k: 3_000,
    changes: [upgrade(5, "team")],
    note: "free credit, then upgraded to Team",
  },
  "open-atlas": { plan: "team", coupon: "nonprofit", payer: "late", note: "exempt; pays late" },
  lyra: {
    plan: "scale-eur",
    changes: [downgrade(7, "team-eur")],
    note: "downgraded to Team",
  },
  shanhai: {
    plan: "annual",
    tokens_k: 25_000,
    changes: [{ month: 2, act: "one_off" }],
    note: "pays by the year, and a one-off invoice",
  },
  meridian: { plan: "team", payer: "in_parts", note: "pays in parts" },
  elpida: {
    plan: "team-eur",
    changes: [{ month: 6, act: "credit_whole" }],
    note: "a credit note that was set off",
  },
  hangang: {
    plan: "starter",
    changes: [upgrade(4, "team"), { month: 5, act: "add_on" }, upgrade(8, "scale")],
    note: "grew from Starter to Scale",
  },
  ofek: { plan: "team", payer: "stops", stops_at: 5, changes: churn(7) },
  brightwater: { plan: "scale", changes: [{ month: 9, act: "suspend" }] },
  mosaique: { plan: "team-eur", changes: [{ month: 3, act: "void" }] },
  granat: { plan: "team-eur", changes: [{ month: 8, act: "cancel" }] },
};

/** Ends without paying the last invoices, which are given up later. */
function churn(month: number) {
  return [
    { month, act: "terminate" },
    { month: month + 2, act: "write_off" },
  ] as const;
}

const PLANS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  USD: ["starter", "starter", "starter", "team", "team", "scale"],
  EUR: ["team-eur", "team-eur", "scale-eur"],
  JPY: ["team-jpy"],
};

export function storiesOf(
  customers: readonly CreateCustomerBody[],
  seed: number,
  months: number,
): Story[] {
  return customers.map((customer) => {
    const random = randomOf(seed, customer.external_id);
    const own = OWN[customer.external_id];
    const common = drawn(customer, random, months, own?.plan);
    if (own === undefined) return common;
    // A story begins with the year, so that all of it happens.
    return { ...common, changes: [], payer: "prompt", joins: { month: 0, day: 1 }, ...own };
  });
}

function drawn(
  customer: CreateCustomerBody,
  random: Random,
  months: number,
  own_plan: string | undefined,
): Story {
  const plan = own_plan ?? random.pick(PLANS[customer.currency ?? "USD"] ?? ["starter"]);
  const month = random.int(0, months - 1);
  const payer = random.pick<Payer>(["prompt", "prompt", "prompt", "prompt", "late", "in_parts"]);
  const seats = random.int(2, 12);
  const isSmall = plan === "starter";
  const changes = [];
  if (isSmall && random.chance(0.3)) {
    changes.push(upgrade(Math.min(month + random.int(2, 6), months - 1), "team"));
  } else if (random.chance(0.3)) {
    const at = Math.min(month + random.int(1, 5), months - 1);
    changes.push({ month: at, act: "seats", seats: seats + random.int(-1, 6) } as const);
  }
  return {
    customer,
    plan,
    payer,
    seats,
    changes,
    joins: { month, day: random.int(1, 14) },
    ...(random.chance(0.2) && plan !== "team-jpy" && { coupon: "launch20" }),
    tokens_k: random.int(1, 4) * (isSmall ? 300 : plan.startsWith("scale") ? 20_000 : 3_000),
    growth: random.int(-2, 12),
  };
}
