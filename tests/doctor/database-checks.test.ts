// What the doctor makes of a database's answers, also of those that a test cannot bring about.

import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import {
  checkArchive,
  checkClock,
  checkConnections,
  checkDurability,
  checkEncoding,
  checkIdAge,
  checkReplication,
  checkSchema,
  checkTransactions,
  checkVersion,
} from "../../src/doctor/database-checks.ts";
import { duration } from "../../src/doctor/finding.ts";

const GB = 1024 ** 3;

describe("what is confirmed is on the disk", () => {
  const node = {
    address: "a:5432",
    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",
  };

  test("when all is on, at every node", () => {
    expect(checkDurability([node, { ...node, synchronous_commit: "remote_apply" }])).toMatchObject({
      status: "ok",
      seen: expect.stringContaining("on, remote_apply"),
    });
  });

  test.each(["fsync", "full_page_writes", "synchronous_commit"])("not without %s", (name) => {
    const found = checkDurability([node, { ...node, address: "b:5432", [name]: "off" }]);
    expect(found).toMatchObject({ status: "fail", seen: `${name} is off at b:5432` });
  });
});

test.each([
  [140_012, "fail"],
  [150_000, "ok"],
  [180_004, "ok"],
])("PostgreSQL %d is %s", (number, status) => {
  expect(checkVersion({ text: "x", number, citus: [] }).status).toBe(status);
});

test("versions of Citus that keep every plan are warned of", () => {
  const plain = { text: "17.2", number: 170_002 };
  expect(checkVersion({ ...plain, citus: ["13.2.0"] })).toMatchObject({
    status: "ok",
    seen: "PostgreSQL 17.2, Citus 13.2.0",
  });
  expect(checkVersion({ ...plain, citus: ["13.2.0", "13.2.2"] })).toMatchObject({
    status: "warn",
    advice: expect.stringContaining("13.2.0"),
  });
});

test("an older schema is to be migrated, a newer one is an upgrade that is under way", () => {
  expect(checkSchema(12, 12).status).toBe("ok");
  expect(checkSchema(11, 12)).toMatchObject({
    status: "fail",
    advice: expect.stringContaining("dues migrate"),
  });
  expect(checkSchema(13, 12).status).toBe("warn");
});

test.each([
  [0, 1, "60", "ok"],
  [-999, 5, "60", "ok"],
  [1_100, 200, "60", "ok"],
  [1_100, 50, "60", "warn"],
  [-10_100, 50, "60", "fail"],
  [3_100, 50, "3", "fail"],
  [3_100, 50, "0", "warn"],
])("a clock %d ms ahead, give or take %d, of %s s allowed, is %s", (ahead_ms, unsure_ms, s, is) => {
  const config = readConfig({ CLOCK_SKEW_LIMIT_S: s, BASE_URL: "" });
  expect(checkClock({ ahead_ms, unsure_ms }, config).status).toBe(is);
});

describe("connections", () => {
  const sessions = { api: 0, worker: 0, listening: 0 };
  const config = readConfig({ DATABASE_POOL: "10", BASE_URL: "" });

  test.each([
    [10, 100, "ok"],
    [83, 100, "warn"],
    [85, 100, "warn"],
    [0, 16, "fail"],
  ])("%d of %d in use is %s", (used, max, status) => {
    expect(checkConnections({ ...sessions, used, max }, config).status).toBe(status);
  });
});

test("open transactions are named with the statement that ends them", () => {
  expect(checkTransactions([]).status).toBe("ok");
  const open = { id: "77", name: "psql", state: "idle in transaction", age_s: 400 };
  expect(checkTransactions([open])).toMatchObject({
    status: "warn",
    seen: "open: 77 (psql, idle in transaction) for 6 min",
    advice: expect.stringContaining("pg_terminate_backend(77)"),
  });
  const prepared = { id: "x_1", name: "dues", state: "prepared", age_s: 3_600 };
  expect(checkTransactions([open, prepared])).toMatchObject({
    status: "fail",
    advice: expect.stringContaining("rollback prepared 'x_1'"),
  });
});

test.each([
  [50_000_000, "ok"],
  [1_000_000_000, "warn"],
  [1_900_000_000, "fail"],
])("transaction ids %d old are %s", (age, status) => {
  expect(checkIdAge(age).status).toBe(status);
});

test("an archive that fails is told, one that is off is left alone", () => {
  const good = { mode: "on", is_failing: false, failed_for_s: null, last_failed_wal: null };
  expect(checkArchive(good).status).toBe("ok");
  expect(checkArchive({ ...good, mode: "off" }).status).toBe("skipped");
  const bad = { ...good, is_failing: true, failed_for_s: 120, last_failed_wal: "00A" };
  expect(checkArchive(bad)).toMatchObject({
    status: "fail",
    seen: "00A could not be archived, 2 min ago",
  });
});

describe("replication", () => {
  const standby = { name: "s1", state: "streaming", lag_s: 0.1, lag_bytes: 10 };
  const slot = { name: "slot1", is_active: true, wal_status: "reserved", held_bytes: 10 };
  type Given = { standbys?: object[]; slots?: object[]; isStandby?: boolean };
  const check = ({ standbys = [], slots = [], isStandby = false }: Given) =>
    checkReplication({
      is_standby: { value: isStandby },
      standbys: { value: standbys as (typeof standby)[] },
      slots: { value: slots as (typeof slot)[] },
    });

  test.each<[string, Given, string]>([
    ["no standby", {}, "skipped"],
    ["one that follows", { standbys: [standby], slots: [slot] }, "ok"],
    ["one that is late", { standbys: [{ ...standby, lag_s: 61 }] }, "warn"],
    ["one that lacks much", { standbys: [{ ...standby, lag_bytes: 2 * GB }] }, "warn"],
    ["one that cannot be seen", { standbys: [{ ...standby, lag_s: null, lag_bytes: null }] }, "ok"],
    ["a slot left behind", { slots: [{ ...slot, is_active: false, held_bytes: 2 * GB }] }, "warn"],
    ["a slot that is lost", { slots: [{ ...slot, wal_status: "lost" }] }, "fail"],
    ["a standby itself", { isStandby: true }, "fail"],
  ])("%s", (_, given, status) => {
    expect(check(given).status).toBe(status);
  });

  test("what may not be read is skipped, with the reason", () => {
    const why = { why: "permission denied" };
    expect(checkReplication({ is_standby: why, standbys: why, slots: why })).toEqual({
      status: "skipped",
      seen: "could not be read: permission denied",
      advice: null,
    });
  });
});

test.each([
  [90, "90 s"],
  [120, "2 min"],
  [7_199, "119 min"],
  [7_200, "2 h"],
  [200_000, "2 days"],
])("%d seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test("only UTF8 keeps what callers send", () => {
  expect(checkEncoding("UTF8").status).toBe("ok");
  expect(checkEncoding("SQL_ASCII")).toMatchObject({ status: "fail" });
});
