// What one receiver, or one result, cannot do to the others; and how failures of our own are told.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { addressPolicy } from "../../src/domain/addresses.ts";
import type { ProjectId } from "../../src/ids.ts";
import { sql } from "../../src/store/db/sql.ts";
import { listLastAttempts } from "../../src/store/feeds/attempts.ts";
import { Deliverer } from "../../src/workers/deliver-webhooks.ts";
import { NEW_MAX, WINDOW_MAX } from "../../src/workers/endpoint-windows.ts";
import { startWorkers } from "../../src/workers/start.ts";
import { WebhookClient } from "../../src/workers/webhook-client.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { slowness } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";

const PACE_MS = 50;
const P95_MS_MAX = 1_000;
/** Who is held up waits until an attempt that hangs is given up, which is after 10 s. */
const HELD_UP_MS = 8_000;
const p95MsMax = () => Math.min(P95_MS_MAX * slowness(), HELD_UP_MS);

let app: App;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const rows = (query: ReturnType<typeof sql>) => app.context.db.many<Json>(query);

describe("receivers that hang", () => {
  /** Answers at once, but for paths that begin with /hang. */
  class Host {
    readonly #server: Server;
    readonly arrivals = new Map<number, number>();
    /** Requests that wait for ever. */
    hanging = 0;
    /** Those of them that came before a sender gave one up: they were all under way at once. */
    at_once = 0;

    /** Hosts that are called by the same worker share the storm. */
    constructor(storm: { any_given_up: boolean } = { any_given_up: false }) {
      this.#server = createServer((request, response) => {
        if (request.url?.startsWith("/hang")) {
          this.hanging += 1;
          if (!storm.any_given_up) this.at_once += 1;
          response.on("close", () => {
            storm.any_given_up = true;
          });
          return;
        }
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.on("end", () => {
          const { data } = JSON.parse(Buffer.concat(chunks).toString());
          this.arrivals.set(data.no, performance.now());
          response.writeHead(204).end();
        });
      });
    }

    async start(): Promise<this> {
      await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
      return this;
    }

    url(path: string): string {
      return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
    }

    close(): void {
      this.#server.close();
      this.#server.closeAllConnections();
    }
  }

  async function newProject(slug: string): Promise<string> {
    const body = { workspace: "main", slug, mode: "sandbox" };
    return (await app.post("/v1/projects", body)).project.id;
  }

  async function registerIn(project: string, url: string): Promise<void> {
    const body = { url, events: ["payment.succeeded"] };
    await app.post("/v1/webhooks", body, { "x-project-id": project });
  }

  /** The 95th percentile from commit to receipt of 20 events a second. */
  async function pace(project: string, host: Host, first: number): Promise<number> {
    const committed = new Map<number, number>();
    for (let no = first; no < first + 40; no++) {
      await emitPayments(app, no, 1, "commit", project);
      committed.set(no, performance.now());
      // The pace is the load itself, not a wait for something to happen.
      await pause(PACE_MS);
    }
    await vi.waitFor(() => expect([...committed.keys()].every(isIn(host))).toBe(true), 20_000);
    const waits = [...committed].map(([no, at]) => (host.arrivals.get(no) ?? 0) - at);
    return waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.95)] ?? 0;
  }

  const isIn = (host: Host) => (no: number) => host.arrivals.has(no);

  test("315 new ones have a share, each project some of it, and hold up no one else", async () => {
    const storm = { any_given_up: false };
    const hosts = await Promise.all(Array.from({ length: 8 }, () => new Host(storm).start()));
    const healthy = hosts[7] as Host;
    const projects = await Promise.all(hosts.map((_, i) => newProject(`many-${i}`)));
    await registerIn(projects[7] ?? "", healthy.url("/ok"));
    await registerIn(projects[0] ?? "", healthy.url("/ok"));
    const { stop } = startWorkers(app.context, app.connection);
    try {
      // The healthy ones are known by what they have answered before.
      for (const [no, project] of [projects[0], projects[7]].entries()) {
        await emitPayments(app, no, 1, "commit", project);
        await vi.waitFor(() => expect(isIn(healthy)(no)).toBe(true), 20_000);
      }
      for (const [i, project] of projects.slice(0, 7).entries()) {
        for (let path = 0; path < 45; path++) {
          await registerIn(project, hosts[i]?.url(`/hang/${path}`) ?? "");
        }
      }
      for (const project of projects.slice(0, 7)) {
        await emitPayments(app, 100, 5, "commit", project);
      }
      expect(await pace(projects[7] ?? "", healthy, 1_000)).toBeLessThan(p95MsMax());
      expect(await pace(projects[0] ?? "", healthy, 2_000)).toBeLessThan(p95MsMax());
      const at_once = hosts.slice(0, 7).map((host) => host.at_once);
      const all = at_once.reduce((sum, each) => sum + each, 0);
      expect(all, `of the projects: ${at_once}`).toBeLessThanOrEqual(NEW_MAX);
      expect(all).toBeGreaterThan(NEW_MAX / 2);
      expect(Math.min(...at_once), `of the projects: ${at_once}`).toBeGreaterThan(0);
    } finally {
      for (const host of hosts) host.close();
      await stop();
    }
  });

  test("90 paths on one host do not hold up another tenant's path on it", async () => {
    const host = await new Host().start();
    const projects = await Promise.all(["one", "two", "three"].map(newProject));
    for (const project of projects.slice(0, 2)) {
      for (let path = 0; path < 45; path++) await registerIn(project, host.url(`/hang/${path}`));
    }
    await registerIn(projects[2] ?? "", host.url("/ok"));
    const { stop } = startWorkers(app.context, app.connection);
    try {
      for (const project of projects.slice(0, 2)) {
        await emitPayments(app, 1, 5, "commit", project);
      }
      await vi.waitFor(() => expect(host.hanging).toBe(90), 20_000);
      // Never tried before: it has a place beside the others.
      expect(await pace(projects[2] ?? "", host, 100)).toBeLessThan(p95MsMax());
    } finally {
      host.close();
      await stop();
    }
  });
});

describe("a delivery that", () => {
  let receiver: Receiver;
  let courier: Courier;
  let endpoint: Json;

  beforeEach(async () => {
    receiver = await Receiver.start();
    courier = new Courier(app);
    endpoint = await register(app, receiver.url());
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await app.ok("DELETE", `/v1/webhooks/${endpoint.id}`);
    await courier.close();
    await receiver.close();
  });

  const attempts = async (): Promise<Json[]> =>
    (await app.get(`/v1/webhook-deliveries?endpoint_id=${endpoint.id}&limit=100`))
      .webhook_deliveries;

  test("was claimed and not begun in time is no failure of its receiver", async () => {
    const project = app.profile.project_id;
    const client = new WebhookClient(addressPolicy(app.context.config));
    const deliverer = new Deliverer(app.context, client);
    await emitPayments(app, 0, 60);
    await courier.deliver();
    for (let no = 100; no < 160; no++) {
      await emitPayments(app, no, 1);
      deliverer.notify(project);
      await deliverer.claimDue();
      await deliverer.flush();
    }
    receiver.holding = true;
    await emitPayments(app, 200, 60);
    deliverer.notify(project);
    await deliverer.claimDue();
    await receiver.until(120 + WINDOW_MAX);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 16_000);
    // One answer frees one place; what waits for it was claimed too long ago and is claimed anew.
    receiver.release(1);
    await vi.waitFor(async () => expect((await deliverer.recordResults()).done).toBeGreaterThan(0));
    await deliverer.claimDue();
    await receiver.until(120 + WINDOW_MAX + 1, 5_000);
    receiver.release();
    await deliverer.drain();
    await courier.deliver();
    expect(new Set(receiver.ids()).size).toBe(180);
    expect(receiver.received).toHaveLength(180);
    expect((await attempts()).every(({ status }) => status === "delivered")).toBe(true);
  });

  test("cannot be recorded does not keep others from it, and is not sent for ever", async () => {
    await emitPayments(app, 1, 5);
    const [spoilt] = await rows(sql`
      select message_id from webhook_queue where endpoint_id = ${endpoint.id} limit 1`);
    await rows(sql`
      insert into webhook_attempts (project_id, id, endpoint_id, message_id, event, attempt,
                                    status, duration_ms, created_at)
      values (${app.profile.project_id}, ${crypto.randomUUID()}, ${endpoint.id},
              ${spoilt.message_id}, 'payment.succeeded', 1, 'failed', 0, statement_timestamp())`);
    await courier.deliver();
    const delivered = (await attempts()).filter(({ status }) => status === "delivered");
    expect(delivered).toHaveLength(4);
    expect(receiver.received).toHaveLength(5);
    expect(await rows(sql`select 1 from webhook_queue where endpoint_id = ${endpoint.id}`)).toEqual(
      [],
    );
  });

  test("cannot be signed is told as that, not as a broken connection", async () => {
    await rows(sql`
      update webhook_endpoints set secret = '\\x00010203' where id = ${endpoint.id}`);
    await emitPayments(app, 1, 1);
    await courier.deliver();
    const [attempt] = await attempts();
    expect(attempt).toMatchObject({ status: "failed", error: "signing", http_status: null });
    expect(attempt.reason).toContain("SECRET_KEY");
    expect(receiver.received).toEqual([]);
  });

  test("was the last to an endpoint tells the next process what it is", async () => {
    const last = () => listLastAttempts(app.context.db, app.profile.project_id as ProjectId);
    const ours = async () => (await last()).filter((one) => one.endpoint_id === endpoint.id);
    expect(await ours()).toEqual([]);
    await emitPayments(app, 1, 1);
    await courier.deliver();
    expect(await ours()).toEqual([{ endpoint_id: endpoint.id, status: "delivered" }]);
    receiver.answer = { status: 500 };
    await emitPayments(app, 2, 1);
    await courier.deliver();
    expect(await ours()).toEqual([{ endpoint_id: endpoint.id, status: "failed" }]);
  });
});
