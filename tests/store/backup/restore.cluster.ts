// Backups from a cluster and into one: the same rows wherever they come from and go to.

import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkSecretKey } from "../../../src/service/open-store.ts";
import { takeBackup } from "../../../src/store/backup/backup.ts";
import { verifyBackup } from "../../../src/store/backup/format.ts";
import { loadBackup } from "../../../src/store/backup/restore.ts";
import { endHold, readWaiting } from "../../../src/store/backup/resume.ts";
import { distribute } from "../../../src/store/cluster/distribute.ts";
import type { Connection } from "../../../src/store/db/db.ts";
import { makeWorld } from "../../crash/world.ts";
import { type App, startApp } from "../../support/app.ts";
import { emptyCluster } from "../../support/cluster.ts";
import { contentsOf } from "../../support/contents.ts";
import { emptyDatabase, onClient } from "../../support/database.ts";

const NOW = new Date("2026-05-01T00:00:00.000Z");
const SHARDS = 4;
const nobody = () => {};

let app: App;
let folder: string;
let file: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dues-restore-"));
  app = await startApp();
  await checkSecretKey(app.context.db, app.context.secret_key, NOW);
  await makeWorld(app);
  file = join(folder, "world.gz");
  await takeBackup(app.connection, createWriteStream(file), { now: NOW, onProgress: nobody });
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function load(target: Connection): Promise<void> {
  const header = await verifyBackup(file, nobody);
  const next_numbers = [{ project: undefined, year: 2030, next: 5, series: "invoices" as const }];
  await loadBackup(target, file, { header, held_since: NOW, next_numbers, onProgress: nobody });
  const { held_since, counters } = await readWaiting(target, NOW);
  expect(held_since).toEqual(NOW);
  expect(counters).toContainEqual({ project: "acme/main/test", year: 2030, last: 4 });
  await endHold(target, []);
  expect((await readWaiting(target, NOW)).held_since).toBeNull();
}

/** All but the counters, which `load` has raised. */
async function rowsOf(connection: Connection) {
  const { invoice_counters: _, ...rest } = await contentsOf(connection);
  return rest;
}

function distributeOn(connection: Connection) {
  return distribute(connection, { shards: SHARDS, progress: { starting() {}, done() {} } });
}

test("a backup of a cluster fills a plain PostgreSQL", async () => {
  const plain = await emptyDatabase();
  try {
    await load(plain.connection);
    expect(await rowsOf(plain.connection)).toEqual(await rowsOf(app.connection));
  } finally {
    await plain.drop();
  }
});

test("and a cluster that was distributed before", async () => {
  const cluster = await emptyCluster();
  try {
    await distributeOn(cluster.connection);
    await load(cluster.connection);
    expect(await rowsOf(cluster.connection)).toEqual(await rowsOf(app.connection));
    const keys = `select count(*) from pg_constraint where contype = 'f' and conparentid = 0
                     and connamespace = 'public'::regnamespace`;
    const count = (connection: Connection) =>
      onClient(connection, async (client) => (await client.query(keys)).rows);
    expect(await count(cluster.connection)).toEqual(await count(app.connection));
  } finally {
    await cluster.drop();
  }
});

test("and a cluster that is distributed afterwards", async () => {
  const cluster = await emptyCluster();
  try {
    await load(cluster.connection);
    await distributeOn(cluster.connection);
    expect(await rowsOf(cluster.connection)).toEqual(await rowsOf(app.connection));
  } finally {
    await cluster.drop();
  }
});

test("a backup that is taken while rows are written has one state of each project", async () => {
  let writing = true;
  const writer = (async () => {
    for (let n = 0; writing; n++) {
      const event = { transaction_id: `during-${n}`, subscription_id: "ext:s1", code: "calls" };
      await app.call("POST", "/v1/events", { ...event, properties: { n: "1" } });
    }
  })();
  const path = join(folder, "during.gz");
  try {
    await takeBackup(app.connection, createWriteStream(path), { now: NOW, onProgress: nobody });
  } finally {
    writing = false;
    await writer;
  }
  const plain = await emptyDatabase();
  try {
    const header = await verifyBackup(path, nobody);
    const options = { header, held_since: NOW, next_numbers: [], onProgress: nobody };
    await loadBackup(plain.connection, path, options);
    const [sums] = await onClient(plain.connection, async (client) => {
      const { rows } = await client.query(`
        select (select count(*) from usage_events where unbillable is null)::text as counted,
               (select sum(events)
                  from (select events from usage_days
                         union all
                        select events from usage_parts) as sums)::text as summed`);
      return rows;
    });
    expect(sums.counted).toBe(sums.summed);
  } finally {
    await plain.drop();
  }
});

test("a backup while a node is away fails, and says how to find the node", async () => {
  const cluster = await emptyCluster();
  await distributeOn(cluster.connection);
  await onClient(cluster.connection, (client) =>
    client.query("update pg_dist_node set nodename = '127.0.0.1', nodeport = 9 where groupid = 1"),
  );
  const target = createWriteStream(join(folder, "cut-short.gz"));
  const taken = takeBackup(cluster.connection, target, { now: NOW, onProgress: nobody });
  await expect(taken).rejects.toThrow(
    /^A node of the cluster does not answer: .*dues cluster status/,
  );
  target.destroy();
  await cluster.drop();
});
