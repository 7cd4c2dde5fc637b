// The HTTP server: Fastify finds the route, runRoute does the rest, and the response is written as
// it comes. What never reaches a route (no such path, broken HTTP) is refused here.

import type { ServerResponse } from "node:http";
import { isIP, Server as NetServer } from "node:net";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Context } from "../context.ts";
import { type Refusal, refuse } from "../errors.ts";
import { Acceptors } from "./admission/acceptors.ts";
import { BodyRoom } from "./admission/body-room.ts";
import type { Bounds } from "./admission/bound.ts";
import { CONNECTIONS_MAX, Connections } from "./admission/connections.ts";
import { type Actor, Gate } from "./request/auth.ts";
import { readBody } from "./request/read-body.ts";
import { UnreadBodies } from "./request/unread-bodies.ts";
import { answerBrokenRequest, asRefusal, noteAnswer, requestId } from "./responses.ts";
import type { RequestBody, Route, RouteRequest, RouteResponse } from "./route.ts";
import { refused, routeRunner } from "./run-route.ts";

const PATH_PARAM_MAX = 1_024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How often the two are enforced: Node's own 30 s would double what a slow client may take. */
const TIMEOUT_CHECK_MS = 2_000;
const KEEP_ALIVE_MS = 65_000;
const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 100;

const SLASH = 47;
const AUTHORIZATION = "authorization";

export type HttpServer = {
  readonly fastify: FastifyInstance;
  readonly gate: Gate;
  readonly bounds: Bounds;
  /** Returns its address. */
  listen(at: { readonly port: number; readonly host: string }): Promise<string>;
  /** Counts all that are open, whichever socket accepted them. */
  countConnections(): number;
  /** Takes no new connections; the others get their answers, and each answer is their last. */
  stopListening(): void;
};

/** `bounds` are those of the routes too, where they have any. */
export function buildServer(
  context: Context,
  routes: readonly Route[],
  bounds: Bounds,
): HttpServer {
  const gate = new Gate(context);
  const runRoute = routeRunner(context, gate, bounds);
  let draining = false;
  const unread = new UnreadBodies();
  const send = (reply: FastifyReply, response: RouteResponse) => {
    unread.discard(reply.raw.req);
    write(reply.raw, response, draining);
  };
  const answer = async (route: Route, request: FastifyRequest, reply: FastifyReply) => {
    context.api_activity.begin();
    try {
      send(reply, await runRoute(route, new HttpRequest(request, room)));
    } catch (error) {
      abandon(context, reply, error);
    } finally {
      connections.end(request.raw.socket);
      context.api_activity.end();
    }
  };
  const app = makeFastify(context, send);
  const connections = new Connections(app.server, bounds);
  const room = new BodyRoom(bounds);
  app.addHook("onRequest", (request, reply, done) => {
    const start = () => {
      const refusal = refusalBeforeRoute(request, routes);
      if (refusal === undefined) return done();
      reply.hijack();
      send(reply, unrouted(context, refusal, request));
    };
    connections.begin(request.raw.socket, { response: reply.raw, start });
  });
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      // Here and not in the handler: from this hook on nothing of the framework is left to run, so
      // its parsers cost nothing and a body is read only after the caller was admitted.
      onRequest: (request, reply) => {
        reply.hijack();
        void answer(route, request, reply);
      },
      handler: unreachable,
    });
  }
  const acceptors = new Acceptors(app.server, CONNECTIONS_MAX);
  const stopListening = () => {
    draining = true;
    acceptors.close();
    // The HTTP server's own close would cut idle connections on which a request is arriving.
    NetServer.prototype.close.call(app.server);
  };
  return {
    fastify: app,
    gate,
    bounds,
    listen: (at) => listen(context, app, acceptors, at),
    countConnections: () => connections.count,
    stopListening,
  };
}

/** Returns its address. */
async function listen(
  context: Context,
  app: FastifyInstance,
  acceptors: Acceptors,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<string> {
  // Node's backlog of 511 fills in 0.2 s; connections after that wait 1 to 3 s for a retry.
  const address = await app.listen({ port, host, backlog: CONNECTIONS_MAX });
  // The server does not wait for it: one at a time will do until then.
  acceptors.add().catch((error: unknown) => {
    context.log.warn({ err: error }, "connections are accepted one at a time");
  });
  return address;
}

type Send = (reply: FastifyReply, response: RouteResponse) => void;

function makeFastify(context: Context, send: Send): FastifyInstance {
  const app = fastify({
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: "idle",
    trustProxy: proxiesOf(context.config),
    genReqId: ({ headers }) => requestId(headers["x-request-id"]),
    routerOptions: { maxParamLength: PATH_PARAM_MAX, ignoreTrailingSlash: false },
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // refusalBeforeRoute refuses it instead, in the envelope.
      requireHostHeader: false,
    },
    // Errors of a path that cannot be decoded, or whose id is too long.
    frameworkErrors: (error, request, reply) => {
      const refusal = asRefusal(context, error, request.id, undefined);
      reply.hijack();
      send(reply, unrouted(context, refusal, request));
    },
    clientErrorHandler: answerBrokenRequest,
  });
  app.server.maxHeadersCount = HEADERS_MAX;
  return app;
}

function proxiesOf({ trust_proxy }: Context["config"]) {
  if (typeof trust_proxy === "number") return (_: string, hop: number) => hop < trust_proxy;
  return trust_proxy === false ? false : [...trust_proxy];
}

/** Fastify's request as runRoute takes it. */
class HttpRequest implements RouteRequest {
  readonly #request: FastifyRequest;
  readonly #room: BodyRoom;
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: RouteRequest["headers"];
  readonly params: RouteRequest["params"];
  readonly query: RouteRequest["query"];

  constructor(request: FastifyRequest, room: BodyRoom) {
    this.#request = request;
    this.#room = room;
    this.id = request.id;
    this.method = request.method;
    this.url = request.url;
    this.headers = request.headers;
    this.params = request.params as RouteRequest["params"];
    this.query = request.query as RouteRequest["query"];
  }

  /** The address, found when it is asked for: it may stand in the headers of proxies. */
  get ip(): string {
    const { ip, socket } = this.#request;
    // A caller may write anything in front of what the proxies add.
    return isIP(ip) === 0 ? (socket.remoteAddress ?? "") : ip;
  }

  readBody(route: Route, sender: Actor | undefined): Promise<RequestBody> {
    return readBody(route, this.#request.raw, this.#room, sender);
  }
}

function write(raw: ServerResponse, response: RouteResponse, isLast: boolean): void {
  if (raw.destroyed) return;
  const { status, headers, body } = response;
  raw.writeHead(status, isLast ? { ...headers, connection: "close" } : headers);
  raw.end(body);
}

/** A response that cannot be written is our fault: the caller sees a closed connection. */
function abandon(context: Context, reply: FastifyReply, error: unknown): void {
  context.log.error({ err: error, request_id: reply.request.id }, "a response was not written");
  reply.raw.destroy();
}

function refusalBeforeRoute(
  request: FastifyRequest,
  routes: readonly Route[],
): Refusal | undefined {
  if (request.headers.host === undefined && request.raw.httpVersion === "1.1") {
    return refuse("bad_request", "The header Host is missing.");
  }
  if (endsInSlash(request.url)) {
    return refuse("not_found", "The path ends in a slash. Leave it out.");
  }
  if (request.is404) return unmatched(routes, request);
  if (countAuthorizations(request.raw.rawHeaders) > 1) {
    return refuse("bad_request", "The header Authorization may be sent once.");
  }
  return undefined;
}

/** Whether a path other than / ends in a slash: none of ours does. */
function endsInSlash(url: string): boolean {
  const query = url.indexOf("?");
  const last = (query < 0 ? url.length : query) - 1;
  return last > 0 && url.charCodeAt(last) === SLASH;
}

/** Counts them in what was sent: Node keeps the first of several and drops the rest. */
function countAuthorizations(headers: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) count += 1;
  }
  return count;
}

function unmatched(routes: readonly Route[], request: FastifyRequest): Refusal {
  const path = request.url.split("?")[0] ?? "";
  const allowed = allowedAt(routes, path);
  if (allowed.length === 0) {
    return refuse("not_found", "There is nothing at this path. See /docs for what there is.");
  }
  const allow = allowed.join(", ");
  return refuse("method_not_allowed", `This path takes ${allow}.`, { headers: { allow } });
}

/** The methods of a path. Where it is spelled out somewhere, routes that take ids have no part. */
function allowedAt(routes: readonly Route[], path: string): string[] {
  const matching = routes.filter((route) => matches(route.path, path));
  const exact = matching.filter((route) => route.path === path);
  const methods = (exact.length > 0 ? exact : matching).map(({ method }) => method);
  return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))];
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i]))
  );
}

/** The response to a request that no route ran for. */
function unrouted(context: Context, refusal: Refusal, request: FastifyRequest): RouteResponse {
  const { id, method } = request;
  const answered = { request_id: id, method, route: "unmatched", status: refusal.status, ms: 0 };
  noteAnswer(context, { ...answered, token_id: undefined, project_id: undefined });
  return refused(refusal, id);
}

function unreachable(): never {
  throw new Error("The response was taken over in onRequest.");
}
