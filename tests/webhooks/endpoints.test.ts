// Endpoints and their secrets: limits, rotation, removal, and what is on disk.

import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import { sql } from "../../src/store/db/sql.ts";
import { decrypt, secretBinding } from "../../src/store/tenants/encryption.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { newProject } from "../support/client.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { Receiver } from "../support/receiver.ts";

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

describe("if_absent", () => {
  const events = ["payment.succeeded"];
  const ask = (url: string) => app.call("POST", "/v1/webhooks", { url, events, if_absent: true });

  test("makes an endpoint once by URL, also for many who ask at one time", async () => {
    const url = receiver.url("/once");
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(url)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(7).fill(200), 201]);
    const ids = new Set(answers.map(({ body }) => body.webhook_endpoint.id));
    expect(ids.size).toBe(1);
    const secrets = answers.map(({ status, body }) => [status, body.webhook_endpoint.secret]);
    for (const [status, secret] of secrets) expect(secret.includes("…")).toBe(status === 200);
    const again = await ask(url.replace("http:", "HTTP:"));
    expect([again.status, ids.has(again.body.webhook_endpoint.id)]).toEqual([200, true]);
    await app.ok("DELETE", `/v1/webhooks/${[...ids][0]}`);
    const anew = await ask(url);
    expect(anew.status).toBe(201);
    await app.ok("DELETE", `/v1/webhooks/${anew.body.webhook_endpoint.id}`);
  });

  test("is not asked for: a URL is taken any number of times", async () => {
    const url = receiver.url("/often");
    const made = [await register(app, url), await register(app, url)];
    expect(new Set(made.map(({ id }) => id)).size).toBe(2);
    for (const { id } of made) await app.ok("DELETE", `/v1/webhooks/${id}`);
  });
});

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
         set former_until =
               array[(former_until[1] at time zone 'UTC' - interval '24 hours') at time zone 'UTC']
       where id = ${made.id}`);
    const [left] = await rows(sql`
      select extract(epoch from former_until[1] - statement_timestamp())::float8 as seconds
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

describe("rotated again and again", () => {
  const standard = (secret: string, { headers, raw }: { headers: Json; raw: Buffer }) => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const mac = createHmac("sha256", key);
    mac.update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${raw}`);
    return `v1,${mac.digest("base64")}`;
  };
  const plain = (secret: string, raw: Buffer) =>
    createHmac("sha256", secret).update(raw).digest("hex");

  async function rotate(id: string, body?: object): Promise<string> {
    return (await app.post(`/v1/webhooks/${id}/rotate-secret`, body)).webhook_endpoint.secret;
  }

  async function sent(): Promise<(typeof receiver.received)[number]> {
    await emitPayments(app, 1, 1);
    await courier.deliver();
    const got = receiver.received.at(-1);
    if (got?.path !== "/again") throw new Error("Nothing came in.");
    return got;
  }

  test("each secret signs until its own time is over", async () => {
    const { id, secret: first } = await register(app, receiver.url("/again"));
    const second = await rotate(id);
    const third = await rotate(id, { grace_hours: 72 });
    const all = await sent();
    const told = [third, second, first].map((secret) => standard(secret, all));
    expect(all.headers["webhook-signature"]).toBe(told.join(" "));
    expect(all.headers["x-service-signature"]).toBe(plain(first, all.raw));
    // A day later.
    await rows(sql`
      update webhook_endpoints
         set former_until = array(
               select u - interval '24 hours'
                 from unnest(former_until) with ordinality as f (u, n)
                order by n)
       where id = ${id}`);
    const later = await sent();
    const left = [third, second].map((secret) => standard(secret, later));
    expect(later.headers["webhook-signature"]).toBe(left.join(" "));
    expect(later.headers["x-service-signature"]).toBe(plain(second, later.raw));
    await app.ok("DELETE", `/v1/webhooks/${id}`);
  });

  test("with grace_hours 0 the new secret alone signs from now on", async () => {
    const { id } = await register(app, receiver.url("/again"));
    await rotate(id);
    const last = await rotate(id, { grace_hours: 0 });
    const got = await sent();
    expect(got.headers["webhook-signature"]).toBe(standard(last, got));
    expect(got.headers["x-service-signature"]).toBe(plain(last, got.raw));
    for (const grace_hours of [-1, 73, 1.5]) {
      const refused = await app.call("POST", `/v1/webhooks/${id}/rotate-secret`, { grace_hours });
      expect(refused.status).toBe(422);
    }
    await app.ok("DELETE", `/v1/webhooks/${id}`);
  });

  test("no more than ten of them at once", async () => {
    const { id } = await register(app, receiver.url("/again"));
    for (let i = 0; i < 10; i++) await rotate(id);
    const refused = await app.call("POST", `/v1/webhooks/${id}/rotate-secret`);
    expect([refused.status, refused.body.error.code]).toEqual([422, "limit_exceeded"]);
    await rotate(id, { grace_hours: 0 });
    await app.ok("DELETE", `/v1/webhooks/${id}`);
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

  test("that is enabled again gets what was written while it was being disabled", async () => {
    const { id } = await register(app, receiver.url("/slipped"));
    await emitPayments(app, 1, 1);
    await app.patch(`/v1/webhooks/${id}`, { enabled: 0 });
    expect(await courier.deliver()).toBe(0);
    await app.patch(`/v1/webhooks/${id}`, { enabled: 1 });
    expect(await courier.deliver()).toBe(1);
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
