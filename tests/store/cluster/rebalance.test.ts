// A rebalance where there is no cluster, and Citus' failures as sentences.

import { expect, test } from "vitest";
import { failureText, rebalance } from "../../../src/store/cluster/rebalance.ts";
import { emptyDatabase } from "../../support/database.ts";

test("a PostgreSQL without Citus is refused", async () => {
  const { connection, drop } = await emptyDatabase();
  const refused = rebalance(connection, { onProgress() {}, signal: new AbortController().signal });
  await expect(refused).rejects.toThrow(/a PostgreSQL without Citus.*Point it at the coordinator/);
  await drop();
});

test.each([
  [
    "ERROR: ERROR:  logical decoding requires wal_level >= logical\n" +
      "CONTEXT: while executing command on 127.0.0.1:15703\n" +
      "Citus Background Task Queue Executor: dues/postgres for (2/7)\n",
    "logical decoding requires wal_level >= logical (node 127.0.0.1:15703). " +
      "Set wal_level = logical in postgresql.conf there and restart the server.",
  ],
  [
    "ERROR: all replication slots are in use\nCONTEXT: while executing command on w1:5432",
    "all replication slots are in use (node w1:5432). " +
      "Raise max_replication_slots and max_wal_senders in postgresql.conf there and restart.",
  ],
  [
    "ERROR: Could not fetch disk stats for node: w1-5432",
    "Could not fetch disk stats for node: w1-5432. Start the node: dues cluster status names it.",
  ],
  ["something new.", "something new."],
])("%j becomes what went wrong and what to do", (message, text) => {
  expect(failureText(message)).toBe(text);
});
