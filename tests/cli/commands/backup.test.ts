// `dues backup`, `restore` and `resume` as an operator runs them, on databases of a server.

import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { InvalidArgumentError } from "commander";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { nextCreditNote, nextInvoice } from "../../../src/cli/commands/backup.ts";
import { readSecretKey } from "../../../src/key-file.ts";
import { checkSecretKey } from "../../../src/service/open-store.ts";
import { migrate } from "../../../src/store/migration/migrate.ts";
import { testConfig } from "../../support/app.ts";
import { contentsOf } from "../../support/contents.ts";
import { databaseUrl, emptyDatabase, onClient } from "../../support/database.ts";
import { type Shell, startShell } from "../support.ts";

const SECRET_KEY = "the key that this database belongs to";

let shell: Shell;
let file: string;
let target: Awaited<ReturnType<typeof emptyDatabase>>;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00Z", env: { SECRET_KEY } });
  const { app } = shell;
  await checkSecretKey(app.context.db, app.context.secret_key, new Date());
  const price = { interval: "monthly", amount_cents: 100, amount_currency: "USD" };
  const { plan } = await app.post("/v1/plans", { code: "p", name: "P", ...price });
  const { customer } = await app.post("/v1/customers", { external_id: "c", name: "C" });
  const ids = { external_id: "s", customer_id: customer.id, plan_id: plan.id };
  await app.post("/v1/subscriptions", ids);
  await app.travelTo("2026-03-05T00:00:00.000Z");
  file = join(shell.folder, "kept.gz");
  use(databaseUrl(app.connection));
  expect((await shell.run(["backup", file])).code).toBe(0);
});
afterAll(() => shell.close());
beforeEach(async () => {
  target = await emptyDatabase();
  use(databaseUrl(target.connection));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await target.drop();
});

/** The commands read the environment of the process. */
function use(url: string, key = SECRET_KEY, folder = join(shell.folder, "data")): void {
  // The test runner has one of its own.
  vi.stubEnv("BASE_URL", "");
  vi.stubEnv("DATABASE_URL", url);
  vi.stubEnv("SECRET_KEY", key);
  vi.stubEnv("DUES_DATA", folder);
}

function useSource(): void {
  use(databaseUrl(shell.app.connection));
}

describe("backup", () => {
  test("writes a file for its owner alone, and tells what is in it", async () => {
    useSource();
    const path = join(shell.folder, "one.gz");
    const { code, out } = await shell.run(["backup", path]);
    expect(code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(out).toMatch(/one\.gz: \d+ rows of \d+ tables/);
    expect(out).toContain("The secret key is not in it");
  });

  test("does not replace a file unless it is told to", async () => {
    useSource();
    const path = shell.file("there.gz", "mine");
    const { code, err } = await shell.run(["backup", path]);
    expect([code, readFileSync(path, "utf8")]).toEqual([1, "mine"]);
    expect(err).toContain("add --force");
    const forced = await shell.run(["backup", path, "--force", "--json"]);
    expect(JSON.parse(forced.out)).toMatchObject({ file: path, schema: expect.any(String) });
    expect(readFileSync(path, "utf8")).not.toBe("mine");
  });

  test("into a folder that does not exist says so, and makes none", async () => {
    useSource();
    const folder = join(shell.folder, "nope");
    const { code, out, err } = await shell.run(["backup", join(folder, "a.gz")]);
    expect([code, out, existsSync(folder)]).toEqual([1, "", false]);
    expect(err).toBe(`dues: The folder ${folder} does not exist. Make it, or name another file.\n`);
    const inFile = await shell.run(["backup", join(file, "a.gz")]);
    expect([inFile.code, inFile.err]).toEqual([
      1,
      `dues: ${file} is no folder. Name another file.\n`,
    ]);
  });

  test("leaves no file when it fails", async () => {
    const path = join(shell.folder, "none.gz");
    const { code, err } = await shell.run(["backup", path]);
    expect([code, existsSync(path)]).toEqual([1, false]);
    expect(err).toContain("no tables of dues");
  });

  test("has no key in it unless that is asked for", async () => {
    useSource();
    const key = readSecretKey(testConfig({ SECRET_KEY })).toString("hex");
    expect(gunzipSync(readFileSync(file)).toString()).not.toContain(key);
    const path = join(shell.folder, "with-key.gz");
    await shell.run(["backup", path, "--with-key"]);
    expect(gunzipSync(readFileSync(path)).toString()).toContain(key);
  });

  test("puts no other key into it than the one of the database", async () => {
    const path = join(shell.folder, "wrong-key.gz");
    use(databaseUrl(shell.app.connection), "another key than the one of the database");
    const other = await shell.run(["backup", path, "--with-key"]);
    expect(other.err).toContain("not the one of this database");
    const folder = join(shell.folder, "no-key");
    use(databaseUrl(shell.app.connection), "", folder);
    const none = await shell.run(["backup", path, "--with-key"]);
    expect(none.err).toContain("There is no key to put into it");
    expect([other.code, none.code, existsSync(path), existsSync(folder)]).toEqual([
      ...[1, 1, false, false],
    ]);
  });

  test("of a folder without a database makes none", async () => {
    const folder = join(shell.folder, "nowhere");
    use("", "", folder);
    const { code, err } = await shell.run(["backup", join(shell.folder, "no.gz")]);
    expect([code, existsSync(folder)]).toEqual([1, false]);
    expect(err).toContain("There is no database in");
  });
});

describe("restore", () => {
  test("counts the same tables and rows as the backup did", async () => {
    useSource();
    const path = join(shell.folder, "counted.gz");
    const { tables } = JSON.parse((await shell.run(["backup", path, "--json"])).out);
    use(databaseUrl(target.connection));
    const restored = JSON.parse((await shell.run(["restore", path, "--json"])).out);
    expect(restored.tables).toEqual(tables);
  });

  test("brings back every row, and says what comes next", async () => {
    const { code, out } = await shell.run(["restore", file]);
    expect(code).toBe(0);
    expect(out).toMatch(/Restored \d+ rows/);
    expect(out).toMatch(/acme\/main\/test +INV-2026-0003/);
    expect(out.replaceAll("\n", " ")).toContain("let it go on: dues resume");
    expect(await contentsOf(target.connection)).toEqual(await contentsOf(shell.app.connection));
  });

  test("raises the counters that it is told", async () => {
    const told = ["--next-invoice", "2026:1234", "--next-invoice", "test:2025:8"];
    const { out } = await shell.run(["restore", file, ...told, "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      held: true,
      counters: [
        { project: "acme/main/test", year: 2025, last: 7 },
        { project: "acme/main/test", year: 2026, last: 1233 },
      ],
    });
  });

  test("says which counters it did not move, and shows those of credit notes", async () => {
    const told = ["--next-invoice", "2026:2", "--next-credit-note", "2026:50"];
    const restored = (await shell.run(["restore", file, ...told])).out;
    expect(restored).toMatch(/acme\/main\/test +INV-2026-0003/);
    expect(restored).toMatch(/NEXT CREDIT NOTE\nacme\/main\/test +CN-2026-0050\n/);
    const text = restored.replaceAll("\n", " ");
    expect(text).toContain(
      "--next-invoice 2026:2 changed nothing in acme/main/test: the next invoice is " +
        "INV-2026-0003 already, and numbers only go up.",
    );
    const resumed = await shell.run(["resume", "--yes", "--next-credit-note", "2026:7"]);
    expect(resumed.out).toMatch(/--next-credit-note 2026:7 changed nothing .*Resumed/s);
    expect(text).not.toContain("--next-credit-note 2026:50 changed");
  });

  test("with another key is refused before anything is changed", async () => {
    use(databaseUrl(target.connection), "another key than the one of the backup");
    const { code, err } = await shell.run(["restore", file]);
    expect(code).toBe(1);
    expect(err).toContain("is another than the one here");
    expect(await contentsOf(target.connection)).toEqual({});
  });

  test("takes the key from the file where there is none", async () => {
    useSource();
    const path = join(shell.folder, "carries-key.gz");
    await shell.run(["backup", path, "--with-key"]);
    const folder = join(shell.folder, "fresh");
    use(databaseUrl(target.connection), "", folder);
    expect((await shell.run(["restore", path])).code).toBe(0);
    const kept = join(folder, "secret.key");
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    const key = readSecretKey(testConfig({ SECRET_KEY })).toString("hex");
    expect(readFileSync(kept, "utf8").trim()).toBe(key);
  });

  test("takes the contents of the source's key file as SECRET_KEY, and hands that key on", async () => {
    const key = readSecretKey(testConfig({ SECRET_KEY })).toString("hex");
    use(databaseUrl(target.connection), key);
    expect((await shell.run(["restore", file])).code).toBe(0);
    const path = join(shell.folder, "moved.gz");
    expect((await shell.run(["backup", path, "--with-key"])).code).toBe(0);
    expect(gunzipSync(readFileSync(path)).toString()).toContain(`"secret_key":"${key}"`);
  });

  test("of a damaged file changes nothing", async () => {
    const path = join(shell.folder, "damaged.gz");
    writeFileSync(path, readFileSync(file).subarray(0, 3_000));
    const { code, err } = await shell.run(["restore", path]);
    expect(code).toBe(1);
    expect(err).toContain("damaged or incomplete");
    expect(await contentsOf(target.connection)).toEqual({});
  });
});

describe("resume", () => {
  test("shows what is about to happen, and asks", async () => {
    await shell.run(["restore", file]);
    const refused = await shell.run(["resume"], { answers: ["n"] });
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(/Held since .*0 periods .*0 webhook messages .*INV-2026-0003/s);
    const agreed = await shell.run(["resume", "--next-invoice", "2026:50"], { answers: ["y"] });
    expect(agreed.code).toBe(0);
    expect(agreed.out).toMatch(/INV-2026-0050.*Resumed/s);
    expect((await shell.run(["resume"])).out).toBe("Nothing is held.\n");
  });

  test("shows the next numbers once, unless some are moved", async () => {
    await shell.run(["restore", file]);
    const { out } = await shell.run(["resume", "--yes"]);
    expect(out.match(/INV-2026-0003/g)).toHaveLength(1);
    expect(out).toContain("Resumed.");
  });

  test("does not go on by itself where nobody can be asked", async () => {
    await shell.run(["restore", file]);
    const { code, err } = await shell.run(["resume"]);
    expect(code).toBe(1);
    expect(err).toContain("--yes");
    const shown = await shell.run(["resume", "--json"]);
    expect([shown.code, shown.err]).toEqual([1, err]);
    expect(JSON.parse(shown.out)).toMatchObject({ resumed: false, periods: 0 });
    const declined = await shell.run(["resume", "--json"], { answers: ["n"] });
    expect(JSON.parse(declined.out)).toMatchObject({ resumed: false });
    expect(declined.err).toContain("Held since");
    const told = await shell.run(["resume", "--yes", "--json"]);
    expect(JSON.parse(told.out)).toMatchObject({ resumed: true, periods: 0 });
  });
});

describe("with an output that nobody reads", () => {
  const settings = (connection: Parameters<typeof databaseUrl>[0]) => {
    return { DATABASE_URL: databaseUrl(connection), SECRET_KEY };
  };
  const unread = (args: readonly string[], env: Record<string, string>) => {
    const { child, done } = shell.start(args, { env });
    child.stdout?.destroy();
    return done;
  };

  test("resume lets the service go on, and does not end with 0", async () => {
    await shell.run(["restore", file]);
    const ran = await unread(["resume", "--yes"], settings(target.connection));
    expect(ran.code).toBe(1);
    expect(ran.err).toContain("What the command was to do is done.");
    expect((await shell.run(["resume"])).out).toBe("Nothing is held.\n");
  });

  test("a backup to standard output that was cut off fails", async () => {
    const { code, err } = await unread(["backup", "-"], settings(shell.app.connection));
    expect(code).toBe(1);
    expect(err).toBe("dues: The output was closed before all of it was written.\n");
  });
});

test("resume does not promise an invoice of a subscription that is set aside", async () => {
  await shell.run(["restore", file]);
  const change = (text: string) => onClient(target.connection, (client) => client.query(text));
  await change("update project_clocks set frozen_at = '2026-04-02T00:00:00Z'");
  expect((await shell.run(["resume"])).out).toMatch(/ 1 period that ended will be closed/);
  await change("update subscriptions set set_aside_reason = 'a bad quantity'");
  const { out } = await shell.run(["resume"]);
  expect(out).toContain("  0 periods that ended will be closed and invoiced\n");
  expect(out).toContain("  1 period that ended stayed unbilled, set aside: dues doctor says why\n");
  const told = await shell.run(["resume", "--json"]);
  expect(JSON.parse(told.out)).toMatchObject({ periods: 0, set_aside: 1 });
});

test("resume of a database without the schema of this version says what to do", async () => {
  await migrate(target.connection);
  await onClient(target.connection, (client) =>
    client.query("alter table invoices drop column dunning_on"),
  );
  const { code, err } = await shell.run(["resume"]);
  expect(code).toBe(1);
  expect(err).toContain("dues migrate");
});

test("--next-invoice takes a year and a number, for one project or all, and nothing else", () => {
  const numbers = { year: 2026, next: 1234 };
  const ofAll = { project: undefined, ...numbers };
  expect(nextInvoice("2026:1234")).toEqual([{ ...ofAll, series: "invoices" }]);
  expect(nextCreditNote("2026:1234")).toEqual([{ ...ofAll, series: "credit notes" }]);
  const project = "acme/main/live";
  expect(nextInvoice(`${project}:2026:2`)).toEqual([
    { project, year: 2026, next: 2, series: "invoices" },
  ]);
  for (const text of ["1234", "2026", "2026:", "2026:x", "26:12", "2026:0", "2026:-4", ":2026:5"]) {
    expect(() => nextInvoice(text), text).toThrow(InvalidArgumentError);
  }
});
