// `dues webhooks listen`: what happens in a sandbox, forwarded to a receiver on this machine, and
// the feed that it follows.

import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { listen } from "../../src/cli/commands/webhooks-listen.ts";
import { Dues } from "../../src/client/dues.ts";
import { verifyWebhook } from "../../src/client/webhooks.ts";
import type { ProjectId } from "../../src/ids.ts";
import { emit, scheduler } from "../../src/operations/emit.ts";
import { heard } from "../cli/support.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { newProject } from "../support/client.ts";
import { emitPayments } from "../support/courier.ts";
import { factOf } from "../support/facts.ts";
import { until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";

let app: App;
let base_url: string;
let project: string;

beforeAll(async () => {
  app = await startApp();
  base_url = await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
});
afterAll(() => app.close());
beforeEach(async () => {
  project = (await newProject(app)).project;
});

/** Starts listening and returns once it does. */
async function start(terms: {
  forward?: string;
  events?: readonly string[];
  secret?: string;
  print?: boolean;
}) {
  const { io, said } = heard();
  const abort = new AbortController();
  const dues = new Dues({ base_url, token: app.profile.token, project_id: project });
  const { forward, ...rest } = terms;
  const running = listen(io, dues, { forward, ...rest, signal: abort.signal });
  await until(() => said.err.includes("Listening"));
  const stop = async () => {
    abort.abort();
    await running;
  };
  return { said, stop, secret: () => /whsec_\S+/.exec(said.err)?.[0] ?? "" };
}

const feed = (cursor?: string): Promise<Json> =>
  app.ok(
    "GET",
    `/v1/webhook-messages?limit=2${cursor === undefined ? "" : `&cursor=${cursor}`}`,
    undefined,
    { "x-project-id": project },
  );
/** The feed stops before the oldest transaction that is open, also one of another test. */
const settled = (count: number, cursor?: string): Promise<Json> =>
  vi.waitFor(async () => {
    const page = await feed(cursor);
    expect(page.webhook_messages.length).toBeGreaterThanOrEqual(count);
    return page;
  }, 10_000);

describe("dues webhooks listen", () => {
  test("shows payloads when asked, and signs with the secret that is kept", async () => {
    const receiver = await Receiver.start();
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const listening = await start({ forward: receiver.url(), secret, print: true });
    expect(listening.secret()).toBe(secret);
    await emitPayments(app, 1, 1, "commit", project);
    await until(() => listening.said.out.includes("payment.succeeded"));
    await until(() => listening.said.out.includes('\n    "event": "payment.succeeded"'));
    await listening.stop();
    await receiver.close();
  });

  test("forwards what happens from now on, signed with the secret it prints", async () => {
    await emitPayments(app, 1, 1, "commit", project);
    await settled(1);
    const receiver = await Receiver.start();
    const { said, stop, secret } = await start({ forward: receiver.url() });
    await emitPayments(app, 2, 2, "commit", project);
    await emitPayments(app, 9, 1, "roll back", project);
    await receiver.until(2);
    await until(() => said.out.trim().split("\n").length === 2);
    await stop();
    expect(receiver.received.map(({ body }) => body.data.no)).toEqual([2, 3]);
    for (const { raw, headers } of receiver.received) {
      expect((await verifyWebhook(raw, headers, secret())).event).toBe("payment.succeeded");
      new Webhook(secret()).verify(raw.toString(), headers as Record<string, string>);
      expect(headers["x-service-event"]).toBe("payment.succeeded");
    }
    const [line = ""] = said.out.split("\n");
    expect(line).toMatch(/^\d{4}-\S+Z {2}payment\.succeeded +\S{36} {2}-> 200 in \d+ ms$/);
    // Nothing is registered and nothing is sent by the service itself.
    const headers = { "x-project-id": project };
    const registered = await app.ok("GET", "/v1/webhooks", undefined, headers);
    expect(registered.webhook_endpoints).toEqual([]);
    await receiver.close();
  });

  test("says what went wrong at the receiver, and goes on", async () => {
    const receiver = await Receiver.start();
    const url = receiver.url();
    const { said, stop } = await start({ forward: url });
    receiver.answer = { status: 500 };
    await emitPayments(app, 1, 1, "commit", project);
    await until(() => said.out.includes("-> 500"));
    await receiver.close();
    await emitPayments(app, 2, 1, "commit", project);
    await until(() => said.out.includes("-> failed: "));
    await stop();
    expect(said.out.trim().split("\n")).toHaveLength(2);
  });

  test("shows only the events asked for", async () => {
    const { said, stop } = await start({ events: ["payment.succeeded"] });
    const webhook = { event: "invoice.created" as const, data: { invoice: {} } };
    const fact = factOf("invoice.created", project, webhook);
    const { db, clock, config } = app.context;
    const by = scheduler(config);
    await db.tx((tx) => emit(tx, project as ProjectId, [fact], by, clock.now()));
    await emitPayments(app, 1, 1, "commit", project);
    await until(() => said.out.includes("payment.succeeded"));
    await stop();
    expect(said.out).not.toContain("invoice.created");
    expect(said.err).not.toContain("whsec_");
  });
});

describe("the feed of messages", () => {
  const numbers = ({ webhook_messages }: Json) =>
    webhook_messages.map(({ body }: Json) => JSON.parse(body).data.no);

  test("is read on from its cursor, also when it was empty", async () => {
    expect(await feed()).toMatchObject({ webhook_messages: [], cursor: null, has_more: false });
    await emitPayments(app, 1, 3, "commit", project);
    const first = await settled(2);
    expect([numbers(first), first.has_more]).toEqual([[1, 2], true]);
    const second = await settled(1, first.cursor);
    expect([numbers(second), second.has_more]).toEqual([[3], false]);
    const third = await feed(second.cursor);
    expect(third).toMatchObject({ webhook_messages: [], cursor: second.cursor });
    await emitPayments(app, 4, 1, "commit", project);
    expect(numbers(await settled(1, third.cursor))).toEqual([4]);
  });

  test("misses nothing that is committed late", async () => {
    const { db, clock, config } = app.context;
    const webhook = { event: "payment.succeeded" as const, data: { no: 1 } };
    const late = factOf("payment.recorded", project, webhook);
    let before: Json;
    await db.tx(async (tx) => {
      await emit(tx, project as ProjectId, [late], scheduler(config), clock.now());
      await emitPayments(app, 2, 1, "commit", project);
      before = await feed();
    });
    const missing = 2 - numbers(before).length;
    const after = await settled(missing, before.cursor ?? undefined);
    expect([...numbers(before), ...numbers(after)].toSorted()).toEqual([1, 2]);
  });

  test("of a live project has only what an endpoint was subscribed to", async () => {
    const slug = `live-${process.hrtime.bigint()}`;
    const made = await app.post("/v1/projects", { workspace: "main", slug, mode: "live" });
    project = made.project.id;
    await emitPayments(app, 1, 1, "commit", project);
    expect(numbers(await feed())).toEqual([]);
  });
});
