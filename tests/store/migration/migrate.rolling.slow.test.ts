// A rolling upgrade with real processes: the new version migrates and starts while the old one
// serves, both serve for a while, the old one leaves. Callers notice nothing.

import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schemaVersion } from "../../../src/store/migration/migrate.ts";
import { Fleet } from "../../crash/fleet.ts";
import { MAIN } from "../../support/built.ts";
import { onCluster } from "../../support/database.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { type ServiceProcess, slowness, startService, until } from "../../support/processes.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const CALLERS = 8;
/** What a call may take on a machine that is not busy with other tests. */
const ANSWER_MS = onCluster ? 6_000 : 3_000;
/** For so long both are there, so that the workers of both have looked for work. */
const BOTH_SERVE_MS = 1_000;
/** Tables that every call and every worker writes or reads. */
const HOT = [
  ...["tokens", "projects", "log_heads", "billing_events", "subscriptions", "usage_events"],
  ...["usage_days", "customers", "invoices", "fees", "webhook_messages", "analytics_deltas"],
];

let folder: string;
let fleet: Fleet;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dues-next-"));
  fleet = await Fleet.open();
});

afterAll(async () => {
  await fleet.close();
  rmSync(folder, { recursive: true, force: true });
});

/** This build with migrations that this one does not have. Returns its entry. */
async function nextVersion(): Promise<string> {
  for (const name of ["dist", "package.json", "bin"]) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const after = await schemaVersion();
  const name = (n: number) => `${String(after + n).padStart(4, "0")}_next_${n}.sql`;
  const add = (no: number, text: string) =>
    writeFileSync(join(folder, "dist/store/migrations", name(no)), text);
  add(1, HOT.map((table) => `alter table ${table} add column added_1 integer;`).join("\n"));
  add(
    2,
    `create index added_2 on usage_days (project_id, day);
          create table added (project_id uuid not null references projects, id uuid not null,
            customer_id uuid not null, primary key (project_id, id),
            foreign key (project_id, customer_id) references customers (project_id, id));`,
  );
  add(
    3,
    HOT.toReversed()
      .map((t) => `alter table ${t} add column added_3 text not null default '';`)
      .join("\n"),
  );
  return join(folder, relative(ROOT, MAIN));
}

type Seen = { calls: number; most_ms: number; failed: string[] };

/** Calls whatever serves, one after the other, until told to stop. */
async function call(no: number, seen: Seen, traffic: { stop: boolean; at: ServiceProcess[] }) {
  for (let i = 0; !traffic.stop; i++) {
    const id = `${no}-${i}`;
    const acts = [
      [
        "POST",
        "/v1/events",
        { transaction_id: id, subscription_id: "ext:s", code: "calls", properties: { n: 1 } },
      ],
      ["POST", "/v1/customers", { external_id: id, name: id, email: "x@example.com" }],
      ["GET", "/v1/subscriptions/ext:s/usage"],
      ["GET", "/readyz"],
    ] as const;
    const [method, path, body] = acts[i % acts.length] ?? acts[0];
    const service = traffic.at[i % traffic.at.length];
    if (service === undefined) throw new Error("Nobody serves.");
    const start_ms = performance.now();
    const { status, body: answer } = await fleet.caller.call(service, method, path, body);
    seen.calls += 1;
    seen.most_ms = Math.max(seen.most_ms, performance.now() - start_ms);
    // On a cluster tables are altered shard by shard, which takes longer than a caller may wait.
    const mayTryAgain = onCluster && status === 503;
    if (status >= 300 && !mayTryAgain) {
      seen.failed.push(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    }
  }
}

/** Until each caller has been answered so many times more. */
async function answered(seen: readonly Seen[], times: number): Promise<void> {
  const before = seen.map(({ calls }) => calls);
  await until(() => seen.every(({ calls }, no) => calls >= (before[no] ?? 0) + times));
}

test("old and new version serve side by side while the new one migrates", {
  timeout: 120_000,
}, async () => {
  const main = await nextVersion();
  const [before] = await fleet.start("all");
  const { plan, customer } = await fleet.makePlan(before);
  await fleet.caller.ok(before, "POST", "/v1/subscriptions", {
    external_id: "s",
    customer_id: customer.id,
    plan_id: plan.id,
    properties: { seats: 1 },
  });
  const traffic = { stop: false, at: [before] };
  const seen = Array.from({ length: CALLERS }, (): Seen => ({ calls: 0, most_ms: 0, failed: [] }));
  const calls = seen.map((each, no) => call(no, each, traffic));
  await answered(seen, 8);
  const after = await startService({ connection: fleet.connection, role: "all", main });
  try {
    const schema = async (service: ServiceProcess) =>
      (await fleet.caller.ok(service, "GET", "/readyz")).schema_version;
    expect(await schema(after)).toBe((await schema(before)) + 3);
    traffic.at = [before, after];
    await pause(BOTH_SERVE_MS);
    await answered(seen, 8);
    traffic.at = [after];
    // What was sent to the old one is answered: the next call goes to the new one.
    await answered(seen, 1);
    expect(await before.signal("SIGTERM")).toEqual({ code: 0, signal: null });
    await answered(seen, 8);
    traffic.stop = true;
    await Promise.all(calls);
    expect(seen.flatMap(({ failed }) => failed)).toEqual([]);
    expect(Math.min(...seen.map((each) => each.calls))).toBeGreaterThan(20);
    const limit_ms = ANSWER_MS * slowness();
    expect(Math.max(...seen.map(({ most_ms }) => most_ms))).toBeLessThan(limit_ms);
    if (!onCluster) expect([...before.errors, ...after.errors]).toEqual([]);
    await until(async () => (await checkInvariants(fleet.db)).length === 0);
  } finally {
    await after.signal("SIGKILL");
  }
});
