// A customer from before ids began with a prefix is looked for in all projects that have such ones;
// while a node is away, in those of the others.

import { afterAll, beforeAll, expect, test } from "vitest";
import { unavailable } from "../../src/store/failures.ts";
import { find } from "../../src/store/portal.ts";
import { sql } from "../../src/store/sql.ts";
import { startApp } from "../support/app.ts";
import { type Client, newProject } from "../support/client.ts";
import { makeCustomer } from "../support/records.ts";

const app = await startApp();
afterAll(() => app.close());
const { db } = app.context;

const AWAY = unavailable("The node is away.", undefined);
let [here, away]: Client[] = [];
let [ofHere, ofAway]: string[] = [];

beforeAll(async () => {
  const olderIn = async (prefix: string) => {
    const api = await newProject(app, "2026-01-10T09:00:00.000Z");
    const { id } = await makeCustomer(api);
    await db.run(sql`
      update projects
         set has_older_customers = true, customer_prefix = ${prefix}
       where id = ${api.project}`);
    return [api, id] as const;
  };
  [away, ofAway] = await olderIn("0000000a");
  [here, ofHere] = await olderIn("0000000b");
});

/** The database while the node of the project `away` does not answer. */
function withoutNode() {
  const silent = { maybeOne: () => Promise.reject(AWAY) };
  return {
    ...{ many: db.many.bind(db), maybeOne: db.maybeOne.bind(db) },
    forEveryNode: () => silent,
    forProject: (project: string) => (project === away?.project ? silent : db),
  } as unknown as typeof db;
}

test("all nodes are there", async () => {
  expect(await find(db, ofHere ?? "")).toMatchObject({ project_id: here?.project });
  expect(await find(db, "0000000c-0000-7000-8000-000000000000")).toBeUndefined();
});

test("a node is away: the customers of the others are found, of the rest nobody knows", async () => {
  expect(await find(withoutNode(), ofHere ?? "")).toMatchObject({ project_id: here?.project });
  for (const id of [ofAway ?? "", "0000000c-0000-7000-8000-000000000000"]) {
    await expect(find(withoutNode(), id)).rejects.toMatchObject({ status: 503 });
  }
});
