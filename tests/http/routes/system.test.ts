// What operators see: health, readiness, metrics, the reference, and logs that keep secrets.

import { createHash } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { Bounds } from "../../../src/http/admission/bound.ts";
import type { Readiness } from "../../../src/http/readiness.ts";
import { healthRoutes } from "../../../src/http/routes/system.ts";
import { buildServer } from "../../../src/http/server.ts";
import { makeLog } from "../../../src/log.ts";
import { apiServer } from "../../../src/service/api-server.ts";
import { type Db, type PointReads, Pool } from "../../../src/store/db/db.ts";
import { schemaVersion } from "../../../src/store/migration/migrate.ts";
import { includeThread, jobFailures } from "../../../src/telemetry.ts";
import { startApp, testConfig } from "../../support/app.ts";
import { Exposition } from "../../support/exposition.ts";
import { makeCustomer } from "../../support/records.ts";
import { expectError } from "../../support/shapes.ts";

const app = await startApp();
afterAll(() => app.close());

type Ready = Partial<Readiness>;

async function serverWith(readiness: Ready, change: Partial<typeof app.context> = {}) {
  const ready = { draining: false, schema_version: await schemaVersion(), warnings: [] };
  return apiServer({ ...app.context, ...change }, { ...ready, ...readiness });
}

async function statusOf(server: Awaited<ReturnType<typeof serverWith>>, url: string) {
  const answer = await server.fastify.inject({ url });
  return { status: answer.statusCode, body: answer.json() };
}

/** A database that nobody answers for. */
function gone(): Pool {
  return new Pool(
    { host: "127.0.0.1", port: 1, user: "nobody", database: "nowhere" },
    {
      max: 1,
      statement_timeout_ms: 1_000,
      lock_timeout_ms: 1_000,
      application_name: "gone",
    },
  );
}

describe("health", () => {
  test("/healthz says that the process is alive, whatever the database does", async () => {
    expect(await app.call("GET", "/healthz")).toMatchObject({
      status: 200,
      body: { status: "ok" },
    });
    const pool = gone();
    const server = await serverWith({}, { db: pool });
    expect((await statusOf(server, "/healthz")).status).toBe(200);
    await pool.end();
  });

  test("/readyz is 200 with the schema version, and keeps the start's warnings", async () => {
    const server = await serverWith({ warnings: ["the key file in /srv/dues is used"] });
    const { status, body } = await statusOf(server, "/readyz");
    expect(status).toBe(200);
    const schema_version = await schemaVersion();
    expect(body).toEqual({ status: "ok", schema_version, started_jobs: [] });
  });

  test("HEALTH_PORT answers health, readiness with warnings, and metrics", async () => {
    const warnings = ["mind the gap"];
    const schema_version = await schemaVersion();
    const routes = healthRoutes({ draining: false, schema_version, warnings });
    const server = buildServer(app.context, routes, new Bounds());
    expect((await statusOf(server, "/readyz")).body).toEqual({
      status: "ok",
      schema_version,
      warnings,
      started_jobs: [],
    });
    expect((await statusOf(server, "/healthz")).status).toBe(200);
    expect((await server.fastify.inject({ url: "/metrics" })).statusCode).toBe(200);
    expect((await statusOf(server, "/v1/customers")).status).toBe(404);
    await server.fastify.close();
  });

  describe("what the jobs did when they last ran", () => {
    const about = { name: "billing", description: "Periods closed.", pause_ms: 1_000 };
    const last_run_at = new Date("2026-03-01T00:00:00.000Z");
    const ran = { ...about, last_run_at, took_ms: 12, done: 3, failures: 0 };
    const failed = { ...ran, name: "backlog", done: null, failures: 4 };
    const never = { ...about, name: "sweep", last_run_at: null, took_ms: null, done: null };
    const jobs = () => [ran, failed, { ...never, failures: 0 }];
    const shown = JSON.parse(JSON.stringify(jobs()));

    test("is told by /readyz where metrics are: where the API is, or on HEALTH_PORT", async () => {
      const server = await serverWith({ jobs });
      expect((await statusOf(server, "/readyz")).body.jobs).toEqual(shown);
      const schema_version = await schemaVersion();
      const own = { draining: false, schema_version, warnings: [], jobs };
      const health = buildServer(app.context, healthRoutes(own), new Bounds());
      expect((await statusOf(health, "/readyz")).body.jobs).toEqual(shown);
      await health.fastify.close();
    });

    test("is not told to strangers by the port of the API beside a HEALTH_PORT", async () => {
      const config = { ...app.context.config, health_port: 9_090 };
      const server = await serverWith({ jobs }, { config });
      expect((await statusOf(server, "/readyz")).body).not.toHaveProperty("jobs");
    });
  });

  test("jobs that calls have started are told where the others are, until they are done", async () => {
    const server = await serverWith({});
    const started = async () => (await statusOf(server, "/readyz")).body.started_jobs;
    expect(await started()).toEqual([]);
    await app.ok("PUT", "/v1/dunning", {
      enabled: true,
      steps: [{ days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" }],
    });
    expect(await started()).toEqual([
      { kind: "replan", jobs: 1, done: 0, oldest_s: expect.any(Number) },
    ]);
    await app.runWorkers();
    expect(await started()).toEqual([]);
    const beside = await serverWith({}, { config: { ...app.context.config, health_port: 9_090 } });
    expect((await statusOf(beside, "/readyz")).body).not.toHaveProperty("started_jobs");
  });

  test("with HEALTH_PORT the port of the API has no metrics", async () => {
    const config = { ...app.context.config, health_port: 9_090 };
    const server = await serverWith({}, { config });
    expect((await statusOf(server, "/metrics")).status).toBe(404);
    expect((await statusOf(server, "/healthz")).status).toBe(200);
  });

  test("/readyz is 503 while the process drains, and others may try again", async () => {
    const answer = await statusOf(await serverWith({ draining: true }), "/readyz");
    expectError(answer, 503, "unavailable");
    expect(answer.body.error.retryable).toBe(true);
  });

  test("/readyz is 503 when the schema is older than the process needs", async () => {
    const answer = await statusOf(await serverWith({ schema_version: 9_999 }), "/readyz");
    expectError(answer, 503, "unavailable");
  });

  test("/readyz stays 200 when a newer version has migrated the database", async () => {
    const older = (await schemaVersion()) - 1;
    const answer = await statusOf(await serverWith({ schema_version: older }), "/readyz");
    expect(answer).toMatchObject({ status: 200, body: { schema_version: older } });
  });

  test("without a database everything is 503 and says that it is worth another try", async () => {
    const pool = gone();
    const server = await serverWith({}, { db: pool, point: pool });
    expectError(await statusOf(server, "/readyz"), 503, "unavailable");
    const headers = {
      authorization: `Bearer ${app.profile.token}`,
      "x-project-id": app.profile.project_id,
    };
    const answer = await server.fastify.inject({ url: "/v1/customers", headers });
    expectError({ status: answer.statusCode, body: answer.json() }, 503, "unavailable");
    expect(answer.headers["retry-after"]).toBe("1");
    expect(answer.body).not.toContain("127.0.0.1");
    await pool.end();
  });
});

describe("HEALTH_PORT without a database", () => {
  const readyOn = async (point: PointReads) => {
    const own = { draining: false, schema_version: 1, warnings: [] };
    const server = buildServer({ ...app.context, point }, healthRoutes(own), new Bounds());
    const answer = await statusOf(server, "/readyz");
    await server.fastify.close();
    expectError(answer, 503, "unavailable");
    return answer.body.error.message;
  };

  test("/readyz names the cause, which the API's port keeps to itself", async () => {
    const pool = gone();
    const cause = "connect ECONNREFUSED 127.0.0.1:1";
    expect(await readyOn(pool)).toBe(`The database does not answer: ${cause}`);
    const server = await serverWith({}, { db: pool, point: pool });
    const { message } = (await statusOf(server, "/readyz")).body.error;
    expect(message).toBe("The database cannot be reached just now. Try again.");
    await pool.end();
  });

  test("/readyz says that it hangs", async () => {
    const hanging = { one: () => new Promise<never>(() => {}) } as unknown as PointReads;
    const message = "The database does not answer: it has said nothing for 1 s.";
    expect(await readyOn(hanging)).toBe(message);
  });
});

describe("metrics", () => {
  const scrape = async () => new Exposition(String((await app.call("GET", "/metrics")).body));

  test("/metrics is the Prometheus text format, and counts requests by route", async () => {
    const labels = { method: "GET", route: "/v1/customers/:id" };
    const count = async () => {
      const metrics = await scrape();
      return {
        requests: metrics.value("dues_http_requests_total", { ...labels, status: "200" }) ?? 0,
        timed: metrics.value("dues_http_request_seconds_count", labels) ?? 0,
      };
    };
    const customer = await makeCustomer(app);
    const { requests, timed } = await count();
    await app.get(`/v1/customers/${customer.id}`);
    expect(await count()).toEqual({ requests: requests + 1, timed: timed + 1 });
  });

  test("every line is a comment or a sample, and no label carries data", async () => {
    const answer = await app.call("GET", "/metrics");
    expect(answer.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    const { families, labelValues } = new Exposition(String(answer.body));
    expect(families.size).toBeGreaterThan(10);
    expect(labelValues).not.toContain(app.profile.project_id);
    expect(String(answer.body)).not.toContain(app.profile.project_id);
  });

  test("histograms have the documented buckets, each holding the ones before", async () => {
    await app.call("GET", "/healthz");
    // Reading it has checked that the counts add up.
    const metrics = await scrape();
    const labels = { method: "GET", route: "/healthz" };
    const total = metrics.value("dues_http_request_seconds_count", labels);
    const bounds = "0.001 0.002 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf".split(" ");
    const buckets = bounds.map((le) =>
      metrics.value("dues_http_request_seconds_bucket", { ...labels, le }),
    );
    expect(buckets).not.toContain(undefined);
    expect(buckets.at(-1)).toBe(total);
  });

  test("the process shows its memory, heap, uptime and event loop", async () => {
    const metrics = await scrape();
    for (const name of [
      "process_resident_memory_bytes",
      "process_heap_used_bytes",
      "process_uptime_seconds",
      "process_start_time_seconds",
      "process_cpu_seconds_total",
      "dues_event_loop_delay_p99_seconds",
    ]) {
      expect(metrics.value(name), name).toBeGreaterThan(0);
    }
  });

  test("counts of another thread are added to those of this one", async () => {
    const labels = { job: "a test of metrics" };
    jobFailures.inc(labels);
    const snapshot = async () => [
      {
        ...(await jobFailures.get()),
        values: [
          { labels, value: 2 },
          { labels: { job: "of the other thread" }, value: 5 },
        ],
      },
    ];
    const exclude = includeThread(snapshot);
    const both = await scrape();
    exclude();
    const alone = await scrape();
    expect(both.value("dues_job_failures_total", labels)).toBe(3);
    expect(both.value("dues_job_failures_total", { job: "of the other thread" })).toBe(5);
    expect(alone.value("dues_job_failures_total", labels)).toBe(1);
  });

  test.each([
    ["a line that is neither", "what is this\n"],
    ["a sample without a family", "a 1\n"],
    ["a family that begins twice", "# TYPE a gauge\na 1\n# TYPE a gauge\n"],
    ["a series that occurs twice", '# TYPE a gauge\na{b="1"} 1\na{b="1"} 2\n'],
    ["a value that is no number", "# TYPE a gauge\na undefined\n"],
    [
      "buckets that fall",
      '# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
    ],
    ["a text that is cut off", "# TYPE a gauge\na 1"],
  ])("what reads the format here refuses %s", (_, text) => {
    expect(() => new Exposition(text)).toThrow();
  });
});

describe("reference", () => {
  test("/openapi.json is an OpenAPI 3.1 document that names every kind of record", async () => {
    const { status, body } = await app.call("GET", "/openapi.json");
    expect(status).toBe(200);
    expect(body.openapi).toMatch(/^3\.1\./);
    const paths = Object.keys(body.paths);
    for (const path of ["/v1/customers", "/v1/plans/{id}", "/v1/events", "/v1/payments"]) {
      expect(paths).toContain(path);
    }
  });

  test("/docs is a page without anything from outside, and without scripts it does not bring", async () => {
    const { status, body, headers } = await app.call("GET", "/docs");
    expect(status).toBe(200);
    expect(headers["content-type"]).toMatch(/^text\/html/);
    const page = String(body);
    const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    const policy = headers["content-security-policy"];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`style-src 'sha256-${hash}'`);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(page).not.toMatch(/\sstyle=/);
    expect(page).not.toMatch(/(?:src|srcset|action)\s*=\s*["']?(?:https?:)?\/\//i);
    expect(page).not.toMatch(/<link[^>]+href\s*=\s*["']?(?:https?:)?\/\//i);
    expect(page).not.toMatch(/@import|url\(\s*["']?(?:https?:)?\/\//i);
    expect(page).not.toMatch(/<script[^>]+src/i);
  });
});

describe("logs", () => {
  const lines: string[] = [];
  const config = testConfig({ LOG_LEVEL: "trace" });
  const log = makeLog(config, { write: (line: string) => void lines.push(line) });

  test("tokens, secrets and authorization are never in a line, at whatever level", async () => {
    const server = await serverWith({}, { log, config });
    const { token, project_id, organization_id } = app.profile;
    const headers = { authorization: `Bearer ${token}`, "x-project-id": project_id };
    const key = await server.fastify.inject({
      method: "POST",
      url: "/v1/keys",
      payload: { name: "logged", organization_id },
    });
    const customer = { external_id: "secret-customer", name: "Jane Roe", email: "jane@roe.test" };
    await server.fastify.inject({
      method: "POST",
      url: "/v1/customers",
      payload: customer,
      headers,
    });
    await server.fastify.inject({ url: "/v1/customers/ext:secret-customer", headers });
    await server.fastify.inject({
      url: "/v1/keys/me",
      headers: { authorization: "Bearer dues_wrong" },
    });
    log.info({ token, secret: "whsec_x", nested: { authorization: headers.authorization } }, "x");
    const text = lines.join("");
    expect(lines.length).toBeGreaterThanOrEqual(5);
    const secrets = [token, key.json().token, organization_id, "whsec_x", "Bearer"];
    for (const word of [...secrets, ...Object.values(customer)]) expect(text).not.toContain(word);
    expect(text).toContain("[redacted]");
  });

  test("our own failures are logged with the request's id, and tell the caller nothing", async () => {
    lines.length = 0;
    const broken: Db = {
      ...throwing(),
      tx: () => Promise.reject(new Error("select secrets from vault")),
      alone: () => Promise.reject(new Error("select secrets from vault")),
      snapshot: () => Promise.reject(new Error("select secrets from vault")),
      forProject: () => broken,
      forEveryNode: () => broken,
    };
    const server = await serverWith({}, { log, config, db: broken });
    const headers = { authorization: `Bearer ${app.profile.token}`, "x-request-id": "trace-1" };
    const answer = await server.fastify.inject({ url: "/v1/keys/me", headers });
    expectError({ status: answer.statusCode, body: answer.json() }, 500, "internal_error");
    expect(answer.headers["x-request-id"]).toBe("trace-1");
    expect(answer.body).not.toContain("vault");
    const failure = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 50);
    expect(failure).toMatchObject({ request_id: "trace-1", msg: "internal_error" });
    expect(failure.err.message).toContain("vault");
  });

  function throwing() {
    const fail = () => Promise.reject(new Error("select secrets from vault"));
    return { many: fail, maybeOne: fail, one: fail, run: fail };
  }

  test("a request id that could forge a line is replaced", async () => {
    for (const id of ["a b", "x".repeat(65), "", '{"level":60}', "ünicode"]) {
      const answer = await app.call("GET", "/healthz", undefined, { "x-request-id": id });
      expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    }
    const kept = await app.call("GET", "/healthz", undefined, { "x-request-id": "my_id-7" });
    expect(kept.headers["x-request-id"]).toBe("my_id-7");
  });
});

test("answers are kept by nobody on the way, and taken for no page", async () => {
  for (const path of ["/v1/keys/me", "/v1/customers", "/nope", "/healthz", "/docs"]) {
    const { headers } = await app.call("GET", path);
    expect(headers, path).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
  }
});
