// Starts one PostgreSQL for the whole run (or takes TEST_DATABASE_URL, or a cluster) and migrates a
// template.

import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../../src/embedded/start.ts";
import type { Connection } from "../../src/store/db/db.ts";
import { migrate } from "../../src/store/migration/migrate.ts";
import { makeTemplate } from "./cluster.ts";
import { dropDatabase, everywhere, onDatabase } from "./database.ts";
import { quickFolder } from "./folders.ts";

// A test run is thrown away, so it need not survive a power cut; crash tests kill processes only.
const SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "300",
  // Every database that is made or dropped looks through all of it.
  shared_buffers: "256MB",
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const template = `dues_template_${process.pid}`;
  const { server, workers, stop } = await openServers();
  const servers = [server, ...workers];
  await everywhere(servers, `drop database if exists ${template} with (force)`);
  await everywhere(servers, `create database ${template} template template0`);
  if (workers.length === 0) await migrate(onDatabase(server, template));
  else await makeTemplate(servers, template);
  project.provide("server", server);
  project.provide("workers", workers);
  project.provide("template", template);
  return () => stop(template);
}

/** The template, and what was copied for test files that failed before they could drop it. */
async function dropAll(server: Connection, template: string): Promise<void> {
  const client = new pg.Client({ ...server });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>(
      "select datname from pg_database where starts_with(datname, $1)",
      [template],
    );
    for (const { datname } of rows) await dropDatabase(server, datname);
  } finally {
    await client.end();
  }
}

type Servers = {
  readonly server: Connection;
  /** The other nodes when the run is on a cluster. */
  readonly workers: Connection[];
  /** Leaves nothing of the run behind. */
  stop(template: string): Promise<void>;
};

/** Servers that were there before the run, and stay. */
function lent(server: Connection, workers: Connection[] = []): Servers {
  const drop = (template: string) =>
    Promise.all([server, ...workers].map((each) => dropAll(each, template)));
  return { server, workers, stop: async (template) => void (await drop(template)) };
}

async function openServers(): Promise<Servers> {
  const { DUES_CLUSTER, CLUSTER_URL = "", CLUSTER_WORKERS = "", TEST_DATABASE_URL } = process.env;
  if (DUES_CLUSTER === "1") {
    const workers = CLUSTER_WORKERS.split(",").map((url) => ({ connectionString: url.trim() }));
    return lent({ connectionString: CLUSTER_URL }, workers);
  }
  if (TEST_DATABASE_URL !== undefined) return lent({ connectionString: TEST_DATABASE_URL });
  const folder = await mkdtemp(join(quickFolder(), "dues-test-"));
  const application_name = `tests (${process.pid})`;
  const embedded = await startEmbedded({ folder, application_name, settings: SETTINGS });
  return {
    server: embedded.connection,
    workers: [],
    async stop() {
      await embedded.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
