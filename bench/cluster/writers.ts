// Changes that are logged follow one another within a project: how many a second 16 writers get
// through, and whether 50 who come at once are all answered.

import { strict as assert } from "node:assert";
import { sql } from "../../src/store/db/sql.ts";
import { addSubscriptions, monthsAgo, openBooks } from "../books.ts";
import type { Write } from "../load.ts";
import { amount, atMost, type Bench, type Figure } from "../report.ts";
import { call, figure, headersOf, load, median, print, type Stage } from "../stage.ts";
import { clusterServers, type Site, withBoth } from "./stage.ts";

const WRITERS = 16;
const SECONDS = 10;
const QUICK_SECONDS = 2;
const PATIENCE_SECONDS = 60;
/** Many more than writers: no two of them change the same customer at a time. */
const CUSTOMERS = 1_000;
const AT_ONCE = 50;
const ROUNDS = 3;

export const benchWriters: Bench = async ({ quick }) =>
  withBoth(clusterServers(), "api", fill, async ({ plain, cluster }) => {
    const figures: Figure[] = [];
    for (const site of [plain, cluster]) {
      figures.push(await changes(site, quick ? QUICK_SECONDS : SECONDS));
      figures.push(...(await addOns(site)));
    }
    return figures;
  });

async function fill(stage: Stage): Promise<void> {
  await openBooks(stage, monthsAgo(0));
  await addSubscriptions(stage.db, { from: 2, to: CUSTOMERS }, monthsAgo(0));
}

async function changes(site: Site, seconds: number): Promise<Figure> {
  const writes = Array.from({ length: CUSTOMERS }, (_, n): Write => {
    return { method: "PATCH", path: `/v1/customers/ext:c${n + 1}`, body: { name: `Name ${n}` } };
  });
  await write(site, writes, { connections: WRITERS, seconds: 1 });
  const before = await logOf(site);
  const result = await write(site, writes, { connections: WRITERS, seconds });
  const after = await logOf(site);
  assert.equal(result.refused, 0, "every change is answered");
  assert.equal(after.entries - before.entries, result.requests, "and logged once");
  assert.equal(after.last, after.entries, "without a gap");
  const { kind } = site.stage;
  print(
    `p50 / p99 of a change, ${kind}, ms`,
    `${figure(result.p50_ms)} / ${figure(result.p99_ms)}`,
  );
  const name = `logged changes of one project by ${WRITERS} writers, ${kind}`;
  return amount(name, "changes/s", result.per_second, null);
}

async function addOns(site: Site): Promise<Figure[]> {
  const { stage, service } = site;
  const wanted = { code: "setup", name: "Setup", amount_cents: 10_000, currency: "USD" };
  const { add_on } = await call<{ add_on: { id: string } }>(stage, service, "/v1/addons", wanted);
  const customers = await stage.db.many<{ id: string }>(sql`
    select id
      from customers
     where project_id = ${stage.profile.project_id}
     limit ${AT_ONCE}`);
  const writes = customers.map(({ id }): Write => {
    return { method: "POST", path: `/v1/addons/${add_on.id}/apply`, body: { customer_id: id } };
  });
  const seconds: number[] = [];
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const how = { connections: AT_ONCE, seconds: PATIENCE_SECONDS, requests: AT_ONCE };
    const result = await write(site, writes, how);
    refused += result.refused;
    seconds.push(result.requests / result.per_second);
  }
  const { applied } = await stage.db.one<{ applied: number }>(sql`
    select count(*) as applied
      from applied_add_ons
     where project_id = ${stage.profile.project_id}`);
  assert.equal(applied, ROUNDS * AT_ONCE - refused, "each that was answered is applied");
  const name = `${AT_ONCE} add-ons applied at once in one project, ${stage.kind}`;
  return [
    amount(`${name}: answers other than 2xx in ${ROUNDS} rounds`, "answers", refused, atMost(0)),
    amount(`${name}: until the last is answered`, "s", median(seconds), null),
  ];
}

function write(
  { stage, service }: Site,
  writes: readonly Write[],
  how: { connections: number; seconds: number; requests?: number },
) {
  const mix = [{ ask: { kind: "writes" as const, writes }, times: 1 }];
  return load({ url: service.url, headers: headersOf(stage), mix, ...how });
}

function logOf({ stage: { db, profile } }: Site) {
  const project = profile.project_id;
  return db.one<{ entries: number; last: number }>(sql`
    select count(*) as entries,
           (select h.last from log_heads h where h.project_id = ${project}) as last
      from billing_events e
     where e.project_id = ${project}`);
}
