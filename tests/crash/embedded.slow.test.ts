// The service on its own PostgreSQL, whose postmaster is killed under calls: the process stays, the
// calls are answered 503 for a moment, and nothing that was acknowledged is lost.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Profile } from "../../src/service/profile.ts";
import { quickFolder } from "../support/folders.ts";
import { Caller, type ServiceProcess, spawnService, until } from "../support/processes.ts";

const KILLS = 3;
const BACK_MS = 20_000;
const EVENTS_BETWEEN = 100;

let folder: string;
let service: ServiceProcess;
let caller: Caller;

beforeEach(async () => {
  folder = mkdtempSync(join(quickFolder(), "dues-killed-"));
  const env = { DATABASE_URL: "", SECRET_KEY: "", DUES_DATA: folder };
  service = await (await spawnService({ connection: {}, role: "all", env })).ready();
  caller = new Caller(JSON.parse(readFileSync(join(folder, "dev.json"), "utf8")) as Profile);
});

afterEach(async () => {
  await caller.close();
  await service.signal("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

function postmaster(): number {
  const lines = readFileSync(join(folder, "postgres", "postmaster.pid"), "utf8").split("\n");
  return Number(lines[0]);
}

async function makeSubscription(): Promise<void> {
  const metric = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
  await caller.ok(service, "POST", "/v1/metrics", metric);
  const price = { interval: "monthly", amount_cents: 100, amount_currency: "USD" };
  const { plan } = await caller.ok(service, "POST", "/v1/plans", {
    code: "p",
    name: "P",
    ...price,
  });
  const named = { external_id: "c", name: "C" };
  const { customer } = await caller.ok(service, "POST", "/v1/customers", named);
  const ids = { external_id: "s", customer_id: customer.id, plan_id: plan.id };
  await caller.ok(service, "POST", "/v1/subscriptions", ids);
}

/** Until another one runs and the service says that it is ready. */
async function killOnce(): Promise<void> {
  const killed = postmaster();
  process.kill(killed, "SIGKILL");
  await until(async () => {
    const ready = await caller.call(service, "GET", "/readyz");
    return ready.status === 200 && postmaster() !== killed;
  }, BACK_MS);
}

test("a killed postmaster costs a moment, and no acknowledged event", {
  timeout: 120_000,
}, async () => {
  await makeSubscription();
  const acknowledged: string[] = [];
  const statuses = new Set<number>();
  let running = true;
  const send = async (sender: number) => {
    for (let n = 0; running; n++) {
      const event = { transaction_id: `${sender}-${n}`, subscription_id: "ext:s", code: "calls" };
      const sent = { ...event, properties: { n: "1" } };
      const { status } = await caller.call(service, "POST", "/v1/events", sent);
      statuses.add(status);
      if (status < 300) acknowledged.push(event.transaction_id);
    }
  };
  const someMore = async () => {
    const before = acknowledged.length;
    await until(() => acknowledged.length > before + EVENTS_BETWEEN, BACK_MS);
  };
  const killAndSend = async () => {
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        await someMore();
        await killOnce();
      }
      await someMore();
    } finally {
      running = false;
    }
  };
  await Promise.all([killAndSend(), ...[0, 1, 2, 3].map(send)]);
  expect([...statuses].filter((status) => status >= 300)).toEqual([503]);
  for (const id of acknowledged) {
    expect((await caller.call(service, "GET", `/v1/events/${id}`)).status).toBe(200);
  }
});
