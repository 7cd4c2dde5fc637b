// The steps from one schema to the next: each once and in order, on rows that are there, and never
// on a database that another version has changed.

import { afterEach, beforeEach, expect, test } from "vitest";
import {
  listMigrations,
  type Migration,
  migrate,
  SchemaError,
} from "../../../src/store/migration/migrate.ts";
import { admin, emptyDatabase, onClient } from "../../support/database.ts";
import { describeSchema } from "../../support/describe-schema.ts";
import {
  LATER_NAMES,
  laterMigrations,
  ours,
  TENANTS,
  theirs,
} from "../../support/later-versions.ts";

let database: Awaited<ReturnType<typeof emptyDatabase>>;
beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(() => database.drop());

const ask = (text: string) =>
  onClient(database.connection, async (client) => (await client.query(text)).rows);
const applied = async () =>
  (await ask("select name from schema_migrations order by version")).map(({ name }) => name);

test("an empty database gets all migrations, and a second start none", async () => {
  const names = (await listMigrations()).map(({ name }) => name);
  expect(await migrate(database.connection)).toEqual(names);
  expect(await migrate(database.connection)).toEqual([]);
  expect(await applied()).toEqual(names);
});

test("a later version applies what is missing, in order, to the rows that are there", async () => {
  const names = await migrate(database.connection);
  await admin(database.connection, TENANTS);
  const later = await laterMigrations();
  expect(await migrate(database.connection, later)).toEqual(LATER_NAMES);
  expect(await applied()).toEqual([...names, ...LATER_NAMES]);
  expect(
    await ask(
      "select project_id, words, motto from badges join projects p on p.id = project_id order by 1",
    ),
  ).toEqual([
    { project_id: ours, words: "live", motto: "live" },
    { project_id: theirs, words: "live", motto: "live" },
  ]);
  expect(await migrate(database.connection, later)).toEqual([]);
});

test("a database that has climbed step by step is as one that was made at once", async () => {
  const later = await laterMigrations();
  for (const count of later.keys()) {
    await migrate(database.connection, later.slice(0, count + 1));
  }
  const fresh = await emptyDatabase();
  try {
    await migrate(fresh.connection, later);
    const climbed = await describeSchema(database.connection);
    expect(climbed).toBe(await describeSchema(fresh.connection));
    expect(climbed).toContain("create table stickers");
  } finally {
    await fresh.drop();
  }
});

test("of starters at the same time one applies each migration, the others wait", async () => {
  const later = await laterMigrations();
  const starts = await Promise.all(
    Array.from({ length: 3 }, () => migrate(database.connection, later)),
  );
  expect(starts.flat().toSorted()).toEqual(later.map(({ name }) => name));
});

test("a migration that fails leaves nothing of itself, and those before it in place", async () => {
  const broken: Migration = {
    version: 9_004,
    name: "9004_broken.sql",
    text: "create table left_behind (id integer); insert into left_behind values (1 / 0)",
  };
  const later = await laterMigrations();
  await expect(migrate(database.connection, [...later, broken])).rejects.toThrow(
    "division by zero",
  );
  expect(await ask("select to_regclass('left_behind') as found")).toEqual([{ found: null }]);
  expect((await applied()).at(-1)).toBe(LATER_NAMES.at(-1));
  expect(await migrate(database.connection, later)).toEqual([]);
});

test("a database of a newer version is refused, with what to start", async () => {
  await migrate(database.connection, await laterMigrations());
  const refused = migrate(database.connection);
  await expect(refused).rejects.toThrow(SchemaError);
  await expect(refused).rejects.toThrow(
    `The database has migration ${LATER_NAMES.at(-1)}, which this version of dues does not know.`,
  );
});

test("one that was changed after it was applied is refused, and nothing follows", async () => {
  const [first, ...others] = await laterMigrations();
  if (first === undefined) throw new Error("There are migrations.");
  await migrate(database.connection, [first]);
  const changed = { ...first, text: `${first.text}\n-- One more word.` };
  await expect(migrate(database.connection, [changed, ...others])).rejects.toThrow(
    `Migration ${first.name} was changed after it was applied. Restore the file.`,
  );
  expect(await applied()).toEqual([first.name]);
});
