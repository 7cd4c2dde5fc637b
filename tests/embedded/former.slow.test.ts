// The drill of an upgrade: data that PostgreSQL 15 wrote is moved to the version that dues brings,
// by one command. Skipped, with a word, where the programs of PostgreSQL 15 are not installed.

import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Config } from "../../src/config.ts";
import { findBinaries, majorVersions } from "../../src/embedded/former.ts";
import { openStore } from "../../src/service/open-store.ts";
import { upgradeData } from "../../src/service/upgrade-data.ts";
import type { Connection } from "../../src/store/db/db.ts";
import { migrate, schemaVersion } from "../../src/store/migration/migrate.ts";
import { testConfig } from "../support/app.ts";
import { contentsOf } from "../support/contents.ts";
import { admin, onClient } from "../support/database.ts";
import { quickFolder } from "../support/folders.ts";
import {
  FORMER_MAJOR,
  formerBinaries,
  makeFormerFolder,
  openFormer,
} from "../support/former-server.ts";
import { TENANTS } from "../support/later-versions.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const OLD = FORMER_MAJOR;
const NOW = new Date("2026-05-01T00:00:00.000Z");
const teller = { say() {}, progress() {} };
const binaries = await formerBinaries("the drill of an upgrade is skipped");
const drill = test.skipIf(binaries === undefined);

let folder: string;
let config: Config;

beforeEach(() => {
  folder = mkdtempSync(join(quickFolder(), "dues-former-"));
  config = testConfig({ DUES_DATA: folder, DATABASE_URL: "" });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What a version with that PostgreSQL would have left. */
async function makeFormer(): Promise<Record<string, string>> {
  await makeFormerFolder(folder, binaries ?? "");
  return onFormer(async (connection) => {
    await migrate(connection);
    await admin(connection, TENANTS);
    return contentsOf(connection);
  });
}

async function onFormer<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
  const server = await openFormer(folder, binaries ?? "");
  try {
    return await work(server.connection);
  } finally {
    await server.stop();
  }
}

async function onOurs<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
  const how = { hold: false, verb: "test", say() {}, onLost() {} };
  const store = await openStore(config, how);
  try {
    return await work(store.connection);
  } finally {
    await store.stop();
  }
}

drill("data of PostgreSQL 15 is moved by one command, and the old folder is kept", async () => {
  const before = await makeFormer();
  await expect(onOurs(async () => {})).rejects.toThrow('run "dues upgrade-data"');
  const { ours } = await majorVersions(folder);
  const upgraded = await upgradeData(config, { from_binaries: undefined }, teller, NOW);
  expect(upgraded).toMatchObject({ from: OLD, to: ours, former: join(folder, `postgres-${OLD}`) });
  expect(existsSync(join(upgraded.former ?? "", "PG_VERSION"))).toBe(true);
  expect(existsSync(upgraded.backup ?? "")).toBe(true);
  await onOurs(async (connection) => {
    const after = await contentsOf(connection);
    expect(after.workspaces).toBe(before.workspaces);
    const state = await onClient(connection, async (client) => {
      const { rows } = await client.query(
        "select (select count(*) from projects)::int as projects, max(version) as version," +
          " (select count(*) from installation where held_since is not null)::int as held" +
          " from schema_migrations",
      );
      return rows[0];
    });
    expect(state).toMatchObject({ projects: 2, held: 0 });
    expect(state.version).toBe(await schemaVersion());
  });
  expect(await upgradeData(config, { from_binaries: undefined }, teller, NOW)).toEqual({
    from: ours,
    to: ours,
  });
});

drill("a move that fails leaves the old folder in its place", async () => {
  const before = await makeFormer();
  await onFormer((connection) =>
    admin(
      connection,
      `alter table projects drop constraint projects_organization_id_workspace_id_fkey;
       delete from workspaces`,
    ),
  );
  const moving = upgradeData(config, { from_binaries: binaries }, teller, NOW);
  await expect(moving).rejects.toThrow(/foreign key/);
  expect(readFileSync(join(folder, "postgres", "PG_VERSION"), "utf8").trim()).toBe(OLD);
  expect(readdirSync(folder).filter((name) => /postgres-|upgrade/.test(name))).toEqual([
    expect.stringMatching(/^before-upgrade-/),
  ]);
  const { organizations } = await onFormer(contentsOf);
  expect(organizations).toBe(before.organizations);
});

drill("an older folder that was kept is not written over", async () => {
  await makeFormer();
  writeFileSync(join(folder, `postgres-${OLD}`), "");
  const moving = upgradeData(config, { from_binaries: undefined }, teller, NOW);
  await expect(moving).rejects.toThrow("is there already");
  expect((await majorVersions(folder)).data).toBe(OLD);
});

drill("a start after a move that was killed at its last step does not begin anew", async () => {
  await makeFormer();
  renameSync(join(folder, "postgres"), join(folder, `postgres-${OLD}`));
  await expect(onOurs(async () => {})).rejects.toThrow("Give it its name back");
  expect(existsSync(join(folder, "postgres"))).toBe(false);
});

test("programs that are not there are named with what to do", async () => {
  await expect(findBinaries("9", undefined)).rejects.toThrow("--from-binaries");
  await expect(findBinaries("9", folder)).rejects.toThrow(folder);
});

test("a folder without data, or a database of one's own, is refused", async () => {
  const none = upgradeData(config, { from_binaries: undefined }, teller, NOW);
  await expect(none).rejects.toThrow("There is no database in");
  const own = { ...config, database_url: "postgres://localhost/dues" };
  const refused = upgradeData(own, { from_binaries: undefined }, teller, NOW);
  await expect(refused).rejects.toThrow("DATABASE_URL is set");
});
