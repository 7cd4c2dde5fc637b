// The transcript of a new user's first visit is typed again, on a fresh embedded database.

import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SCRIPT = resolve(import.meta.dirname, "../../scripts/first-ten-minutes.js");

test("docs/first-ten-minutes.md is what its commands print", async () => {
  // A difference is a failure of the script, which says what came out instead.
  const ran = promisify(execFile)(process.execPath, [SCRIPT, "--check"]);
  await expect(ran).resolves.toMatchObject({ stdout: "" });
}, 180_000);
