// Real processes against each other, against the clock and against kill -9: whatever they do to
// one another, each thing happens once and the books agree.

import { connect } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { emptyDatabase, onCluster } from "../support/database.ts";
import { checkInvariants } from "../support/invariants.ts";
import { type ServiceProcess, spawnService, until } from "../support/processes.ts";
import { Fleet, monthsAhead, tally } from "./fleet.ts";

/** The whole night, or what a change can wait for. */
const deep = process.env.DUES_DEEP === "1";
/** For a busy machine: what happens too late on an idle one is found by the limits inside. */
const TEST_MS = 600_000;
const CLOSE_MS = deep || onCluster ? 120_000 : 60_000;

let fleet: Fleet;

beforeEach(async () => {
  fleet = await Fleet.open();
});

afterEach(() => fleet.close());

test("four workers on the same ended periods bill each once", { timeout: TEST_MS }, async () => {
  const many = deep ? 2_000 : 150;
  const rounds = deep ? 20 : 1;
  const [api] = await fleet.start("api");
  await fleet.makeSubscriptions(api, many);
  const workers = await fleet.start("worker", 4);
  for (let round = 1; round <= rounds; round++) {
    for (const worker of workers) worker.moveClock(monthsAhead(round));
    await until(async () => (await fleet.count("invoices")) >= many * round, CLOSE_MS);
    expect(await fleet.count("invoices")).toBe(many * round);
  }
  await fleet.expectAgreement();
});

test("workers killed in the middle of a close lose nothing and bill nothing twice", {
  timeout: TEST_MS,
}, async () => {
  const many = deep ? 5_000 : 150;
  const kills = deep ? 20 : 3;
  const months = 3;
  const [api] = await fleet.start("api");
  await fleet.makeSubscriptions(api, many);
  for (let kill = 0; kill < kills; kill++) {
    const workers = await fleet.start("worker", 2, monthsAhead(months));
    await until(() => isWriting(kill), CLOSE_MS);
    await Promise.all(workers.map((worker) => worker.signal("SIGKILL")));
  }
  await fleet.start("worker", 2, monthsAhead(months));
  await until(async () => (await fleet.count("invoices")) >= many * months, CLOSE_MS);
  expect(await fleet.count("invoices")).toBe(many * months);
  await fleet.expectAgreement();
});

test("a process that does everything leaves in order amid a close, and another goes on", {
  timeout: TEST_MS,
}, async () => {
  const many = deep ? 300 : 150;
  const months = 3;
  const [api] = await fleet.start("api");
  await fleet.makeSubscriptions(api, many);
  for (let turn = 0; turn < 2; turn++) {
    const [whole] = await fleet.start("all", 1, monthsAhead(months));
    await until(() => isWriting(turn), CLOSE_MS);
    expect(await whole.signal("SIGTERM")).toEqual({ code: 0, signal: null });
  }
  await fleet.start("all", 1, monthsAhead(months));
  await until(async () => (await fleet.count("invoices")) >= many * months, CLOSE_MS);
  expect(await fleet.count("invoices")).toBe(many * months);
  await fleet.expectAgreement();
});

/** Whether a worker is in a transaction, at its first statements or further on; or all is done. */
async function isWriting(turn: number): Promise<boolean> {
  const writing = await fleet.db.many(sql`
    select 1
      from pg_stat_activity
     where datname = current_database() and application_name = 'dues worker'
       and xact_start is not null
       and (${turn % 2 === 0} or query ~ 'insert into (closed_periods|invoices|fees)')`);
  return writing.length > 0 || (await fleet.count("subscriptions", "period_no = 1")) === 0;
}

test("a termination against the close of the same period makes one invoice for it", {
  timeout: TEST_MS,
}, async () => {
  const pairs = deep ? 1_000 : 100;
  const [api] = await fleet.start("api");
  const names = await fleet.makeSubscriptions(api, pairs);
  const workers = await fleet.start("worker", 2);
  const ahead = monthsAhead(1);
  for (const process of [api, ...workers]) process.moveClock(ahead);
  // The terminations wait for one another's usage locks: some are told to try again, and do.
  const answers = await Promise.all(
    names.map((name) =>
      fleet.caller.insist(api, "POST", `/v1/subscriptions/ext:${name}/terminate`, {}),
    ),
  );
  expect(tally(answers.map(({ status }) => status))).toEqual({ 200: pairs });
  expect(await fleet.count("invoice_parts", "reason = 'period' and period_no = 1")).toBe(pairs);
  expect(await fleet.count("subscriptions", "status = 'terminated'")).toBe(pairs);
  expect(await checkInvariants(fleet.db)).toEqual([]);
});

test("events around the end of a period are in that invoice or the next, each once", {
  timeout: TEST_MS,
}, async () => {
  const [api] = await fleet.start("api");
  const names = await fleet.makeSubscriptions(api, 20);
  const workers = await fleet.start("worker", 2);
  const lead_ms = 2_500;
  const ahead = monthsAhead(1, -lead_ms);
  const boundary = Date.now() + ahead + lead_ms;
  for (const process of [api, ...workers]) process.moveClock(ahead);
  const counted = await sendAcross(api, names, boundary, ahead);
  await until(async () => (await fleet.count("invoices")) >= names.length, CLOSE_MS);
  for (const process of [api, ...workers]) process.moveClock(monthsAhead(2));
  const closed = "period_no = 2 and reason = 'period'";
  await until(async () => (await fleet.count("invoice_parts", closed)) >= names.length, CLOSE_MS);
  for (const process of workers) process.moveClock(monthsAhead(3));
  const last = "period_no = 3 and reason = 'period'";
  await until(async () => (await fleet.count("invoice_parts", last)) >= names.length, CLOSE_MS);
  const { units } = await fleet.db.one<{ units: number }>(sql`
    select sum(units)::bigint as units
      from fees
     where billable_metric_code = 'calls'`);
  expect(units).toBe(counted);
  await fleet.expectAgreement();
});

/** About 200 events a second until a while after the boundary, one in twenty sent twice. */
async function sendAcross(api: ServiceProcess, names: string[], boundary: number, ahead: number) {
  const sent: Promise<unknown>[] = [];
  let n = 0;
  const clock = () => Date.now() + ahead;
  while (clock() < boundary + 2_500) {
    for (let i = 0; i < 4; i++, n++) {
      const event = {
        transaction_id: `e${n}`,
        subscription_id: `ext:${names[n % names.length]}`,
        code: "calls",
        timestamp: new Date(boundary + ((n * 37) % 4_000) - 2_000).toISOString(),
        properties: { n: "1" },
      };
      const post = () => fleet.caller.ok(api, "POST", "/v1/events", event);
      sent.push(post());
      if (n % 20 === 0) sent.push(post());
    }
    const next = clock() + 20;
    await until(() => clock() >= next);
  }
  await Promise.all(sent);
  return n;
}

test("a subscription that cannot be billed is set aside with its reason; the others close", {
  timeout: TEST_MS,
}, async () => {
  const many = deep ? 500 : 150;
  const [api] = await fleet.start("api");
  await fleet.makeSubscriptions(api, many);
  await fleet.db.run(sql`
    update subscriptions
       set properties = '{"seats": "abc"}'
     where external_id = 's7'`);
  const [worker] = await fleet.start("worker", 1, monthsAhead(1));
  await until(async () => (await fleet.count("invoices")) >= many - 1, CLOSE_MS);
  const path = "/v1/subscriptions/ext:s7";
  const { subscription } = await fleet.caller.ok(api, "GET", path);
  expect(subscription.billing_error).toContain("abc");
  const setAside = () =>
    fleet.db.one<{ until: Date; wait: number }>(sql`
      select set_aside_until as until,
             extract(epoch from set_aside_until - statement_timestamp())::integer as wait
        from subscriptions
       where external_id = 's7'`);
  const first = await setAside();
  expect(first.wait).toBeGreaterThan(30);

  // A whole further round of the worker goes by, and it has not been tried again.
  worker.moveClock(monthsAhead(2));
  await until(async () => (await fleet.count("invoices")) >= 2 * (many - 1), CLOSE_MS);
  expect((await setAside()).until).toEqual(first.until);

  await fleet.caller.ok(api, "PATCH", path, { properties: { seats: 1 } });
  await fleet.db.run(sql`
    update subscriptions
       set set_aside_until = statement_timestamp()
     where external_id = 's7'`);
  await until(async () => (await fleet.count("invoices")) >= 2 * many, CLOSE_MS);
  const mended = await fleet.caller.ok(api, "GET", path);
  expect(mended.subscription.billing_error).toBe(null);
  await fleet.expectAgreement();
});

test("five processes started at once on an empty database all become ready", {
  timeout: TEST_MS,
}, async () => {
  const { connection, drop } = await emptyDatabase();
  const started = await Promise.all(
    Array.from({ length: 5 }, () => spawnService({ connection, role: "all" })),
  );
  try {
    await Promise.all(started.map((service) => service.ready()));
    const ready = await Promise.all(
      started.map((service) => fleet.caller.call(service, "GET", "/readyz")),
    );
    expect(ready.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(started.flatMap(({ errors }) => errors)).toEqual([]);
    const pool = new Pool(connection, {
      max: 1,
      statement_timeout_ms: 5_000,
      lock_timeout_ms: 5_000,
      application_name: "dues test",
    });
    const found = await pool.one(sql`
      select (select count(*) from organizations) as organizations,
             (select count(*) from tokens) as tokens,
             (select count(*) - max(version) from schema_migrations) as twice`);
    await pool.end();
    expect(found).toEqual({ organizations: 1, tokens: 1, twice: 0 });
  } finally {
    await Promise.all(started.map((service) => service.signal("SIGKILL")));
    await drop();
  }
});

test("a process told to stop answers what it has begun and leaves with 0", {
  timeout: TEST_MS,
}, async () => {
  const rounds = deep ? 15 : 1;
  let answered = 0;
  for (let round = 0; round < rounds; round++) {
    const [api] = await fleet.start("api");
    if (round === 0) await fleet.makeSubscriptions(api, 10);
    answered += await stopUnderLoad(api, round);
    // After each, so that what one loses is not made up for by another.
    const { events } = await fleet.db.one<{ events: number }>(sql`
      select count(*) as events
        from usage_events`);
    expect([round, events]).toEqual([round, answered]);
    expect(() => process.kill(api.pid, 0)).toThrow("ESRCH");
  }
  await fleet.expectAgreement();
});

/** Twenty clients send events until nobody listens; how many of them were acknowledged. */
async function stopUnderLoad(api: ServiceProcess, round: number): Promise<number> {
  let answered = 0;
  let stopping = false;
  const broken: string[] = [];
  const load = async (client: number) => {
    for (let n = 0; ; n++) {
      const event = {
        transaction_id: `${round} ${client} ${n}`,
        subscription_id: `ext:s${1 + (n % 10)}`,
        code: "calls",
        properties: { n: "1" },
      };
      try {
        const { status } = await fleet.caller.call(api, "POST", "/v1/events", event);
        if (status === 200) answered += 1;
        else if (status !== 503 || !stopping) broken.push(String(status));
      } catch (error) {
        // Nobody listens any more: the request was never taken.
        const { code = "" } = error as { code?: string };
        if (code !== "ECONNREFUSED" || !stopping) broken.push(`${code} ${error}`);
        return;
      }
    }
  };
  const clients = Promise.all(Array.from({ length: 20 }, (_, client) => load(client)));
  await until(() => answered >= 500);
  stopping = true;
  const exit = await api.signal("SIGTERM");
  await clients;
  expect(exit).toEqual({ code: 0, signal: null });
  expect(broken).toEqual([]);
  return answered;
}

test("a client that sends its body byte by byte holds a stop up for 10 s at most", {
  timeout: TEST_MS,
}, async () => {
  const [api] = await fleet.start("api");
  const { hostname, port } = new URL(api.base_url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(
    "POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n" +
      "content-length: 4000\r\n\r\n{",
  );
  const dripping = setInterval(() => socket.write(" "), 100);
  const isReading = async () => {
    const text = await (await fetch(new URL("/metrics", api.base_url))).text();
    return text.includes('\ndues_bound_level{bound="body_bytes"} 4000\n');
  };
  await until(isReading);
  const started = performance.now();
  expect(await api.signal("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(performance.now() - started).toBeLessThan(10_000);
  clearInterval(dripping);
  socket.destroy();
});
