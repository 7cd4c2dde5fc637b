// Books that the version before pricing (schema 15) wrote, and what it then billed. `begin` makes
// them and `goOn` lives on with them, by calls that both versions know. former-books.json has what
// that version made of both: to write it anew, run `record` on an app of that version (its tests
// have the same `startApp`), with the clock of its sandbox frozen nowhere yet.

import type { Pool } from "../../src/store/db.ts";
import { sql } from "../../src/store/sql.ts";
import type { App, Body, Json } from "./app.ts";

export const FORMER_SCHEMA = 15;

type Rows = Readonly<Record<string, readonly Json[]>>;
export type FormerBooks = {
  readonly project_id: string;
  readonly token_id: string;
  /** Every row of every table, in the order in which they can be written. */
  readonly rows: Rows;
  /** Before anything else happens. */
  readonly told: Json;
  /** The invoices that `goOn` makes. */
  readonly billed: Json;
};

/** Words that mean something today and meant nothing then. */
const PROPERTIES: Body = {
  free_units: "1000",
  minimum_cents: 99_999,
  tiers: [{ up_to: null, amount: "9" }],
  package_size: 5,
  percent: "50",
  fixed_amount: "1",
  free_events: 3,
  prices: [{ match: { region: "eu" }, amount: "7" }],
  dimensions: "3 x 4 cm",
  match: "none",
};

const METRICS: Readonly<Record<string, string>> = {
  calls: "sum",
  users: "count_unique",
  peak: "max",
  gauge: "latest",
  hits: "count",
};

function perUnit(code: string, amount: string, more: Body = {}): Body {
  const properties = { amount, ...more };
  return { charge_model: "standard", billable_metric_code: code, properties };
}

const SEATS = { quantity_from: "subscription_property.seats" };

function flat(fields: Body): Body {
  return { charge_model: "flat_fee", ...fields };
}

const PLANS: readonly Body[] = [
  {
    ...{ code: "pro", interval: "monthly", amount_cents: 3_000, amount_currency: "USD" },
    charges: [
      perUnit("calls", "0.013", PROPERTIES),
      perUnit("users", "2", { quantity_mode: "max" }),
      flat({ catalog_item_code: "seat", ...SEATS, properties: { quantity_mode: "prorated" } }),
      flat({ amount_override_cents: 700, invoice_timing: "advance", properties: PROPERTIES }),
      flat({ amount_override_cents: 1_500, invoice_timing: "immediate" }),
    ],
  },
  {
    ...{ code: "weekly", interval: "weekly", amount_cents: 0, amount_currency: "KWD" },
    charges: [perUnit("peak", "0.0015"), perUnit("hits", "0.333", PROPERTIES)],
  },
  {
    ...{ code: "yearly", interval: "yearly", amount_cents: 36_500, amount_currency: "JPY" },
    charges: [perUnit("gauge", "3.5")],
  },
];

/** By external_id: the plan, and the seats. */
const SUBSCRIPTIONS: Readonly<Record<string, readonly [plan: string, seats: number]>> = {
  plain: ["pro", 3],
  late: ["pro", 1],
  paused: ["pro", 2],
  resumed: ["pro", 2],
  ended: ["pro", 4],
  canceled: ["pro", 1],
  returned: ["pro", 1],
  aside: ["pro", 1],
  below: ["pro", 1],
  weekly: ["weekly", 1],
  yearly: ["yearly", 1],
};

const path = (name: string) => `/v1/subscriptions/ext:${name}`;

async function use(app: App, name: string, timestamp: string, units: Body): Promise<void> {
  const events = Object.entries(units).map(([code, n]) => ({
    transaction_id: `${name} ${code} ${timestamp}`,
    subscription_id: `ext:${name}`,
    code,
    timestamp: `2026-${timestamp}:00.000Z`,
    properties: { n: String(n) },
  }));
  await app.post("/v1/events/batch", { events });
}

async function useAll(app: App, timestamp: string, names: readonly string[]): Promise<void> {
  for (const [i, name] of names.entries()) {
    const units: Record<string, Body> = {
      pro: { calls: 101.5 + 7 * i, users: `u${i % 3}` },
      weekly: { peak: 40 + i, hits: 1 },
      yearly: { gauge: 11 * i },
    };
    await use(app, name, timestamp, units[SUBSCRIPTIONS[name]?.[0] ?? ""] ?? {});
  }
}

/** Open periods, fees in advance, late usage that waits, suspended, ended and set-aside ones. */
export async function begin(app: App): Promise<void> {
  await app.freeze("2026-01-05T08:30:00.000Z");
  for (const [code, aggregation_type] of Object.entries(METRICS)) {
    await app.post("/v1/metrics", { code, name: code, aggregation_type, field_name: "n" });
  }
  const seat = { code: "seat", name: "Seat", amount_cents: 310, currency: "USD" };
  await app.post("/v1/catalog", seat);
  const plans = new Map<string, string>();
  for (const plan of PLANS) {
    const made = await app.post("/v1/plans", { name: plan.code, ...plan });
    plans.set(String(plan.code), made.plan.id);
  }
  for (const [external_id, [plan, seats]] of Object.entries(SUBSCRIPTIONS)) {
    const named = { name: external_id, email: `${external_id}@example.com` };
    const { customer } = await app.post("/v1/customers", { external_id, ...named });
    const of = { customer_id: customer.id, plan_id: plans.get(plan), properties: { seats } };
    await app.post("/v1/subscriptions", { external_id, ...of });
  }
  const names = Object.keys(SUBSCRIPTIONS);
  await useAll(app, "01-05T09:00", names);
  await app.travelTo("2026-01-20T10:00:00.000Z");
  await app.post(`${path("resumed")}/suspend`);
  await useAll(app, "01-20T09:00", names);
  await app.travelTo("2026-02-10T10:00:00.000Z");
  await app.patch(path("resumed"), { status: "active" });
  await app.post(`${path("returned")}/terminate`, {});
  await app.patch(path("canceled"), { status: "canceled" });
  await useAll(app, "02-09T23:00", names);
  await app.travelTo("2026-02-20T10:00:00.000Z");
  await app.patch(path("returned"), { status: "active" });
  await app.travelTo("2026-03-03T10:00:00.000Z");
  await app.post(`${path("paused")}/suspend`);
  await useAll(app, "03-02T23:30", ["plain", "late", "paused", "weekly", "yearly"]);
  await app.post(`${path("ended")}/terminate`, {});
  await setOneAside(app);
  await use(app, "late", "03-11T00:00", { calls: 33.3, users: "u9" });
  await use(app, "below", "02-09T23:10", { calls: -500 });
  await use(app, "ended", "03-01T00:00", { calls: 20 });
}

/** What a close of one without a readable quantity leaves behind. */
async function setOneAside(app: App): Promise<void> {
  const { db } = app.context;
  await db.run(sql`
    update subscriptions
       set properties = '{"seats": "many"}'
     where project_id = ${app.profile.project_id} and external_id = 'aside'`);
  await app.travelTo("2026-04-01T12:00:00.000Z");
}

/** Life goes on: usage, late and not, returns, ends, a mended quantity, other prices. */
export async function goOn(app: App): Promise<void> {
  await app.patch(path("aside"), { properties: { seats: 6 } });
  await app.context.db.run(sql`
    update subscriptions
       set set_aside_until = statement_timestamp()
     where project_id = ${app.profile.project_id} and external_id = 'aside'`);
  await use(app, "plain", "03-30T00:00", { calls: 7, users: "u7" });
  await useAll(app, "04-01T11:00", ["plain", "late", "paused", "resumed", "weekly", "yearly"]);
  await app.travelTo("2026-04-10T00:00:00.000Z");
  await app.patch(path("paused"), { status: "active" });
  const { plans } = await app.get("/v1/plans");
  const pro = plans.find((plan: Json) => plan.code === "pro");
  await app.patch(`/v1/plans/${pro.id}`, { amount_cents: 6_000 });
  await app.patch(path("plain"), { properties: { seats: 5 } });
  await app.post(`${path("late")}/terminate`, {});
  await use(app, "late", "04-02T00:00", { calls: 90 });
  await app.travelTo("2026-06-02T00:00:00.000Z");
  await use(app, "plain", "05-30T00:00", { calls: 2_000 });
  await app.post(`${path("yearly")}/terminate`, {});
  await app.post(`${path("plain")}/terminate`, {});
}

/** Figures of running periods, as callers see them. */
export async function tell(app: App): Promise<Json> {
  const told: Record<string, Json> = {};
  for (const name of Object.keys(SUBSCRIPTIONS)) {
    const { subscription } = await app.get(path(name));
    const { status, properties, current_period_start, current_period_end } = subscription;
    const { usage } = await app.get(`${path(name)}/usage`);
    const running = { status, properties, current_period_start, current_period_end, usage };
    const asked = { subscription_id: `ext:${name}`, at: "now" };
    const hasPreview = status !== "terminated" && status !== "canceled" && name !== "aside";
    const { invoice_preview: preview = null } = hasPreview
      ? await app.post("/v1/invoices/preview", asked)
      : {};
    told[name] = { ...running, preview };
  }
  return told;
}

/** Every invoice with its lines, oldest first. */
export async function bills(app: App): Promise<Json[]> {
  const { invoices } = await app.get("/v1/invoices?all=1");
  const found: Json[] = [];
  for (const { id } of invoices.toReversed()) {
    found.push((await app.get(`/v1/invoices/${id}`)).invoice);
  }
  return found;
}

/** What a row of any version has the same, whenever it is made. */
export function comparable(value: Json): Json {
  const made = new Set(["id", "invoice_id", "created_at", "updated_at", "charge_id", "pdf_url"]);
  const kept = (key: string, one: unknown) => (made.has(key) ? undefined : one);
  return JSON.parse(JSON.stringify(value, kept));
}

/** All rows of all tables but messages that nobody listens to, as JSON. */
export async function dump(pool: Pick<Pool, "many">): Promise<Rows> {
  const tables = await pool.many<{ name: string; columns: string[] }>(sql`
    select table_name as name,
           array_agg(column_name::text) filter (where is_generated = 'NEVER') as columns
      from information_schema.columns
      join information_schema.tables using (table_schema, table_name)
     where table_schema = 'public' and table_type = 'BASE TABLE'
       and table_name not in ('schema_migrations', 'webhook_messages')
     group by table_name
     order by table_name`);
  const rows: Record<string, Json[]> = {};
  for (const { name, columns } of tables) {
    const list = columns.map((column) => `'${column}', "${column}"`).join(", ");
    const text = `select jsonb_build_object(${list}) as row from ${name} t order by 1::text`;
    const found = await pool.many<{ row: Json }>({ text, values: [] });
    if (found.length > 0) rows[name] = found.map(({ row }) => row);
  }
  return rows;
}

/** Run by the version before; the answer is former-books.json. */
export async function record(app: App): Promise<FormerBooks> {
  await begin(app);
  const rows = await dump(app.context.db);
  const before = (await bills(app)).length;
  const told = comparable(await tell(app));
  const { token } = await app.get("/v1/keys/me");
  await goOn(app);
  const billed = comparable((await bills(app)).slice(before));
  return { project_id: app.profile.project_id, token_id: token.id, rows, told, billed };
}

/** Written as they were, without triggers: what these would write is among the rows. */
export function loading({ rows }: Pick<FormerBooks, "rows">): string {
  const tables = Object.entries(rows).map(([table, list]) => {
    const columns = Object.keys(list[0]).map((column) => `"${column}"`);
    const text = JSON.stringify(list).replaceAll("'", "''");
    return `insert into ${table} (${columns}) select ${columns}
              from jsonb_populate_recordset(null::${table}, '${text}');`;
  });
  return ["set session_replication_role = replica;", ...tables].join("\n");
}
