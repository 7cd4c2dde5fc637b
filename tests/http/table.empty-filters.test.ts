// A filter whose value is empty finds nothing or is refused: a caller whose variable is empty must
// not be shown what belongs to everybody.

import type { TSchema } from "typebox";
import { expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { routeTable } from "../../src/http/table.ts";
import { type Json, sharedApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { happyCalls } from "../support/happy-calls.ts";
import { makeItem } from "../support/records.ts";

const app = await sharedApp({ at: "2026-01-10T09:00:00.000Z" });

const table = routeTable(
  app.context,
  { draining: false, schema_version: 0, warnings: [] },
  new Bounds(),
);

/** Not filters, or an empty one has a meaning of its own. */
const OTHERS = ["cursor", "search"];

type Filter = { readonly path: string; readonly name: string };

const filters: Filter[] = table
  .filter(({ method, path }) => method === "GET" && path.startsWith("/v1/") && !path.includes(":"))
  .flatMap(({ path, query }) =>
    Object.keys((query as (TSchema & { properties?: object }) | undefined)?.properties ?? {})
      .filter((name) => !OTHERS.includes(name))
      .map((name) => ({ path, name })),
  );

const rowsIn = (body: Json): number =>
  Object.values(body).find((value) => Array.isArray(value))?.length ?? 0;

/** Rows for the lists that those calls leave empty. */
async function addWhatIsLeft(own: Client): Promise<void> {
  await makeItem(own);
  await own.post("/v1/taxes", { code: "vat", name: "VAT", percent: "20" });
  await own.post("/v1/coupons", { code: "tenth", name: "Tenth", percent: "10" });
  const url = "https://hooks.example.com/left";
  await own.post("/v1/webhooks", { url, events: ["invoice.created"] });
}

test("an empty filter is never the same as none", async () => {
  const own = new Client(app, { token: app.profile.token, project: app.profile.project_id });
  for await (const _ of happyCalls(own));
  await addWhatIsLeft(own);
  const everything: string[] = [];
  const withoutRows = new Set<string>();
  let refused = 0;
  for (const { path, name } of filters) {
    const { body: all } = await own.call("GET", path);
    if (all.error === undefined && rowsIn(all) === 0) withoutRows.add(path);
    const { status, body } = await own.call("GET", `${path}?${name}=`);
    expect([200, 404, 422], `${path}?${name}= ${JSON.stringify(body)}`).toContain(status);
    if (status !== 200) refused += 1;
    else if (rowsIn(body) > 0) everything.push(`${path}?${name}=`);
  }
  expect(everything).toEqual([]);
  expect([...withoutRows]).toEqual([]);
  expect(refused).toBeGreaterThan(20);
});
