// The key that a database belongs to is written once. Each node of a cluster has a copy of it, so a
// process that wrote it at its start could not start while a node is away.

import { afterAll, expect, test } from "vitest";
import { takesKey } from "../../../src/store/backup/installation.ts";
import type { Db } from "../../../src/store/db/db.ts";
import { startApp } from "../../support/app.ts";

const app = await startApp();
afterAll(() => app.close());

const NOW = new Date("2026-01-10T09:00:00.000Z");
const KEY = Buffer.alloc(32, 1);

test("the first start keeps the key, later ones only read it", async () => {
  const { db } = app.context;
  expect(await takesKey(db, KEY, NOW)).toBe(true);
  const reader = {
    maybeOne: (query: Parameters<Db["maybeOne"]>[0]) => db.maybeOne(query),
    tx: () => Promise.reject(new Error("A node is away.")),
  } as unknown as Db;
  expect(await takesKey(reader, KEY, NOW)).toBe(true);
  expect(await takesKey(reader, Buffer.alloc(32, 2), NOW)).toBe(false);
});
