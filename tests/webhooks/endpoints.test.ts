// Endpoints and their secrets: limits, rotation, removal, and what is on disk.

import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decrypt, secretBinding } from "../../src/store/encryption.ts";
import { sql } from "../../src/store/sql.ts";
import type { ProjectId } from "../../src/store/tenants.ts";
import { pauseDisabled } from "../../src/store/webhooks.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { newProject } from "../support/client.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { Receiver } from "../support/receiver.ts";

/** Who waits for a lock is not done by then, and all others are. */
const WAIT_MS = 400;

let app: App;
let receiver: Receiver;
let courier: Courier;

beforeAll(async () => {
  app = await startApp();
  receiver = await Receiver.start();
  courier = new Courier(app);
});
afterAll(async () => {
  await courier.close();
  await receiver.close();
  await app.close();
});

const rows = (text: ReturnType<typeof sql>) => app.context.db.many<Json>(text);

function standard(secret: string, { headers, raw }: Receiver["received"][number]): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${raw}`;
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}

describe("a secret", () => {
  test("is shown when it is made and masked ever after", async () => {
    const made = await register(app, receiver.url("/masked"));
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const masked = `whsec_…${made.secret.slice(-4)}`;
    const one = await app.get(`/v1/webhooks/${made.id}`);
    const patched = await app.patch(`/v1/webhooks/${made.id}`, { events: ["addon.applied"] });
    const { webhook_endpoints } = await app.get("/v1/webhooks");
    for (const shown of [one, patched]) expect(shown.webhook_endpoint.secret).toBe(masked);
    expect(webhook_endpoints.find(({ id }: Json) => id === made.id).secret).toBe(masked);
    expect(patched.webhook_endpoint.events).toEqual(["addon.applied"]);
    await app.ok("DELETE", `/v1/webhooks/${made.id}`);
  });

  test("is nowhere in the database as text, not even in stored answers", async () => {
    const made = (
      await app.post(
        "/v1/webhooks",
        { url: receiver.url("/encrypted"), events: ["payment.succeeded"] },
        { "idempotency-key": "one-secret" },
      )
    ).webhook_endpoint;
    const rotated = (await app.post(`/v1/webhooks/${made.id}/rotate-secret`)).webhook_endpoint;
    const tables = await rows(sql`
      select table_name
        from information_schema.tables
       where table_schema = 'public' and table_type = 'BASE TABLE'`);
    expect(tables.length).toBeGreaterThan(20);
    for (const { table_name } of tables) {
      const dump = await rows({
        text: `select t::text as row from "${table_name}" t`,
        values: [],
      });
      const text = dump.map(({ row }) => row).join("\n");
      for (const { secret } of [made, rotated]) {
        const key = Buffer.from(secret.slice("whsec_".length), "base64");
        expect(text.includes("whsec_"), `whsec_ in ${table_name}`).toBe(false);
        expect(text.includes(Buffer.from(secret).toString("hex"))).toBe(false);
        expect(text.includes(key.toString("hex"))).toBe(false);
      }
    }
    await app.ok("DELETE", `/v1/webhooks/${made.id}`);
  });

  test("opens for its own row and no other", async () => {
    const [a, b] = [
      await register(app, receiver.url("/a")),
      await register(app, receiver.url("/b")),
    ];
    const project = app.profile.project_id as ProjectId;
    const [row] = await rows(sql`select secret from webhook_endpoints where id = ${a.id}`);
    const key = app.context.secret_key;
    expect(decrypt(key, secretBinding(project, a.id), row.secret)).toBe(a.secret);
    expect(() => decrypt(key, secretBinding(project, b.id), row.secret)).toThrow();
    expect(() => decrypt(Buffer.alloc(32, 1), secretBinding(project, a.id), row.secret)).toThrow();

    // Swapped in the database, it signs nothing: the attempt fails and says so.
    await rows(sql`
      update webhook_endpoints
         set secret = ${row.secret}
       where id = ${b.id}`);
    const before = receiver.received.length;
    await emitPayments(app, 1, 1);
    await courier.deliver();
    expect(receiver.received.slice(before).map(({ path }) => path)).toEqual(["/a"]);
    const { webhook_deliveries } = await app.get(`/v1/webhook-deliveries?endpoint_id=${b.id}`);
    expect(webhook_deliveries[0]).toMatchObject({ status: "failed", http_status: null });
    for (const { id } of [a, b]) await app.ok("DELETE", `/v1/webhooks/${id}`);
  });

  test("rotated: both sign for 24 hours, then the new one alone", async () => {
    const made = await register(app, receiver.url("/rotated"));
    const { webhook_endpoint: rotated } = await app.post(`/v1/webhooks/${made.id}/rotate-secret`);
    expect(rotated.secret).not.toBe(made.secret);
    const send = async (no: number) => {
      await emitPayments(app, no, 1);
      await courier.deliver();
      const got = receiver.received.at(-1);
      if (got?.path !== "/rotated") throw new Error("Nothing came in.");
      return got;
    };
    const during = await send(1);
    expect(during.headers["webhook-signature"]).toBe(
      `${standard(rotated.secret, during)} ${standard(made.secret, during)}`,
    );
    const plain = (secret: string, { raw }: { raw: Buffer }) =>
      createHmac("sha256", secret).update(raw).digest("hex");
    expect(during.headers["x-service-signature"]).toBe(plain(made.secret, during));
    await rows(sql`
      update webhook_endpoints
         set previous_secret_until =
               (previous_secret_until at time zone 'UTC' - interval '24 hours') at time zone 'UTC'
       where id = ${made.id}`);
    const [left] = await rows(sql`
      select extract(epoch from previous_secret_until - statement_timestamp())::float8 as seconds
        from webhook_endpoints
       where id = ${made.id}`);
    expect(left.seconds).toBeLessThanOrEqual(0);
    expect(left.seconds).toBeGreaterThan(-30);
    const after = await send(2);
    expect(after.headers["webhook-signature"]).toBe(standard(rotated.secret, after));
    expect(after.headers["x-service-signature"]).toBe(plain(rotated.secret, after));
    await app.ok("DELETE", `/v1/webhooks/${made.id}`);
  });
});

describe("an endpoint", () => {
  test("is told only what it is subscribed to, and only while it is", async () => {
    const made = await register(app, receiver.url("/subscribed"), ["addon.applied"]);
    const mine = () => receiver.received.filter(({ path }) => path === "/subscribed").length;
    await emitPayments(app, 1, 1);
    await courier.deliver();
    expect(mine()).toBe(0);
    await app.patch(`/v1/webhooks/${made.id}`, { events: ["payment.succeeded"] });
    await courier.deliver();
    expect(mine()).toBe(0);
    await emitPayments(app, 2, 1);
    await courier.deliver();
    expect(mine()).toBe(1);
    await app.ok("DELETE", `/v1/webhooks/${made.id}`);
    await emitPayments(app, 3, 1);
    await courier.deliver();
    expect(mine()).toBe(1);
    expect((await app.call("GET", `/v1/webhooks/${made.id}`)).status).toBe(404);
  });

  test("of another project is unknown, and hears nothing", async () => {
    const made = await register(app, receiver.url("/mine"));
    const other = await newProject(app);
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/test"],
      ["POST", "/rotate-secret"],
    ] as const) {
      const answer = await other.call(method, `/v1/webhooks/${made.id}${path}`);
      expect(answer.status).toBe(404);
    }
    await emitPayments(app, 1, 1, "commit", other.project);
    expect(await courier.deliver(other.project)).toBe(0);
    await app.ok("DELETE", `/v1/webhooks/${made.id}`);
  });

  test("number 51 is refused, and a removed one makes room", async () => {
    const project = await newProject(app);
    const body = (i: number) => ({ url: receiver.url(`/${i}`), events: ["addon.applied"] });
    const made: Json[] = [];
    for (let i = 0; i < 49; i++) made.push(await project.post("/v1/webhooks", body(i)));
    // Two at once for the last place.
    const last = await Promise.all(
      [50, 51].map((i) => project.call("POST", "/v1/webhooks", body(i))),
    );
    expect(last.map(({ status }) => status).toSorted()).toEqual([201, 422]);
    const refused = last.find(({ status }) => status === 422);
    expect(refused?.body.error.code).toBe("limit_exceeded");
    const { webhook_endpoints } = await project.get("/v1/webhooks");
    expect(webhook_endpoints).toHaveLength(50);
    await project.ok("DELETE", `/v1/webhooks/${made[0].webhook_endpoint.id}`);
    expect((await project.call("POST", "/v1/webhooks", body(52))).status).toBe(201);
  });

  test("that is enabled while what waits for it is being paused gets it", async () => {
    const { id } = await register(app, receiver.url("/paused"));
    const project = app.profile.project_id as ProjectId;
    const waiting = () =>
      rows(sql`
        select due_at = 'infinity' as is_paused
          from webhook_queue
         where project_id = ${project} and endpoint_id = ${id}`);
    // As where a message was written while its endpoint was being disabled: it is due all the same.
    await emitPayments(app, 1, 1);
    await app.context.db.run(sql`
      update webhook_endpoints
         set enabled = false
       where project_id = ${project} and id = ${id}`);
    let enabled: Promise<unknown> | undefined;
    await app.context.db.tx(async (tx) => {
      await pauseDisabled(tx, project);
      enabled = app.patch(`/v1/webhooks/${id}`, { enabled: 1 });
      await Promise.race([enabled, pause(WAIT_MS)]);
    });
    await enabled;
    expect(await waiting()).toEqual([{ is_paused: false }]);
    await app.ok("DELETE", `/v1/webhooks/${id}`);
  });

  test("gets a test message of its own", async () => {
    const made = await register(app, receiver.url("/tested"), ["addon.applied"]);
    const bystander = await register(app, receiver.url("/bystander"), ["addon.applied"]);
    expect((await app.call("POST", `/v1/webhooks/${made.id}/test`)).status).toBe(202);
    expect(await courier.deliver()).toBe(1);
    const got = receiver.received.at(-1);
    expect(got?.path).toBe("/tested");
    expect(got?.body).toEqual({
      event: "webhook.test",
      created_at: expect.any(String),
      data: { endpoint_id: made.id, url: made.url },
    });
    for (const { id } of [made, bystander]) await app.ok("DELETE", `/v1/webhooks/${id}`);
  });

  test.each([
    "http://example.com/hook",
    "https://10.0.0.1/hook",
    "https://169.254.169.254/latest",
    "https://[fe80::1]/hook",
    "https://metadata.internal/",
    "https://user:pass@example.com/",
    "ftp://example.com/",
    "https://example.com:25/",
    "example.com",
  ])("at %s is refused", async (url) => {
    const answer = await app.call("POST", "/v1/webhooks", { url, events: ["addon.applied"] });
    expect(answer.status).toBe(422);
    expect(answer.body.error.details[0].field).toBe("url");
  });
});
