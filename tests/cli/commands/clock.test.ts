// `dues clock`: what it shows while the clock travels.

import { afterAll, beforeAll, expect, test } from "vitest";
import { serviceCommands } from "../../../src/cli/commands/service.ts";
import { runProgram } from "../../../src/cli/program.ts";
import { readClientSettings } from "../../../src/config.ts";
import { until } from "../../support/processes.ts";
import { heard, type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell({ at: "2026-01-01T00:00:00.000Z" });
});
afterAll(() => shell.close());

test("a terminal shows where the clock is while it travels", async () => {
  const { io, said } = heard({
    settings: readClientSettings(shell.env),
    progress: true,
    // The travel takes as long as nothing is shown.
    fetch: async (input, init) => {
      if (init?.method === "POST") await until(() => said.err.includes("It is 2026-01-01"));
      return fetch(input, init);
    },
  });
  const args = ["clock", "advance", "--to", "2026-02-01"];
  expect(await runProgram(io, serviceCommands(io), args)).toBe(0);
  expect(said.err).toContain("It is 2026-01-01T00:00:00.000Z there.");
  expect(said.out).toContain("It is 2026-02-01T00:00:00.000Z now");
});

test("elsewhere nothing is asked meanwhile", async () => {
  const before = shell.requests.length;
  await shell.run(["clock", "advance", "--to", "2026-03-01"]);
  expect(shell.requests.slice(before)).toEqual(["POST /v1/clock/advance", "GET /v1/subscriptions"]);
});
