// Every test is watched for transactions that take their locks out of order. That the watch sees
// them is held here, on statements as the store sends them.

import { expect, test } from "vitest";
import { LockOrder } from "../support/lock-order.ts";

const A = "00000000-0000-7000-8000-00000000000a";
const B = "00000000-0000-7000-8000-00000000000b";

const lock = (table: string) =>
  `select 1 from ${table} where project_id = $1 and id = any($2::uuid[]) order by id for share`;
const COUNT = `insert into invoice_counters as c (project_id, year, last) values ($1, $2, $3)
  on conflict (project_id, year) do update set last = c.last + 1`;
const RENEW = `update subscriptions s set period_no = n.period_no
  from unnest($1::uuid[], $2::integer[]) as n (id, period_no)
  where s.project_id = $3 and s.id = n.id`;
const DUE = `select s.id from subscriptions s where s.project_id = $1 limit 2
  for no key update skip locked`;

type Step = readonly [text: string, values?: readonly unknown[], rows?: readonly unknown[]];

/** What is found in a transaction of these statements: the first line of each. */
function found(...steps: Step[]): string[] {
  const order = new LockOrder();
  const client = {};
  for (const [text, values = [], rows = []] of [["begin"] as const, ...steps]) {
    order.sent(client, text, values)(rows);
  }
  return order.take().map((breach) => breach.split("\n")[0] ?? "");
}

test("locks in their order are in order, also when they are taken again", () => {
  const inOrder: Step[] = [
    [lock("plans"), ["p", [A]]],
    [lock("subscriptions"), ["p", [A, B]]],
    ["select lock_usage($1, $2::integer[], $3)", ["p", [1], true]],
    [lock("customers"), ["p", [B]]],
    [COUNT, ["p", 2026, 1]],
    [lock("plans"), ["p", [A]]],
    [RENEW, [`{${A},${B}}`, "{1,2}", "p"]],
    ["update subscriptions set status = $1 where project_id = $2 and id = $3", ["x", "p", B]],
    [COUNT, ["p", 2026, 2]],
    ["update log_heads set last = last + 1 where project_id = $1", ["p"]],
  ];
  expect(found(...inOrder)).toEqual([]);
});

test("rows that were found due are held by their ids", () => {
  const due: Step = [DUE, ["p"], [{ id: A }, { id: B }]];
  const usage: Step = ["select lock_usage($1, $2::integer[], $3)", ["p", [1], true]];
  expect(found(due, usage, [RENEW, [`{${A},${B}}`, "{1,2}", "p"]])).toEqual([]);
  expect(found([DUE, ["p"], [{ id: A }]], usage, [RENEW, [`{${A},${B}}`, "{1,2}", "p"]])).toEqual([
    "subscriptions behind usage locks:",
  ]);
});

test.each<[string, Step, Step]>([
  ["catalog_items behind plans", [lock("plans"), ["p", [A]]], [lock("catalog_items"), ["p", [A]]]],
  ["customers behind invoice_counters", [COUNT, ["p", 2026, 1]], [lock("customers"), ["p", [A]]]],
  [
    "plans behind subscriptions",
    ["update subscriptions set ends_at = $1 where project_id = $2 and id = $3", [null, "p", A]],
    [lock("plans"), ["p", [A]]],
  ],
  [
    "subscriptions behind customers",
    [lock("customers"), ["p", [A]]],
    ["update subscriptions set ends_at = $1 where project_id = $2 and id = $3", [null, "p", A]],
  ],
  [
    "usage locks behind one of a greater id",
    ["select lock_usage($1, $2::integer[], $3)", ["p", [1024], true]],
    ["select lock_usage($1, $2::integer[], $3)", ["p", [7], true]],
  ],
  [
    "customers behind one of a greater id",
    [lock("customers"), ["p", [B]]],
    [lock("customers"), ["p", [A]]],
  ],
])("found: %s", (breach, first, second) => {
  expect(found(first, second)).toEqual([`${breach}:`]);
  expect(found(first, ["commit"], second)).toEqual([]);
});

test("a ring is told, whatever the order was", () => {
  const order = new LockOrder();
  order.failed({ code: "40P01", detail: "Process 1 waits for Process 2." }, lock("plans"));
  order.failed({ code: "23505" }, lock("plans"));
  expect(order.take()).toEqual([expect.stringMatching(/a ring.*plans[\s\S]*Process 1 waits/)]);
  expect(order.take()).toEqual([]);
});
