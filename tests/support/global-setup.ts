// Starts one PostgreSQL for the whole run (or takes TEST_DATABASE_URL) and migrates a template.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../../src/embedded/start.ts";
import type { Connection } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { admin, onDatabase } from "./database.ts";

// A test run is thrown away, so it need not survive a power cut; crash tests kill processes only.
const SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "300",
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const external = process.env.TEST_DATABASE_URL;
  const template = `dues_template_${process.pid}`;
  const folder = await mkdtemp(join(tmpdir(), "dues-test-"));
  const embedded =
    external === undefined
      ? await startEmbedded({
          folder,
          application_name: `tests (${process.pid})`,
          settings: SETTINGS,
        })
      : undefined;
  const server: Connection = embedded?.connection ?? { connectionString: external as string };
  await admin(server, `drop database if exists ${template} with (force)`);
  await admin(server, `create database ${template} template template0`);
  await migrate(onDatabase(server, template));
  project.provide("server", server);
  project.provide("template", template);
  return async () => {
    await admin(server, `drop database if exists ${template} with (force)`);
    await embedded?.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
