// `dues doctor` as an operator runs it: beside the service on its embedded database, after it has
// stopped, and against a database that is not there.

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { quickFolder } from "../../support/folders.ts";
import { type ServiceProcess, startService, until } from "../../support/processes.ts";
import { runTool } from "../../support/tool.ts";

const folder = mkdtempSync(join(quickFolder(), "dues-doctor-"));
const data = join(folder, "data");
const env = { HOME: folder, DUES_DATA: data, PORT: "0" };

let service: ServiceProcess;

async function doctor(more: Record<string, string> = {}) {
  const { code, out } = await runTool(["doctor", "--json"], { env: { ...env, ...more } });
  const { status, checks } = JSON.parse(out);
  const found = new Map<string, { status: string; seen: string; advice: string | null }>(
    checks.map((each: { check: string }) => [each.check, each]),
  );
  return { code, status, found };
}

beforeAll(async () => {
  const own = { ...env, DATABASE_URL: "", SECRET_KEY: "" };
  service = await startService({ connection: {}, role: "all", env: own });
});

afterAll(async () => {
  await service.signal("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

test("beside the embedded database all is well, and each fault ends with 1", async () => {
  // The workers' thread connects, and tells of its jobs, a moment after the banner.
  await until(async () => {
    const { found } = await doctor();
    return found.get("workers")?.status === "ok" && /billing/.test(found.get("jobs")?.seen ?? "");
  });
  const { code, found } = await doctor();
  const wrong = [...found.values()].filter(({ status }) => !/^(ok|skipped)$/.test(status));
  // The disk is the machine's own.
  expect(wrong.filter((each) => each !== found.get("disk"))).toEqual([]);
  if (found.get("disk")?.status !== "fail") expect(code).toBe(0);
  for (const check of ["durability", "secret_key", "schema", "clock", "connections"]) {
    expect(found.get(check)?.status).toBe("ok");
  }
  // Jobs of the workers' thread and of the main one, at the port that the start has chosen.
  const { seen = "" } = found.get("jobs") ?? {};
  for (const job of ["billing", "webhook_results", "backlog", "last_used"]) {
    expect(seen).toMatch(new RegExp(`${job} (\\d+ s ago, \\d+ done in|has not ended a run)`));
  }

  chmodSync(join(data, "secret.key"), 0o644);
  const told = await runTool(["doctor"], { env });
  expect(told.code).toBe(1);
  expect(told.out).toMatch(/^fail {5}secret_key .*mode 0644\)\n +-> Run chmod 600 /m);
  expect(told.out).toMatch(/\n\n\d+ checks: .* 1 failed, /);
  chmodSync(join(data, "secret.key"), 0o600);

  const open = await doctor({ HOST: "0.0.0.0" });
  expect(open).toMatchObject({ code: 1, status: "fail" });
  expect(open.found.get("key_creation")?.advice).toContain("KEY_CREATION=bootstrap");
});

test("after the service has stopped it says so, and ends with 0", async () => {
  await service.signal("SIGTERM");
  const { code, status, found } = await doctor();
  expect(found.get("workers")).toMatchObject({ status: "warn" });
  expect(found.get("jobs")).toMatchObject({
    status: "skipped",
    seen: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ was asked .*ECONNREFUSED/),
  });
  expect({ code, status }).toEqual({ code: 0, status: "warn" });
});

test("a database that is away ends with 1", async () => {
  const { code, found } = await doctor({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/nowhere" });
  expect(code).toBe(1);
  expect(found.get("database")).toMatchObject({ status: "fail" });
});
