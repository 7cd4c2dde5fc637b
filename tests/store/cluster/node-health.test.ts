// Why a node does not answer, from what Citus says about it.

import { expect, test } from "vitest";
import { reasonIn } from "../../../src/store/cluster/node-health.ts";

test.each([
  [
    "connection to the remote node postgres@127.0.0.1:15702 failed with the following error: " +
      "Connection refused\n\tIs the server running on that host and accepting connections?",
    "Connection refused",
  ],
  ["could not establish connection after 2000 ms", "could not establish connection after 2000 ms"],
])("of %j the reason is kept", (warning, reason) => {
  expect(reasonIn([warning, "connection to the remote node failed"])).toBe(reason);
});

test("without a word from Citus it is no connection", () => {
  expect(reasonIn([])).toBe("no connection");
});
