// What a read costs does not grow with what there is: every statement that the store can send to
// read is run on tables that are filled, by the plan that a prepared statement may have from its
// sixth call on, for somebody who has much and for somebody who is not there.

import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { onCluster } from "../../support/database.ts";
import { makeEveryRecord } from "../../support/every-record.ts";
import { multiply, rename } from "../../support/many-rows.ts";
import { code, makeInvoice, paymentOf } from "../../support/records.ts";
import { collect, PROJECT, type Sent, SOMEBODY } from "../laws/collect.ts";
import { COSTLY, type Costly } from "../laws/costly.ts";
import { CLUSTER_CATALOG, OWN_CONNECTIONS } from "../laws/exceptions.ts";
import { pagesOf } from "../laws/pages.ts";
import { storeSources } from "../laws/pieces.ts";

const NOBODY = "33333333-3333-4333-8333-333333333333";
/** Of a read that a caller waits for, and of what is asked every second. */
const READ_MAX = 500;
/** Statements and functions of the schema that write. */
const WRITES = /\b(insert into|delete from|record_usage|add_analytics_deltas)\b/;
const EACH_SECOND_MAX = 50;
const EACH_SECOND = /^src\/store\/work\//;
const AT_AN_OPERATORS_WORD = { ...CLUSTER_CATALOG, ...OWN_CONNECTIONS };

const app = await startApp({ at: "2026-03-05T09:00:00.000Z" });
const client = new pg.Client({ ...app.connection });
const own = new Client(app, { token: app.profile.token, project: app.profile.project_id });
let reads: readonly Sent[];

beforeAll(async () => {
  const records = await makeEveryRecord(own);
  const { payment } = await own.ok("POST", "/v1/payments", paymentOf(await makeInvoice(own)));
  const refund = { payment_id: payment.id, amount_cents: 1, provider_refund_id: code("r") };
  await own.post("/v1/refunds", refund);
  await client.connect();
  const kinds = ["customers", "subscriptions", "metrics", "plans", "invoices", "webhooks"];
  const ids = kinds.map((kind) => records[kind] ?? "");
  await rename(client, own.project, ids, SOMEBODY);
  const events = { rows: 60_000, owned: 30_000 };
  await multiply(client, own.project, { rows: 20_000, owned: 40 }, events);
  const sources = storeSources().filter(({ path }) => !(path in AT_AN_OPERATORS_WORD));
  reads = (await collect(sources)).filter(isSmallRead);
});
afterAll(async () => {
  await client.end();
  await app.close();
});

/** Pages of more than a hundred rows read as many times more. */
function isSmallRead({ text }: Sent): boolean {
  return /^\s*(select|with)\b/i.test(text) && !WRITES.test(text) && !text.includes("limit 1001");
}

function excuseFor({ file, sender, text }: Sent): Costly | undefined {
  const plain = text.replace(/\s+/g, " ");
  const at = `${file.replace("src/store/", "").replace(".ts", "")} ${sender}`;
  return COSTLY.find((one) => (one.at ?? at) === at && (one.text ?? /^/).test(plain));
}

/** By somebody who has much, by nobody, and by what somebody with much has nothing of. */
function asked(values: readonly unknown[]): (readonly unknown[])[] {
  const text = JSON.stringify(values).replaceAll(PROJECT, own.project);
  const much = JSON.parse(text) as unknown[];
  const places = much.flatMap((value, i) => (JSON.stringify(value)?.includes(SOMEBODY) ? [i] : []));
  if (places.length === 0) return [much];
  const rare = places.length > 1 ? places : [];
  return [
    much,
    JSON.parse(text.replaceAll(SOMEBODY, NOBODY)),
    ...rare.map((place) => much.with(place, JSON.parse(text.replaceAll(SOMEBODY, NOBODY))[place])),
  ];
}

test.skipIf(onCluster)("a read touches few pages, however much there is", async () => {
  expect(reads.length).toBeGreaterThan(300);
  const faults: string[] = [];
  const used = new Set<Costly>();
  for (const read of reads) {
    const { file, sender, text, values } = read;
    for (const given of asked(values)) {
      const pages = await pagesOf(client, { text, values: given });
      if (pages <= (EACH_SECOND.test(file) ? EACH_SECOND_MAX : READ_MAX)) continue;
      const excuse = excuseFor(read);
      if (excuse !== undefined) used.add(excuse);
      else faults.push(`${file} ${sender}, ${pages} pages: ${text.replace(/\s+/g, " ")}`);
    }
  }
  expect(faults).toEqual([]);
  expect(COSTLY.filter((one) => !used.has(one))).toEqual([]);
});
