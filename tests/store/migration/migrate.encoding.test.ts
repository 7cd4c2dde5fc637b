// A database that cannot keep every text is refused before anything is made in it.

import { randomBytes } from "node:crypto";
import { afterAll, expect, inject, test } from "vitest";
import { migrate } from "../../../src/store/migration/migrate.ts";
import { admin, dropDatabase, onDatabase } from "../../support/database.ts";

const server = inject("server");
const name = `${inject("template")}_encoding_${randomBytes(4).toString("hex")}`;
afterAll(() => dropDatabase(server, name));

test.each(["LATIN1", "SQL_ASCII"])(
  "%s, with the command that makes a right one",
  async (encoding) => {
    await dropDatabase(server, name);
    await admin(
      server,
      `create database ${name} encoding '${encoding}' template template0 locale 'C'`,
    );
    const refused = migrate(onDatabase(server, name));
    await expect(refused).rejects.toThrow(`The database ${name} is encoded in ${encoding}`);
    await expect(migrate(onDatabase(server, name))).rejects.toThrow(
      /create database dues_utf8 encoding 'UTF8' locale 'C\.UTF-8' template template0;/,
    );
  },
);
