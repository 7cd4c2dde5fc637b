// What the first start on a database tells, and whom; and what `dues init` makes of what is there.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAIN } from "../../support/built.ts";
import { databaseUrl, testDatabase } from "../../support/database.ts";
import { ServiceProcess, startService, until } from "../../support/processes.ts";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const TOKEN = /dues_\w{20,}/;

test("where its output is kept, the first start on one's own database shows no secret", async () => {
  const { connection, drop } = await testDatabase();
  const service = await startService({ connection, role: "api" });
  try {
    expect(service.output).toMatch(/Organization +not shown, because this is no terminal\n/);
    expect(service.output).not.toMatch(TOKEN);
    expect(service.output).toMatch(/Token +not shown, .*: run dues init --org default --work/);
    const slugs = ["--org", "default", "--workspace", "default", "--project", "default"];
    const env = {
      DATABASE_URL: databaseUrl(connection),
      SECRET_KEY: "one key for all processes of a test",
    };
    const ran = await shell.process(["init", ...slugs, "--json"], { env });
    const { token, project_id, organization_id } = JSON.parse(ran.out);
    expect(token).toMatch(TOKEN);
    expect(service.output).not.toContain(organization_id);
    const answer = await fetch(`${service.base_url}/v1/customers`, {
      headers: { authorization: `Bearer ${token}`, "x-project-id": project_id },
    });
    expect(answer.status).toBe(200);
  } finally {
    await service.signal("SIGTERM");
    await drop();
  }
});

test("a live project is not taken for the sandbox that was asked for", async () => {
  const env = {
    DATABASE_URL: databaseUrl(shell.app.connection),
    SECRET_KEY: "the key of this test of dues init",
  };
  const init = (...flags: string[]) => {
    const slugs = ["--org", "o", "--workspace", "w", "--project", "p"];
    return shell.process(["init", ...slugs, ...flags], { env });
  };
  const made = await init();
  expect([made.code, made.err]).toEqual([0, ""]);
  expect(made.out).toMatch(/^project_id +[0-9a-f-]{36}$/m);
  const refused = await init("--sandbox");
  expect([refused.code, refused.out]).toEqual([1, ""]);
  expect(refused.err).toBe(
    "dues: The project w/p is live and stays so. Name another one for a sandbox; nothing was made.\n",
  );
  expect((await init("--project", "trial", "--sandbox")).code).toBe(0);
  expect((await init("--project", "trial")).code).toBe(0);
});

function embedded(folder: string, port: number): ServiceProcess {
  const env = { PATH: process.env.PATH, DUES_DATA: folder, LOG_LEVEL: "error" };
  const words = [MAIN, "serve", "--host", "127.0.0.1", "--port", String(port)];
  return new ServiceProcess(spawn(process.execPath, words, { env }));
}

test("a first start on a taken port says so, and the next one has a token all the same", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dues-first-"));
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const kept = async () => JSON.parse(await readFile(join(folder, "dev.json"), "utf8"));
  try {
    await expect(embedded(folder, port).ready()).rejects.toThrow(
      `Port ${port} is taken. Try: npm start -- --port ${port + 1}`,
    );
    const second = await embedded(folder, 0).ready();
    const [token] = TOKEN.exec(second.output) ?? [];
    expect(await kept()).toMatchObject({ token, base_url: second.base_url });
    await second.signal("SIGTERM");
    await rm(join(folder, "dev.json"));
    const third = await embedded(folder, 0).ready();
    const { token: another, project_id } = await kept();
    expect(third.output).toContain(another);
    expect(another).not.toBe(token);
    const answer = await fetch(`${third.base_url}/v1/customers`, {
      headers: { authorization: `Bearer ${another}`, "x-project-id": project_id },
    });
    expect(answer.status).toBe(200);
    // Its port was given to it alone: init asks where it is.
    const slugs = ["--org", "default", "--workspace", "default", "--project", "default"];
    const env = { DUES_DATA: folder };
    const made = await shell.process(["init", ...slugs, "--sandbox", "--json"], { env });
    expect(JSON.parse(made.out).base_url).toBe(third.base_url);
    await third.signal("SIGTERM");
  } finally {
    other.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("a first start is ready when the project and its token are there, and not before", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dues-ready-"));
  const port = await freePort();
  const service = embedded(folder, port);
  try {
    const isReady = async () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(isReady, 60_000);
    const { token } = JSON.parse(await readFile(join(folder, "dev.json"), "utf8"));
    expect(token).toMatch(TOKEN);
  } finally {
    await service.ready();
    await service.signal("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
