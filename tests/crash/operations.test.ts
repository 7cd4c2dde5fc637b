// Every write dies before and after each of its statements, and with the answer to its commit
// lost. Then the caller tries again: the effect is there once, and all books agree.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Door } from "../../src/http/server.ts";
import { openDoor, testContext } from "../../src/main.ts";
import { closeDue, settleEnded } from "../../src/operations/close-periods.ts";
import { markOverdue } from "../../src/operations/mark-overdue.ts";
import { Pool } from "../../src/store/db.ts";
import { getSettingsById, type ProjectId } from "../../src/store/tenants.ts";
import { billingJob } from "../../src/workers/billing.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { type Death, MortalDb } from "../support/crash.ts";
import { checkInvariants } from "../support/invariants.ts";
import { copyProject, normalised, projectTables, snapshot } from "../support/snapshots.ts";
import { makeWorld, type World } from "./world.ts";

// A deep run takes every statement of every operation on both sides. Every day each statement dies
// on one side only, and of the operations that are several transactions every fourth is left out.
const deep = process.env.DUES_DEEP === "1";
const CASES_MIN = deep ? 400 : 200;
const TEST_MS = deep ? 1_200_000 : 120_000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const WALL = new Date("2026-01-01T00:00:00.000Z");

let app: App;
let victims: Pool;
let mortal: MortalDb;
let door: Door;
let world: World;
let tables: Awaited<ReturnType<typeof projectTables>>;
let before: string[];
/** Which case a project was made for. */
const labels = new Map<string, string>();

beforeAll(async () => {
  app = await startApp({ clock: { now: () => WALL } });
  world = await makeWorld(app);
  // Connections of its own: those that look on stay warm while these are killed.
  victims = new Pool(app.connection, {
    max: 2,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues victims",
  });
  mortal = new MortalDb(victims);
  const context = testContext({ ...app.context, db: mortal, secret_key: randomBytes(32) });
  door = openDoor(context, { draining: false, schema_version: 1, warnings: [] }, "all");
  await door.app.ready();
  tables = await projectTables(app.context.db);
  before = await snapshot(app.context.db, tables, world.project);
});

afterAll(async () => {
  await door.app.close();
  await victims.end();
  await app.close();
});

type Target = { readonly project: ProjectId; readonly ids: World["ids"] };
type Outcome = { readonly ok: boolean; readonly replayed?: boolean };
type Operation = {
  readonly name: string;
  /** False when it is several transactions on purpose: a death leaves the first of them done. */
  readonly atomic?: false;
  run(target: Target): Promise<Outcome>;
};

function request(
  name: string,
  method: string,
  url: (ids: World["ids"]) => string,
  body?: (ids: World["ids"]) => Json,
  more: { keyed?: false; atomic?: false } = {},
): Operation {
  return {
    name,
    ...(more.atomic === false && { atomic: false }),
    async run({ project, ids }) {
      const payload = body?.(ids);
      const answer = await door.app.inject({
        method: method as "POST",
        url: url(ids),
        headers: {
          authorization: `Bearer ${app.profile.token}`,
          "x-project-id": project,
          ...(more.keyed !== false && { "idempotency-key": "the same key" }),
        },
        ...(payload !== undefined && { payload }),
      });
      if (answer.statusCode >= 300 && answer.statusCode !== 503) throw new Error(answer.body);
      const replayed = answer.headers["idempotent-replayed"] === "true";
      return { ok: answer.statusCode < 300, replayed };
    },
  };
}

/** Work of the workers, as one of them does it for one project. */
function work(
  name: string,
  act: (target: Target) => Promise<unknown>,
  more: { atomic?: false } = {},
): Operation {
  return {
    name,
    ...more,
    async run(target) {
      try {
        await act(target);
        return { ok: true };
      } catch (error) {
        if ((error as { code?: string }).code !== "unavailable") throw error;
        return { ok: false };
      }
    },
  };
}

const event = (transaction_id: string, more: Json = {}) => ({
  transaction_id,
  subscription_id: "ext:s1",
  code: "calls",
  timestamp: "2025-02-14T00:00:00.000Z",
  properties: { n: "7" },
  ...more,
});
const MARCH = new Date("2025-03-01T00:00:00.000Z");
const LATER = new Date("2025-02-16T00:00:00.000Z");

const OPERATIONS: readonly Operation[] = [
  request(
    "create a customer",
    "POST",
    () => "/v1/customers",
    () => ({ external_id: "new", name: "New", email: "n@example.com", currency: "EUR" }),
  ),
  request(
    "change a customer",
    "PATCH",
    ({ c1 }) => `/v1/customers/${c1}`,
    () => ({ name: "Other" }),
  ),
  request(
    "create a metric",
    "POST",
    () => "/v1/metrics",
    () => ({ code: "gb", name: "GB", aggregation_type: "max", field_name: "n" }),
  ),
  request(
    "change a metric",
    "PATCH",
    ({ calls }) => `/v1/metrics/${calls}`,
    () => ({ name: "Calls made" }),
  ),
  request(
    "change a catalog price that plans use",
    "POST",
    () => "/v1/catalog",
    () => ({ code: "seat", name: "seat", amount_cents: 600, currency: "USD" }),
  ),
  request(
    "create a plan",
    "POST",
    () => "/v1/plans",
    () => ({
      code: "new",
      name: "New",
      interval: "yearly",
      amount_cents: 5_000,
      amount_currency: "USD",
      charges: [{ type: "standard", metric_ref: "calls", rate: "0.1" }],
    }),
  ),
  request(
    "change a plan's price and charges",
    "PATCH",
    ({ pro }) => `/v1/plans/${pro}`,
    () => ({ amount_cents: 1_200, charges: [{ type: "flat_fee", catalog_ref: "setup" }] }),
  ),
  request(
    "add a charge to a plan",
    "POST",
    ({ pro }) => `/v1/plans/${pro}/charges`,
    () => ({ type: "flat_fee", catalog_ref: "setup", invoice_timing: "advance" }),
  ),
  request("archive a plan", "DELETE", ({ spare }) => `/v1/plans/${spare}`),
  request(
    "change an add-on",
    "POST",
    () => "/v1/addons",
    () => ({ code: "boost", name: "Boost", amount_cents: 800, currency: "USD" }),
  ),
  request(
    "apply an add-on",
    "POST",
    ({ boost }) => `/v1/addons/${boost}/apply`,
    ({ c1 }) => ({ customer_id: c1 }),
  ),
  request(
    "start a subscription with an immediate charge",
    "POST",
    () => "/v1/subscriptions",
    ({ c2, onboarding }) => ({ external_id: "new", customer_id: c2, plan_id: onboarding }),
  ),
  request(
    "change a subscription's properties",
    "PATCH",
    () => "/v1/subscriptions/ext:s1",
    () => ({ properties: { seats: 9 } }),
  ),
  request("suspend a subscription", "POST", () => "/v1/subscriptions/ext:s2/suspend"),
  request(
    "resume a subscription",
    "PATCH",
    () => "/v1/subscriptions/ext:s6",
    () => ({ status: "active" }),
  ),
  request("terminate a subscription", "POST", () => "/v1/subscriptions/ext:s2/terminate"),
  request(
    "cancel a subscription",
    "PATCH",
    () => "/v1/subscriptions/ext:s1",
    () => ({ status: "canceled" }),
  ),
  request(
    "reactivate a subscription",
    "PATCH",
    () => "/v1/subscriptions/ext:s7",
    () => ({ status: "active" }),
  ),
  request(
    "record an event",
    "POST",
    () => "/v1/events",
    () => event("single"),
    { keyed: false },
  ),
  request(
    "record a batch of events, late ones and repeats among them",
    "POST",
    () => "/v1/events/batch",
    () => ({
      events: [
        event("b1"),
        event("b1"),
        event("b2", { code: "users", properties: { n: "somebody" } }),
        event("b3", { timestamp: "2025-01-25T00:00:00.000Z", subscription_id: "ext:s3" }),
        event("b4", { timestamp: "2025-01-25T00:00:00.000Z", subscription_id: "ext:s7" }),
        event("s1 calls 2025-02-12T00:00:00.000Z"),
        event("b5", { timestamp: "2024-12-01T00:00:00.000Z" }),
      ],
    }),
    { keyed: false },
  ),
  request(
    "record a payment",
    "POST",
    () => "/v1/payments",
    ({ s4_invoice, s4_due }) => payment(s4_invoice, Number(s4_due)),
  ),
  request(
    "record a payment by its reference alone",
    "POST",
    () => "/v1/payments",
    ({ s4_invoice, s4_due }) => payment(s4_invoice, Number(s4_due) - 1),
    { keyed: false },
  ),
  request(
    "record an overpayment",
    "POST",
    () => "/v1/payments",
    ({ s4_invoice, s4_due }) => ({
      ...payment(s4_invoice, Number(s4_due) + 50),
      allow_overpayment: true,
    }),
  ),
  request("void an invoice", "POST", ({ s4_invoice }) => `/v1/invoices/${s4_invoice}/void`),
  request(
    "advance the clock over a month",
    "POST",
    () => "/v1/clock/advance",
    () => ({ to: "2025-03-01T00:00:00.000Z" }),
    { keyed: false, atomic: false },
  ),
  work("close the ended periods", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => closeDue(tx, settings, MARCH, "usage locks"));
  }),
  work("settle the late usage of an ended subscription", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => settleEnded(tx, settings, LATER));
  }),
  work("mark invoices overdue", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => markOverdue(tx, settings, LATER));
  }),
  work(
    "a worker's whole round",
    async ({ project }) => {
      await app.context.db.run({
        text: "update projects set frozen_at = $2 where id = $1",
        values: [project, new Date("2025-03-02T00:00:00.000Z")],
      });
      const job = billingJob({ ...app.context, db: mortal });
      while ((await job.tick()) > 0);
    },
    { atomic: false },
  ),
];

function payment(invoice_id: string | undefined, amount_cents: number): Json {
  const paid = { provider: "bank", provider_payment_id: "p1", paid_at: "2025-02-14T00:00:00.000Z" };
  return { invoice_id, amount_cents, currency: "USD", ...paid };
}

async function copy(): Promise<Target> {
  const project = await copyProject(app.context.db, tables, world.project);
  return { project: project as ProjectId, ids: world.ids };
}

/** What the project holds, without what depends on when and how often it was tried. */
async function stateOf({ project }: Target): Promise<string[]> {
  const lines = await snapshot(app.context.db, tables, project);
  const kept = lines.filter((line) => !line.includes('"event_type": "clock.advanced"'));
  return normalised(kept, before);
}

/** One case: dies as told, leaves no trace, and is done once when it is tried again. */
async function dieAndRetry(
  operation: Operation,
  death: Death,
  untouched: string[],
  done: string[],
) {
  const target = await copy();
  const label = `${operation.name}, dies ${death.when} ${death.statement}`;
  labels.set(target.project, label);
  mortal.arm(death);
  const first = await operation.run(target);
  expect(mortal.died, label).toBe(true);
  expect(first.ok, label).toBe(false);
  if (operation.atomic !== false) {
    const left = await stateOf(target);
    expect(left, label).toEqual(death.when === "lost" ? done : untouched);
  }
  mortal.arm();
  const second = await operation.run(target);
  expect(second.ok, label).toBe(true);
  if (second.replayed !== undefined && death.when !== "lost") expect(second.replayed).toBe(false);
  expect(await stateOf(target), label).toEqual(done);
}

/** On which sides of a statement this run lets the operation die. */
function sidesOf(operation: Operation, statement: number): readonly ("before" | "after")[] {
  if (deep) return ["before", "after"];
  if (statement % 2 === 1) return ["before"];
  return operation.atomic !== false || statement % 4 === 0 ? ["after"] : [];
}

describe("a death leaves no trace, and trying again does it once", () => {
  test.each(OPERATIONS)(
    "$name",
    async (operation) => {
      const untouched = await stateOf(await copy());
      const undisturbed = await copy();
      mortal.arm();
      expect(await operation.run(undisturbed)).toMatchObject({ ok: true });
      const { statements, commits } = mortal;
      expect(statements).toBeGreaterThan(0);
      const done = await stateOf(undisturbed);
      expect(done).not.toEqual(untouched);

      for (let statement = 1; statement <= statements; statement++) {
        for (const when of sidesOf(operation, statement)) {
          await dieAndRetry(operation, { statement, when }, untouched, done);
        }
      }
      for (let commit = 1; commit <= commits; commit++) {
        await dieAndRetry(operation, { statement: commit, when: "lost" }, untouched, done);
      }
    },
    TEST_MS,
  );

  test("after all of it the books of every project agree", async () => {
    expect(labels.size).toBeGreaterThanOrEqual(CASES_MIN);
    const broken = await checkInvariants(app.context.db);
    const named = broken.map((line) => line.replace(UUID, (id) => labels.get(id) ?? id));
    expect(named).toEqual([]);
  });
});
