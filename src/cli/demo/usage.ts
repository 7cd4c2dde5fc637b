// What customers of the demo use on a day, as usage events.

import type { UsageEventInput } from "../../client/types.ts";
import { randomOf } from "./random.ts";
import type { Story } from "./stories.ts";

const REGIONS = ["us", "eu", "apac"] as const;
const EU = "DE NL SE GR FR UA ES IE IT PL CZ EE HU RO CH NO GB MA TR".split(" ");
const APAC = "JP CN KR AU NZ IN VN AE".split(" ");

function regionOf(country: string | undefined): (typeof REGIONS)[number] {
  if (EU.includes(country ?? "")) return "eu";
  return APAC.includes(country ?? "") ? "apac" : "us";
}

/** How tokens fall to the models, in percent, and every how many days each is used. */
const SHARES = [
  { model: "nova-mini", percent: 62, every: 1 },
  { model: "nova", percent: 30, every: 2 },
  { model: "nova-max", percent: 8, every: 4 },
] as const;

export type Day = {
  /** YYYY-MM-DD */
  readonly date: string;
  /** Days since the demo's first. */
  readonly index: number;
  /** Months since the demo's first. */
  readonly month: number;
};

/** All events of a day; the same for the same seed, customer and day. */
export function usageOf(story: Story, plan: string, day: Day, seed: number): UsageEventInput[] {
  const { external_id, country } = story.customer;
  const random = randomOf(seed, `${external_id} ${day.date}`);
  const events: UsageEventInput[] = [];
  const send = (code: string, properties: Record<string, unknown>) => {
    const time = `${String(random.int(0, 20)).padStart(2, "0")}:${random.int(10, 59)}:00.000Z`;
    events.push({
      transaction_id: `${external_id}-${day.date}-${events.length + 1}`,
      subscription_id: `ext:${external_id}`,
      code,
      timestamp: `${day.date}T${time}`,
      properties,
    });
  };
  const tokens_k = ordinaryDay(story, day) * (0.7 + 0.6 * random.next());
  for (const { model, percent, every } of SHARES) {
    if (day.index % every !== 0) continue;
    const tokens = Math.round(tokens_k * 10 * percent * every);
    const region = random.chance(0.15) ? random.pick(REGIONS) : regionOf(country);
    send("tokens", { tokens, model, region });
  }
  if (day.index % 3 === 0 && plan !== "annual") {
    send("requests", { count: Math.round(tokens_k * 3.3) });
  }
  const hasImages = /^(team|scale)(-eur)?$/.test(plan);
  if (hasImages && random.chance(0.06)) send("images", { count: random.int(20, 400) });
  const hasStorage = plan.startsWith("scale");
  if (hasStorage && day.date.endsWith("-02")) send("storage", { gigabytes: random.int(8, 40) });
  return events;
}

/** Thousands of tokens: growth by the month, and quiet weekends. */
function ordinaryDay({ tokens_k, growth }: Story, day: Day): number {
  let tokens = tokens_k;
  for (let month = 0; month < day.month; month++) tokens *= 1 + growth / 100;
  const weekday = new Date(`${day.date}T00:00:00Z`).getUTCDay();
  return tokens * (weekday === 0 || weekday === 6 ? 0.4 : 1);
}
