// The lane for routes that are called far more often than all others: straight from the socket to
// the route's own function, past the framework. Takes only what is plain (a known token, a live
// project, a small JSON body or an id in the path); everything else goes the ordinary way, and the
// answers are the same.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import { asRefusal, envelope, JSON_TYPE, noteAnswer, requestId } from "./answers.ts";
import { type Actor, type Gate, mayDo } from "./auth.ts";
import { parseJson } from "./json.ts";
import { DOOR_HEADER } from "./mcp-tools.ts";
import type { Buckets } from "./rates.ts";
import type { Route } from "./route.ts";
import { type Check, checker } from "./validation.ts";

/** Needs no decoding and is no longer than any id. */
const PLAIN_ID = /^[\w:.@-]{1,255}$/;
const JSON_BODY = /^application\/json(?:\s*;|$)/i;

type Shared = {
  readonly context: Context;
  readonly gate: Gate;
  /** On the way out every answer is the last one of its connection. */
  readonly leaving: { readonly now: boolean };
};
type Lane = Shared & {
  readonly route: Route;
  readonly limit: Buckets | undefined;
  /** Of a route with a body. */
  readonly check: Check | undefined;
  readonly render: (answer: unknown) => string;
};
type Lanes = Record<"writes" | "reads", ReadonlyMap<string, Lane>>;
type Passenger = {
  readonly actor: Actor;
  readonly settings: ProjectSettings;
  readonly request_id: string;
  readonly started: number;
  readonly now: Date;
  readonly params: Readonly<Record<string, string>>;
};

type Parts = {
  readonly limitOf: (route: Route) => Buckets | undefined;
  readonly renderOf: (route: Route) => (answer: unknown) => string;
};

/** Puts the lane before the framework's own listener. */
export function openHotLane(
  server: Server,
  shared: Shared,
  routes: readonly Route[],
  { limitOf, renderOf }: Parts,
): void {
  const lanes = { writes: new Map<string, Lane>(), reads: new Map<string, Lane>() };
  for (const route of routes) {
    if (route.hot !== true && route.kind !== "point") continue;
    const check = route.body && checker(route.body, "body");
    const lane = { ...shared, route, limit: limitOf(route), check, render: renderOf(route) };
    const same = route.method === "POST" ? lanes.writes : lanes.reads;
    same.set(route.path.replace(/:.*/, ""), lane);
  }
  const [ordinary] = server.listeners("request");
  if (ordinary === undefined) return;
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const lane = laneFor(lanes, request);
    const passenger = lane && admit(lane, request);
    if (lane === undefined || passenger === undefined) ordinary.call(server, request, response);
    else ride(lane, passenger, request, response);
  });
}

/** Writes by their whole path, reads by what stands before the id. */
function laneFor(lanes: Lanes, { method, url = "" }: IncomingMessage): Lane | undefined {
  if (method === "POST") return lanes.writes.get(url);
  return method === "GET" ? lanes.reads.get(url.slice(0, url.lastIndexOf("/") + 1)) : undefined;
}

function isJson(type = ""): boolean {
  return type === "application/json" || JSON_BODY.test(type);
}

/** Who may ride; undefined for whoever must be looked at more closely. */
function admit(lane: Lane, request: IncomingMessage): Passenger | undefined {
  const { gate, route, context } = lane;
  const { headers } = request;
  const params = isPlain(lane, request) ? paramsOf(route, request.url ?? "") : undefined;
  if (params === undefined || route.scope === "public") return undefined;
  const now = context.clock.now();
  const actor = gate.recallActor(headers.authorization, now);
  if (actor === undefined || !mayDo(actor, route.scope)) return undefined;
  const settings = gate.recallProject(actor, headers["x-project-id"], now);
  if (settings === undefined) return undefined;
  const request_id = requestId(headers["x-request-id"]);
  return { actor, settings, request_id, started: monotonicMs(), now, params };
}

function isPlain({ route, check }: Lane, { headers }: IncomingMessage): boolean {
  const length = Number(headers["content-length"] ?? 0);
  const fits =
    check === undefined
      ? length === 0
      : length > 0 && length <= (route.body_max ?? 0) && isJson(headers["content-type"]);
  return (
    fits &&
    headers.host !== undefined &&
    headers.expect === undefined &&
    headers["transfer-encoding"] === undefined &&
    headers[DOOR_HEADER] === undefined
  );
}

const NO_PARAMS = {};

/** The last part of the path when the route names one; undefined when it must be decoded. */
function paramsOf({ path }: Route, url: string): Passenger["params"] | undefined {
  const colon = path.indexOf(":");
  if (colon < 0) return NO_PARAMS;
  const value = url.slice(colon);
  return PLAIN_ID.test(value) ? { [path.slice(colon + 1)]: value } : undefined;
}

function ride(
  lane: Lane,
  passenger: Passenger,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const refuse = (error: unknown) => sendRefusal(lane, passenger, response, error);
  const go = (bytes: Buffer | undefined) => {
    answer(lane, passenger, bytes)
      .then((body) => send(lane, passenger, response, lane.route.reply[0], body))
      .catch(refuse);
  };
  try {
    lane.limit?.take(passenger.actor.token_id);
  } catch (error) {
    refuse(error);
    return;
  }
  if (lane.check === undefined) go(undefined);
  else readBody(request, go, refuse);
}

async function answer(
  { context, route, check, render }: Lane,
  { actor, settings, now, params }: Passenger,
  bytes: Buffer | undefined,
): Promise<string> {
  const body = bytes && parseJson(bytes);
  check?.(body);
  const db = route.kind === "point" ? context.point : context.db;
  const call = { context, db, actor, project: settings.id, settings, now, params, body };
  // A hot route uses neither the framework's request nor its reply.
  return render(await route.handle(call as never, undefined as never));
}

function sendRefusal(
  lane: Lane,
  passenger: Passenger,
  response: ServerResponse,
  error: unknown,
): void {
  if (response.destroyed) return;
  const { request_id } = passenger;
  const refusal = asRefusal(lane.context, error, request_id, lane.route.path);
  const { status, headers } = refusal;
  send(lane, passenger, response, status, envelope(refusal, request_id), headers);
}

function send(
  { context, route, leaving }: Lane,
  { actor, settings, request_id, started }: Passenger,
  response: ServerResponse,
  status: number,
  body: string,
  headers?: Readonly<Record<string, string>>,
): void {
  const fields: Record<string, string | number> = {
    "content-type": JSON_TYPE,
    "x-request-id": request_id,
    "content-length": Buffer.byteLength(body),
  };
  if (leaving.now) fields.connection = "close";
  response.writeHead(status, headers === undefined ? fields : { ...headers, ...fields });
  response.end(body);
  const ms = monotonicMs() - started;
  const { token_id } = actor;
  const { method, path } = route;
  noteAnswer(context, {
    request_id,
    method,
    route: path,
    status,
    ms,
    token_id,
    project_id: settings.id,
  });
}

/** By callbacks: a small body is there at once, and a promise would wait for its turn. */
function readBody(
  request: IncomingMessage,
  go: (bytes: Buffer) => void,
  fail: (error: Error) => void,
): void {
  let first: Buffer | undefined;
  const more: Buffer[] = [];
  request.on("data", (chunk: Buffer) => {
    if (first === undefined) first = chunk;
    else more.push(chunk);
  });
  request.on("end", () => {
    const head = first ?? Buffer.alloc(0);
    go(more.length === 0 ? head : Buffer.concat([head, ...more]));
  });
  request.on("error", fail);
}
