// `dues doctor` as an operator runs it: beside the service on its embedded database, after it has
// stopped, and against a database that is not there.

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/processes.ts";

const MAIN = resolve(import.meta.dirname, "../../dist/cli/main.js");
const folder = mkdtempSync(join(tmpdir(), "dues-doctor-"));
const data = join(folder, "data");
const env = { PATH: process.env.PATH ?? "", HOME: folder, DUES_DATA: data, PORT: "0" };

let service: ChildProcess;

function run(args: readonly string[], more: Record<string, string> = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...env, ...more } });
  const ran = { child, out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    ran.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    ran.err += chunk;
  });
  const done = new Promise<number | null>((end) => child.once("close", (code) => end(code)));
  return { ran, done };
}

async function doctor(more: Record<string, string> = {}) {
  const { ran, done } = run(["doctor", "--json"], more);
  const code = await done;
  const { status, checks } = JSON.parse(ran.out);
  const found = new Map<string, { status: string; seen: string; advice: string | null }>(
    checks.map((each: { check: string }) => [each.check, each]),
  );
  return { code, status, found };
}

beforeAll(async () => {
  const { ran } = run(["serve"]);
  service = ran.child;
  await until(() => ran.out.includes("API reference"), 60_000);
});

afterAll(() => {
  service.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

test("beside the embedded database all is well, and each fault ends with 1", async () => {
  // Workers connect a moment after the banner.
  await until(async () => (await doctor()).found.get("workers")?.status === "ok");
  const { code, found } = await doctor();
  const wrong = [...found.values()].filter(({ status }) => !/^(ok|skipped)$/.test(status));
  // The disk is the machine's own.
  expect(wrong.filter((each) => each !== found.get("disk"))).toEqual([]);
  if (found.get("disk")?.status !== "fail") expect(code).toBe(0);
  for (const check of ["durability", "secret_key", "schema", "clock", "connections"]) {
    expect(found.get(check)?.status).toBe("ok");
  }

  chmodSync(join(data, "secret.key"), 0o644);
  const { ran, done } = run(["doctor"]);
  expect(await done).toBe(1);
  expect(ran.out).toMatch(/^fail {5}secret_key .*mode 0644\)\n +-> Run chmod 600 /m);
  expect(ran.out).toMatch(/\n\n\d+ checks: .* 1 failed, /);
  chmodSync(join(data, "secret.key"), 0o600);

  const open = await doctor({ HOST: "0.0.0.0" });
  expect(open).toMatchObject({ code: 1, status: "fail" });
  expect(open.found.get("key_creation")?.advice).toContain("KEY_CREATION=bootstrap");
});

test("after the service has stopped it says so, and ends with 0", async () => {
  const ended = new Promise((end) => service.once("close", end));
  service.kill("SIGTERM");
  await ended;
  const { code, status, found } = await doctor();
  expect(found.get("workers")).toMatchObject({ status: "warn" });
  expect({ code, status }).toEqual({ code: 0, status: "warn" });
});

test("a database that is away ends with 1", async () => {
  const { code, found } = await doctor({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/nowhere" });
  expect(code).toBe(1);
  expect(found.get("database")).toMatchObject({ status: "fail" });
});
