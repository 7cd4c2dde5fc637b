// Builds the HTTP door from the table of routes: authenticates, checks, runs, answers.
// Errors are rendered in answers.ts and nowhere else.

import { Server as NetServer } from "node:net";
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import type { Context } from "../context.ts";
import { type Refusal, refuse } from "../errors.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type Caller, Gate, timeOf } from "./auth.ts";
import { HotLane } from "./fast-routes.ts";
import { keyOf, once } from "./idempotency.ts";
import { parseJson } from "./json.ts";
import { openLaneDoors } from "./lane-doors.ts";
import { DOOR_HEADER, DOOR_KEY } from "./mcp/tools.ts";
import { Buckets } from "./rate-limit.ts";
import {
  answerBrokenRequest,
  asRefusal,
  envelope,
  JSON_TYPE,
  noteAnswer,
  requestId,
} from "./responses.ts";
import { type Call, type Method, type Route, WithStatus, type WriteCall } from "./route.ts";
import { type Check, checker, checkPathText, checkQueryText } from "./validation.ts";

const BODY_MAX = 1024 * 1024;
const PATH_PARAM_MAX = 1_024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How often the two are enforced: Node's own 30 s would double what a slow client may take. */
const TIMEOUT_CHECK_MS = 2_000;
const KEEP_ALIVE_MS = 65_000;
const CONNECTIONS_MAX = 2_000;
const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 100;

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller;
  }
  interface FastifyContextConfig {
    unparsed?: boolean;
  }
}

export type Door = {
  readonly app: FastifyInstance;
  readonly gate: Gate;
  /** No new connections; those there are get their answers, and each answer is their last. */
  stopListening(): void;
};

export function buildServer(context: Context, routes: readonly Route[]): Door {
  const app = fastify({
    bodyLimit: BODY_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: "idle",
    trustProxy: context.config.trust_proxy,
    genReqId: ({ headers }) => requestId(headers["x-request-id"]),
    routerOptions: { maxParamLength: PATH_PARAM_MAX, ignoreTrailingSlash: false },
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Refused below instead, in the envelope.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => renderError(context, error, request, reply),
    clientErrorHandler: answerBrokenRequest,
  });
  app.server.maxConnections = CONNECTIONS_MAX;
  app.server.maxHeadersCount = HEADERS_MAX;

  const gate = new Gate(context);
  app.decorateRequest("caller");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i,
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: Buffer) => {
      if (body.length === 0) return undefined;
      return request.routeOptions.config.unparsed === true ? body : parseJson(body);
    },
  );
  const leaving = { now: false };
  addHooks(app, context, routes, leaving);
  app.setErrorHandler((error: FastifyError, request, reply) =>
    renderError(context, error, request, reply),
  );
  const limits = tokenLimits(context);
  for (const route of routes) mount(app, context, gate, route, limits);
  const lane = new HotLane(context, gate, routes, {
    limitOf: (route) => limitOf(limits, route),
    renderOf: (route) => renderer(app, route),
  });
  openLaneDoors(app.server, lane, leaving);
  const stopListening = () => {
    leaving.now = true;
    // The HTTP server's own close would cut idle connections on which a request is arriving.
    NetServer.prototype.close.call(app.server);
  };
  return { app, gate, stopListening };
}

/** Hooks that wait for nothing take a callback: a promise each would cost as much as they do. */
function addHooks(
  app: FastifyInstance,
  context: Context,
  routes: readonly Route[],
  leaving: { now: boolean },
): void {
  app.addHook("onRequest", (request, _reply, done) => {
    const { headers, raw } = request;
    if (headers.host === undefined && raw.httpVersion === "1.1") {
      done(refuse("bad_request", "The header Host is missing."));
    } else if (request.is404) {
      // Here and not in a handler, so that no body is read, let alone parsed, for nothing.
      done(unmatched(routes, request));
    } else done();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    reply.header("x-request-id", request.id);
    if (leaving.now) reply.header("connection", "close");
    done(null, payload);
  });
  app.addHook("onResponse", (request, reply, done) => {
    noteAnswer(context, {
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? "unmatched",
      status: reply.statusCode,
      ms: reply.elapsedTime,
      token_id: request.caller?.actor?.token_id,
      project_id: request.caller?.settings?.id,
    });
    done();
  });
}

/** The framework's own serializer of a route's answer, made at its first use. */
function renderer(app: FastifyInstance, { method, path: url, reply }: Route) {
  const [httpStatus, schema] = reply;
  let render: ((answer: unknown) => string) | undefined;
  return (answer: unknown): string => {
    const of = { schema, method, url, httpStatus: String(httpStatus) };
    render ??= app.serializerCompiler?.(of as never) ?? JSON.stringify;
    return render(answer);
  };
}

type TokenLimits = Readonly<Record<"reads" | "writes" | "events", Buckets | undefined>>;

function tokenLimits({ config }: Context): TokenLimits {
  const bucket = (per_minute: number) =>
    per_minute === 0 ? undefined : new Buckets({ burst: per_minute, per_minute });
  return {
    reads: bucket(config.rate_reads_per_minute),
    writes: bucket(config.rate_writes_per_minute),
    events: bucket(config.rate_events_per_minute),
  };
}

function limitOf(limits: TokenLimits, route: Route): Buckets | undefined {
  if (route.kind === "read" || route.kind === "point") return limits.reads;
  return limits[route.scope === "events" ? "events" : "writes"];
}

function mount(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  route: Route,
  limits: TokenLimits,
): void {
  const [status, schema] = route.reply;
  const response: Record<number, unknown> = {};
  for (const [code, shape] of Object.entries({ ...route.also, [status]: schema })) {
    if (shape !== null) response[Number(code)] = shape;
  }
  const checks = {
    query: route.query === undefined ? undefined : checker(route.query, "query"),
    body: route.body === undefined ? undefined : checker(route.body, "body"),
  };
  const limit = limitOf(limits, route);
  app.route({
    method: route.method,
    url: route.path,
    schema: { response },
    config: { unparsed: route.unparsed === true },
    ...(route.body_max === undefined ? {} : { bodyLimit: route.body_max }),
    onRequest: async (request) => {
      request.caller = await admit(gate, route, request);
      if (request.caller.actor !== undefined) limit?.take(request.caller.actor.token_id);
    },
    handler: async (request, reply) => {
      const answer = await answerOf(context, gate, route, checks, request, reply);
      return reply.sent ? reply : send(reply, status, answer);
    },
  });
}

async function admit(gate: Gate, route: Route, { headers }: FastifyRequest): Promise<Caller> {
  const { actor, settings } = await gate.admit(route, headers);
  const isTool = actor !== undefined && headers[DOOR_HEADER] === DOOR_KEY;
  return { actor: isTool ? { ...actor, via: "mcp" } : actor, settings };
}

async function answerOf(
  context: Context,
  gate: Gate,
  route: Route,
  checks: { query: Check | undefined; body: Check | undefined },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  checkPathText(request.params as Record<string, string>);
  checkQueryText(request.query as Record<string, unknown>);
  checks.query?.(request.query);
  const { body } = request;
  if (!(route.body_optional && body === undefined)) checks.body?.(body);
  const { actor, settings } = request.caller;
  const call = {
    context,
    db: route.kind === "point" ? context.point : context.db,
    gate,
    actor,
    project: settings?.id as ProjectId,
    settings,
    now: timeOf(context, settings),
    params: request.params,
    query: request.query,
    body,
    request,
  } as Call<unknown, unknown>;
  if (route.kind !== "write") return route.handle(call as never, reply);
  return runWrite(route, call, reply);
}

/** One request, one transaction: effect, log and idempotency key stand or fall together. */
async function runWrite(route: Route, call: Call<unknown, unknown>, reply: FastifyReply) {
  const { db, ...rest } = call;
  const key = keyOf(call.request.headers["idempotency-key"]);
  const scope = call.project ?? call.actor?.organization_id;
  return db.tx(async (tx) => {
    const run = () => route.handle({ ...rest, tx } as WriteCall<unknown, unknown> as never, reply);
    if (key === undefined || scope === undefined || route.replayable === false) return run();
    const { method, url, body } = call.request;
    const request = JSON.stringify([method, url, body ?? null]);
    const { secret_key, clock } = call.context;
    const answer = await once(
      tx,
      { scope_id: scope, key, request, ...(route.secret_answer && { secret_key }) },
      clock.now(),
      async () => rendered(reply, route.reply[0], await run()),
    );
    if (answer.replayed) reply.header("idempotent-replayed", "true");
    return new WithStatus(answer.status, new Rendered(answer.body));
  });
}

/** A body that is JSON text already. */
class Rendered {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function rendered(reply: FastifyReply, fallback: number, answer: unknown) {
  const { status, body } =
    answer instanceof WithStatus ? answer : { status: fallback, body: answer };
  const serialize = reply.getSerializationFunction(String(status)) ?? JSON.stringify;
  return { status, body: body === undefined ? "" : (serialize(body as never) as string) };
}

function send(reply: FastifyReply, fallback: number, answer: unknown): FastifyReply {
  const { status, body } =
    answer instanceof WithStatus ? answer : { status: fallback, body: answer };
  reply.code(status);
  if (body instanceof Rendered) {
    if (body.text === "") return reply.send();
    return reply.type(JSON_TYPE).serializer(String).send(body.text);
  }
  return reply.send(body);
}

function unmatched(routes: readonly Route[], request: FastifyRequest): Refusal {
  const path = request.url.split("?")[0] ?? "";
  const allowed = routes.filter((route) => matches(route.path, path)).map((route) => route.method);
  if (allowed.length === 0) {
    return refuse("not_found", "There is nothing at this path. See /docs for what there is.");
  }
  const allow = [...new Set<Method>(allowed)].join(", ");
  return refuse("method_not_allowed", `This path takes ${allow}.`, { headers: { allow } });
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i]))
  );
}

function renderError(
  context: Context,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const refusal = asRefusal(context, error, request.id, request.routeOptions.url);
  for (const [name, value] of Object.entries(refusal.headers ?? {})) reply.header(name, value);
  reply.code(refusal.status).type(JSON_TYPE).serializer(String).send(envelope(refusal, request.id));
}
