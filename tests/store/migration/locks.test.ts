// Who is named when a migration has waited too long on a cluster.

import type pg from "pg";
import { expect, test } from "vitest";
import { holdersOnNodes } from "../../../src/store/migration/locks.ts";

const HOLDERS = [{ pid: 7, name: "caller", state: "active", age_s: 3 }];
const LOCKS = [{ table: "customers", mode: "access exclusive" as const }];

/** A coordinator that answers for itself, and for its nodes as it is told. */
function coordinator(askNodes: () => object[]) {
  const sent: string[] = [];
  const query = async (text: string) => {
    sent.push(text);
    if (text.includes("run_command_on_all_nodes")) return { rows: askNodes() };
    return { rows: [{ holders: HOLDERS }] };
  };
  return { sent, client: { query } as unknown as pg.ClientBase };
}

test("those of every node, each with its node", async () => {
  const answer = JSON.stringify(HOLDERS);
  const { client } = coordinator(() => [{ address: "w1:5432", success: true, answer }]);
  expect(await holdersOnNodes(client, LOCKS)).toEqual([
    'process 7 on w1:5432 ("caller", active for 3 s)',
  ]);
});

test("when a node does not answer in time, that is said beside those of the coordinator", async () => {
  const { client, sent } = coordinator(() => {
    throw new Error("canceling statement due to statement timeout");
  });
  expect(await holdersOnNodes(client, LOCKS)).toEqual([
    'process 7 ("caller", active for 3 s)',
    "perhaps a node that does not answer",
  ]);
  expect(sent[0]).toMatch(/^set statement_timeout = \d+$/);
  expect(sent.at(-1)).toBe("reset statement_timeout");
});
