// A database that cannot be used is named as the operator knows it, with the reason and without the
// password.

import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../../src/store/db/connect.ts";
import { databaseUrl, emptyDatabase } from "../../support/database.ts";

let silent: Server;
let silentPort: number;
beforeAll(async () => {
  silent = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const address = silent.address();
  silentPort = typeof address === "object" ? (address?.port ?? 0) : 0;
});
afterAll(() => silent.close());

async function failure(connectionString: string, within_ms?: number): Promise<string> {
  const failed = await connect({ connectionString }, "dues test", within_ms).then(
    () => "it connected",
    (error: Error) => error.message,
  );
  expect(failed).not.toContain("s3cret");
  return failed;
}

test.each([
  ["127.0.0.1:9/dues", "connect ECONNREFUSED 127.0.0.1:9"],
  ["localhost:9/dues", "connect ECONNREFUSED"],
  ["nowhere.invalid:5432/dues", "getaddrinfo ENOTFOUND nowhere.invalid"],
])("%s did not answer, and why", async (place, reason) => {
  const said = await failure(`postgres://me:s3cret@${place}`);
  expect(said).toMatch(
    new RegExp(`^The database of DATABASE_URL \\(${place}\\) did not answer: .*${reason}`),
  );
});

test("a server that says nothing is given up in time", async () => {
  const place = `127.0.0.1:${silentPort}/dues`;
  expect(await failure(`postgres://me:s3cret@${place}`, 200)).toBe(
    `The database of DATABASE_URL (${place}) did not answer within 0.2 seconds.`,
  );
});

test("what the server refuses is said in its own words", async () => {
  const { connection, drop } = await emptyDatabase();
  const url = databaseUrl(connection).replace(/\/[^/?]*(\?|$)/, "/no_such_database$1");
  expect(await failure(url)).toMatch(
    /^The database of DATABASE_URL \(.*\/no_such_database\) did not let us in: .*does not exist/,
  );
  await drop();
});

test("the embedded database is called that", async () => {
  const attempt = connect({ host: "/nowhere", database: "dues" }, "dues test");
  await expect(attempt).rejects.toThrow(/^The embedded database did not answer: connect ENOENT/);
});
