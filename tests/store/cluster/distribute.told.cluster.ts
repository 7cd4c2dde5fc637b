// What a distribution on a real cluster tells: how many shards there are, which stays, and each
// migration that it applies.

import { afterEach, beforeEach, expect, test } from "vitest";
import { distribute } from "../../../src/store/cluster/distribute.ts";
import { listMigrations } from "../../../src/store/migration/migrate.ts";
import { emptyCluster } from "../../support/cluster.ts";

const SHARDS = 4;
const NOBODY = { starting() {}, done() {} };

let cluster: Awaited<ReturnType<typeof emptyCluster>>;
beforeEach(async () => {
  cluster = await emptyCluster();
});
afterEach(() => cluster.drop());

test("the number of shards stays, and who asks for another is told", async () => {
  const asking = (shards?: number) => distribute(cluster.connection, { shards, progress: NOBODY });
  expect(await asking(SHARDS)).toMatchObject({ shards: SHARDS, warnings: [] });
  const { shards, warnings } = await asking(8);
  expect(shards).toBe(SHARDS);
  expect(warnings).toEqual([
    expect.stringMatching(/^--shards 8 was not taken: .* over 4 shards.*dues backup.*--shards 8/),
  ]);
  for (const same of [undefined, SHARDS]) {
    expect(await asking(same)).toMatchObject({ shards: SHARDS, warnings: [] });
  }
});

test("each migration is told before and after it is applied", async () => {
  const told: string[] = [];
  const { applied } = await distribute(cluster.connection, {
    shards: SHARDS,
    progress: {
      ...NOBODY,
      migrating: (name, before, total) => told.push(`${before} of ${total}: ${name}`),
      migrated: (name) => told.push(name),
    },
  });
  const all = (await listMigrations()).map(({ name }) => name);
  expect(applied).toEqual(all);
  expect(told).toEqual(all.flatMap((name, n) => [`${n} of ${all.length}: ${name}`, name]));
});
