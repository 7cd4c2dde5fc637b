// What the doctor says of this machine: Node, key files and their modes, settings, the disk.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import {
  checkDisk,
  checkKeyCreation,
  checkKeyFile,
  checkNode,
  checkPortals,
  checkProfileFile,
  checkPublicAddress,
  diskOf,
} from "../../src/doctor/settings-checks.ts";
import { secretKeyFile } from "../../src/key-file.ts";

const KEY = "0".repeat(64);
const folders: string[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dues-doctor-"));
  folders.push(folder);
});
afterAll(() => {
  for (const each of folders) rmSync(each, { recursive: true, force: true });
});

function config(env: Record<string, string> = {}) {
  return readConfig({ DUES_DATA: folder, DATABASE_URL: "", SECRET_KEY: "", BASE_URL: "", ...env });
}

test.each([
  ["20.14.0", "fail"],
  ["20.15.0", "ok"],
  ["21.7.0", "fail"],
  ["22.1.0", "fail"],
  ["22.2.0", "ok"],
  ["24.0.0", "ok"],
])("Node %s is %s", (version, status) => {
  expect(checkNode(version).status).toBe(status);
});

test("the versions are those that package.json asks for", () => {
  expect(checkNode("21.7.0").advice).toBe(
    "Run dues with Node 22.2 or newer, or 20.15 or newer of Node 20.",
  );
  expect(checkNode("24.0.0", ">=26.1").status).toBe("fail");
});

describe("the key file", () => {
  const write = (text: string, mode: number) => {
    const file = secretKeyFile(config());
    writeFileSync(file, `${text}\n`);
    chmodSync(file, mode);
  };

  test("is missed", () => {
    expect(checkKeyFile(config())).toMatchObject({
      status: "fail",
      advice: expect.stringContaining("Set SECRET_KEY"),
    });
    expect(checkKeyFile(config({ SECRET_KEY: KEY })).status).toBe("ok");
  });

  test.each([0o600, 0o400])("is for its owner alone (%o)", (mode) => {
    write(KEY, mode);
    expect(checkKeyFile(config()).status).toBe("ok");
  });

  test.each([0o604, 0o640, 0o660, 0o644, 0o602])("is open to others (%o)", (mode) => {
    write(KEY, mode);
    expect(checkKeyFile(config())).toMatchObject({
      status: "fail",
      seen: expect.stringContaining(`mode 0${mode.toString(8)}`),
      advice: expect.stringContaining(`chmod 600 ${folder}`),
    });
  });

  test("holds something else", () => {
    write("no key", 0o600);
    expect(checkKeyFile(config()).status).toBe("fail");
  });

  test("is of this machine alone, where others may serve too", () => {
    write(KEY, 0o600);
    expect(checkKeyFile(config({ DATABASE_URL: "postgres://x/y" })).status).toBe("warn");
  });
});

test("the profile with its token is for its owner alone", () => {
  expect(checkProfileFile(config()).status).toBe("skipped");
  const file = join(folder, "dev.json");
  writeFileSync(file, "{}", { mode: 0o600 });
  expect(checkProfileFile(config()).status).toBe("ok");
  chmodSync(file, 0o644);
  expect(checkProfileFile(config()).status).toBe("fail");
});

test.each([
  ["127.0.0.1", "", "open", "ok"],
  ["::1", "", "open", "ok"],
  ["localhost", "", "open", "ok"],
  ["0.0.0.0", "", "open", "fail"],
  ["0.0.0.0", "", "bootstrap", "ok"],
  ["0.0.0.0", "", "authenticated", "ok"],
  ["127.0.0.1", "https://billing.example.com", "open", "fail"],
])("on %s as %s, key creation %s is %s", (HOST, BASE_URL, KEY_CREATION, status) => {
  expect(checkKeyCreation(config({ HOST, BASE_URL, KEY_CREATION })).status).toBe(status);
});

test("beyond this machine, limits and the proxy's word are recommended", () => {
  expect(checkPublicAddress(config()).status).toBe("skipped");
  const open = { HOST: "0.0.0.0", BASE_URL: "https://billing.example.com" };
  expect(checkPublicAddress(config(open))).toMatchObject({
    status: "warn",
    seen: expect.stringMatching(/RATE_READS.*TRUST_PROXY/),
  });
  const rates = { RATE_READS: "600", RATE_WRITES: "600", RATE_EVENTS: "6000", HEALTH_PORT: "9" };
  expect(checkPublicAddress(config({ ...open, ...rates, TRUST_PROXY: "1" })).status).toBe("ok");
  const one = checkPublicAddress(config({ ...open, ...rates, RATE_EVENTS: "0", TRUST_PROXY: "1" }));
  expect(one.status).toBe("warn");
  expect(one.seen).toMatch(/: RATE_EVENTS$/);
});

test("beyond this machine, metrics without a port of their own are called open to everybody", () => {
  const set = { HOST: "0.0.0.0", RATE_READS: "600", RATE_WRITES: "600", RATE_EVENTS: "6000" };
  const found = checkPublicAddress(config(set));
  expect(found).toMatchObject({ status: "warn", seen: expect.stringMatching(/: HEALTH_PORT$/) });
  expect(found.advice).toContain("everybody who reaches the API can read /metrics");
  expect(checkPublicAddress(config({ ...set, HEALTH_PORT: "9090" })).status).toBe("ok");
});

test("portals of sandboxes are not taken for live ones with signed links", () => {
  const open = config({ HOST: "0.0.0.0" });
  const seen = (live: number, open_ones: number) =>
    checkPortals(open, { value: { live, open: open_ones } });
  expect(seen(0, 0)).toMatchObject({ status: "ok", seen: expect.stringMatching(/no live/) });
  expect(seen(2, 0)).toMatchObject({ status: "ok", seen: expect.stringMatching(/signed links/) });
  expect(seen(2, 1)).toMatchObject({ status: "warn", seen: expect.stringMatching(/of 1 live/) });
});

describe("the disk", () => {
  const GB = 1024 ** 3;

  test.each([
    [100, 100, "ok"],
    [14, 100, "warn"],
    [4, 100, "fail"],
    [4, 20, "warn"],
    [0.9, 5, "fail"],
  ])("with %d of %d GB free is %s", (free, all, status) => {
    const disk = { free_bytes: free * GB, all_bytes: all * GB };
    expect(checkDisk(config(), disk).status).toBe(status);
  });

  test("is that of the folder, and not that of another server", () => {
    expect(diskOf(folder)?.all_bytes).toBeGreaterThan(0);
    expect(checkDisk(config(), diskOf(join(folder, "none"))).status).toBe("skipped");
    const other = config({ DATABASE_URL: "postgres://x/y" });
    expect(checkDisk(other, { free_bytes: 0, all_bytes: 1 }).status).toBe("skipped");
  });
});
