// `dues webhooks`: what was sent and what came of it, a test, a replay, a new secret.

import { afterAll, beforeAll, expect, test } from "vitest";
import { Courier, emitPayments, register } from "../../support/courier.ts";
import { Receiver } from "../../support/receiver.ts";
import { type Shell, sharedShell } from "../support.ts";

let shell: Shell;
let receiver: Receiver;
let courier: Courier;
beforeAll(async () => {
  shell = await sharedShell();
  receiver = await Receiver.start();
  courier = new Courier(shell.app);
});
afterAll(async () => {
  await courier.close();
  await receiver.close();
  await shell.close();
});

async function ok(...args: string[]): Promise<string> {
  const ran = await shell.run(["webhooks", ...args]);
  expect(ran.code, `${args.join(" ")}\n${ran.err}`).toBe(0);
  return ran.out;
}

test("an endpoint is tested, its attempts listed, one and all of them sent again", async () => {
  const url = receiver.url("/hook");
  const { id } = await register(shell.app, url);
  expect(await ok("test", url)).toContain(`--endpoint ${id}`);
  receiver.answer = { status: 500 };
  await emitPayments(shell.app, 1, 2);
  await courier.deliver();
  expect(receiver.received.length).toBeGreaterThanOrEqual(1);
  const failed = await ok("deliveries", "--endpoint", url, "--status", "failed");
  expect(failed).toMatch(/^AT +EVENT +TRY +STATUS +ANSWER +AGAIN AT +ID\n/);
  expect(failed).toMatch(/ 1 +failed +500 +\d{4}-/);
  expect(await ok("deliveries", "--status", "delivered")).toBe("None.\n");

  receiver.answer = { status: 200 };
  const { webhook_deliveries } = JSON.parse(await ok("deliveries", "--json"));
  await ok("redeliver", webhook_deliveries[0].id);
  const before = receiver.received.length;
  await courier.deliver();
  expect(receiver.received.length).toBeGreaterThan(before);
  expect(await ok("replay", id, "--since", "2020-01-01")).toBe("2 messages will be sent again.\n");
  await courier.deliver();
  const page = JSON.parse(await ok("deliveries", "--all", "--json"));
  const limited = JSON.parse(await ok("deliveries", "--limit", "2", "--json"));
  expect(limited.webhook_deliveries).toEqual(page.webhook_deliveries.slice(0, 2));
});

test("a new secret is printed alone, so that it can be piped", async () => {
  const url = receiver.url("/rotated");
  const made = await register(shell.app, url);
  const ran = await shell.run(["webhooks", "rotate", url]);
  expect(ran.out).toMatch(/^whsec_\S+\n$/);
  expect(ran.out.trim()).not.toBe(made.secret);
  expect(ran.err).toContain("not shown again");
});

test("an endpoint that is not there is named", async () => {
  const ran = await shell.run(["webhooks", "test", "https://nowhere.example/x"]);
  expect([ran.code, ran.err]).toEqual([
    1,
    "dues: There is no endpoint https://nowhere.example/x.\ndues webhooks list shows what there is.\n",
  ]);
});
