// A server that ends by itself is started again, a few times: with made-up servers, so that the
// pauses are short and the ends come when the test says so.

import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import type { StartedServer } from "../../src/embedded/server.ts";
import { ServerSupervisor } from "../../src/embedded/supervisor.ts";

const LOG = `12:00 UTC LOG:  redo starts
12:00 UTC FATAL:  could not write file: No space left on device
12:00 UTC LOG:  database system is shut down`;

type Made = StartedServer & { die(reason: string): void; stopped: boolean };

let servers: Made[];
let said: string[];
let given_up: string[];
beforeEach(() => {
  [servers, said, given_up] = [[], [], []];
});

function makeServer(): Made {
  let end: (reason: string) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const made: Made = {
    socket_folder: "",
    ended,
    die: (reason) => end(reason),
    stopped: false,
    async stop() {
      made.stopped = true;
      end("");
    },
  };
  servers.push(made);
  return made;
}

function supervise(start: () => Promise<StartedServer | undefined>, pauses_ms = [0, 1, 1]) {
  return new ServerSupervisor(makeServer(), {
    start,
    say: (line) => said.push(line),
    onGivenUp: (why) => given_up.push(why),
    pauses_ms,
  });
}

test("a server that dies is followed by another, and stopping ends the one that runs", async () => {
  const supervisor = supervise(async () => makeServer());
  servers[0]?.die("signal SIGKILL");
  await expect.poll(() => said.join(" ")).toMatch(/signal SIGKILL.*1 of 3.*runs again/s);
  expect(servers.length).toBe(2);
  // It has been said; by the next turn it is also watched.
  await turn();
  await supervisor.stop();
  expect(servers.map(({ stopped }) => stopped)).toEqual([false, true]);
  expect(given_up).toEqual([]);
});

test("after the last try in vain it is given up, with the reason", async () => {
  let tries = 0;
  supervise(async () => {
    tries += 1;
    throw new Error(`It did not start. Its log ends with:\n${LOG}`);
  });
  servers[0]?.die("exit code 1");
  await expect.poll(() => given_up.join()).toContain(LOG);
  expect(tries).toBe(3);
  expect(said[1]).toMatch(/is away: could not write file: No space left on device\. It is/);
});

test("a server that dies again and again at once has no more tries than one that cannot start", async () => {
  supervise(async () => {
    const next = makeServer();
    setTimeout(() => next.die("signal SIGKILL"), 1);
    return next;
  });
  servers[0]?.die("signal SIGKILL");
  await expect.poll(() => given_up).toEqual(["it ended (signal SIGKILL)"]);
  expect(servers.length).toBe(4);
});

test("it is given up when another process has the folder meanwhile", async () => {
  supervise(async () => undefined, [0]);
  servers[0]?.die("signal SIGKILL");
  await expect.poll(() => given_up.join()).toContain("another process");
});

test("a stop during a pause does not wait for it and starts nothing", async () => {
  let tries = 0;
  const supervisor = supervise(async () => {
    tries += 1;
    return undefined;
  }, [60_000]);
  servers[0]?.die("signal SIGKILL");
  await expect.poll(() => said.length).toBe(1);
  await supervisor.stop();
  expect(tries).toBe(0);
  expect(given_up).toEqual([]);
});
