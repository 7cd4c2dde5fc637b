// The disk of the database is full for a while: writes are refused as ones to be tried again, reads
// go on, health says what is wrong, and with room again all goes on by itself.

import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startEmbedded } from "../../src/embedded/start.ts";
import { sql } from "../../src/store/db/sql.ts";
import { migrate } from "../../src/store/migration/migrate.ts";
import { checkInvariants } from "../support/invariants.ts";
import { type HttpAnswer, type ServiceProcess, until } from "../support/processes.ts";
import { Fleet } from "./fleet.ts";

const DISK_MB = 192;
const CALLERS = 4;
const REFUSALS = 20;
const BACK_MS = 15_000;
const WRITTEN_BYTES = [1024 * 1024, 4096];

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** A small disk; undefined, and a word about it, where this process may not mount one. */
function makeDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "dues-disk-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", folder], {
      stdio: "ignore",
    });
  } catch {
    process.stderr.write("No disk can be mounted here (needs root on Linux): none is filled.\n");
    return undefined;
  }
  undo.push(() => execFileSync("umount", ["--lazy", folder]));
  return folder;
}

/** Takes all that is left, to the last page. */
function fill(disk: string): string {
  const path = join(disk, "filler");
  const file = openSync(path, "w");
  for (const bytes of WRITTEN_BYTES) {
    try {
      for (;;) writeSync(file, Buffer.alloc(bytes));
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
  }
  closeSync(file);
  return path;
}

async function openFleet(disk: string): Promise<Fleet> {
  const settings = { max_wal_size: "64MB", min_wal_size: "32MB" };
  const application_name = `full disk (${process.pid})`;
  const embedded = await startEmbedded({ folder: disk, application_name, settings });
  undo.push(() => embedded.stop());
  await migrate(embedded.connection);
  const fleet = await Fleet.open({ connection: embedded.connection, drop: async () => {} });
  undo.push(() => fleet.close());
  return fleet;
}

/** Makes customers until told to stop; keeps who was acknowledged, and every other answer. */
function load(fleet: Fleet, api: ServiceProcess) {
  const acknowledged: string[] = [];
  const others: HttpAnswer[] = [];
  let stopped = false;
  let n = 0;
  const running = Array.from({ length: CALLERS }, async () => {
    while (!stopped) {
      const external_id = `c-${n++}`;
      const body = { external_id, name: "x".repeat(200) };
      const answer = await fleet.caller.call(api, "POST", "/v1/customers", body);
      if (answer.status === 201) acknowledged.push(external_id);
      else others.push(answer);
    }
  });
  const stop = async () => {
    stopped = true;
    await Promise.all(running);
  };
  return { acknowledged, others, stop };
}

test("a full disk costs writes until there is room, and nothing that was acknowledged", {
  timeout: 120_000,
}, async ({ skip }) => {
  const disk = makeDisk();
  if (disk === undefined) return skip();
  const fleet = await openFleet(disk);
  const [api] = await fleet.start("all");
  const status = async () => (await fleet.caller.call(api, "GET", "/readyz")).body.status;
  const { acknowledged, others, stop } = load(fleet, api);
  try {
    await until(() => acknowledged.length > 100, BACK_MS);
    // The log has a new segment: what is full is the room for tables, and the server stays.
    await fleet.db.one(sql`select pg_switch_wal()`);
    const filler = fill(disk);
    await until(() => others.length >= REFUSALS, BACK_MS);
    expect(await status()).toBe("writes_fail");
    const [first] = acknowledged;
    const read = await fleet.caller.call(api, "GET", `/v1/customers/ext:${first}`);
    expect(read.status).toBe(200);

    rmSync(filler);
    const before = acknowledged.length;
    await until(() => acknowledged.length > before + 100, BACK_MS);
    expect(await status()).toBe("ok");
  } finally {
    await stop();
  }
  expect(new Set(others.map((answer) => answer.status))).toEqual(new Set([503]));
  const { error } = others[0]?.body ?? {};
  expect(error).toMatchObject({ code: "unavailable", retryable: true });
  expect(error.message).toContain("no room left on its disk");
  const kept = await fleet.db.many<{ external_id: string }>(sql`select external_id from customers`);
  const found = new Set(kept.map(({ external_id }) => external_id));
  expect(acknowledged.filter((external_id) => !found.has(external_id))).toEqual([]);
  expect(await checkInvariants(fleet.db)).toEqual([]);
});
