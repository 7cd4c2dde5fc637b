// The lane for routes that are called far more often than all others: straight from the socket to
// the route's own function, past the framework. Takes only what is plain (a known token, a live
// project, a small JSON body); everything else goes the ordinary way, and answers are the same.

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
  readonly check: Check;
};
type Passenger = {
  readonly actor: Actor;
  readonly settings: ProjectSettings;
  readonly request_id: string;
  readonly started: number;
  readonly now: Date;
};

/** Puts the lane before the framework's own listener. */
export function openHotLane(
  server: Server,
  shared: Shared,
  routes: readonly Route[],
  limitOf: (route: Route) => Buckets | undefined,
): void {
  const lanes = new Map<string, Lane>();
  for (const route of routes) {
    if (route.hot !== true || route.body === undefined) continue;
    const check = checker(route.body, "body");
    lanes.set(route.path, { ...shared, route, limit: limitOf(route), check });
  }
  const [ordinary] = server.listeners("request");
  if (ordinary === undefined || lanes.size === 0) return;
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const lane = lanes.get(request.url ?? "");
    const passenger = lane && admit(lane, request);
    if (lane === undefined || passenger === undefined) ordinary.call(server, request, response);
    else void ride(lane, passenger, request, response);
  });
}

function isJson(type = ""): boolean {
  return type === "application/json" || JSON_BODY.test(type);
}

/** Who may ride; undefined for whoever must be looked at more closely. */
function admit({ gate, route, context }: Lane, request: IncomingMessage): Passenger | undefined {
  const { headers } = request;
  const length = Number(headers["content-length"]);
  const plain =
    request.method === route.method &&
    length > 0 &&
    length <= (route.body_max ?? 0) &&
    headers.host !== undefined &&
    headers.expect === undefined &&
    headers["transfer-encoding"] === undefined &&
    headers[DOOR_HEADER] === undefined &&
    isJson(headers["content-type"]);
  if (!plain || route.scope === "public") return undefined;
  const now = context.clock.now();
  const actor = gate.recallActor(headers.authorization, now);
  if (actor === undefined || !mayDo(actor, route.scope)) return undefined;
  const settings = gate.recallProject(actor, headers["x-project-id"], now);
  if (settings === undefined) return undefined;
  const request_id = requestId(headers["x-request-id"]);
  return { actor, settings, request_id, started: monotonicMs(), now };
}

async function ride(
  lane: Lane,
  passenger: Passenger,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { context, route } = lane;
  const { actor, settings, request_id, now } = passenger;
  try {
    lane.limit?.take(actor.token_id);
    const body = parseJson(await bytesOf(request));
    lane.check(body);
    const call = { context, db: context.db, actor, project: settings.id, settings, now, body };
    // A hot route uses neither the framework's request nor its reply.
    const answer = await route.handle(call as never, undefined as never);
    send(lane, passenger, response, route.reply[0], JSON.stringify(answer));
  } catch (error) {
    if (response.destroyed) return;
    const refusal = asRefusal(context, error, request_id, route.path);
    const { status, headers } = refusal;
    send(lane, passenger, response, status, envelope(refusal, request_id), headers);
  }
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

function bytesOf(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    const more: Buffer[] = [];
    request.on("data", (chunk: Buffer) => {
      if (first === undefined) first = chunk;
      else more.push(chunk);
    });
    request.on("end", () => {
      const head = first ?? Buffer.alloc(0);
      resolve(more.length === 0 ? head : Buffer.concat([head, ...more]));
    });
    request.on("error", reject);
  });
}
