// The lane for routes that are called far more often than all others: straight to the route's own
// function, past the framework. Takes only what is plain (a small JSON body, or an id in the path);
// everything else goes the ordinary way, and the answers are the same.

import type { IncomingMessage } from "node:http";
import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { type Caller, type Gate, timeOf } from "./auth.ts";
import { parseJson } from "./json.ts";
import { DOOR_HEADER } from "./mcp/tools.ts";
import type { Fields } from "./plain-http.ts";
import type { Buckets } from "./rate-limit.ts";
import { asRefusal, envelope, JSON_TYPE, noteAnswer, requestId } from "./responses.ts";
import type { Route } from "./route.ts";
import { type Check, checker } from "./validation.ts";

/** Needs no decoding and is no longer than any id. */
const PLAIN_ID = /^[\w:.@-]{1,255}$/;
const JSON_BODY = /^application\/json(?:\s*;|$)/i;

type Asked = Pick<IncomingMessage, "method" | "url" | "headers">;
/** Sends an answer off. */
export type Exit = (status: number, fields: Fields, body: string) => void;
/** Answers a request when its body is there. */
type Ride = (bytes: Buffer | undefined, exit: Exit) => void;

type Lane = {
  readonly route: Route;
  readonly limit: Buckets | undefined;
  /** Of a route with a body. */
  readonly check: Check | undefined;
  readonly render: (answer: unknown) => string;
};
type Params = Readonly<Record<string, string>>;
type Passenger = {
  readonly headers: Asked["headers"];
  readonly params: Params;
  readonly bytes: Buffer | undefined;
  readonly exit: Exit;
  readonly request_id: string;
  readonly started: number;
  caller: Caller | undefined;
};

type Parts = {
  readonly limitOf: (route: Route) => Buckets | undefined;
  readonly renderOf: (route: Route) => (answer: unknown) => string;
};

export class HotLane {
  readonly #context: Context;
  readonly #gate: Gate;
  /** By their whole path. */
  readonly #writes = new Map<string, Lane>();
  /** By what stands before the id. */
  readonly #reads = new Map<string, Lane>();

  constructor(context: Context, gate: Gate, routes: readonly Route[], parts: Parts) {
    this.#context = context;
    this.#gate = gate;
    for (const route of routes) {
      if (route.hot !== true && route.kind !== "point") continue;
      const check = route.body && checker(route.body, "body");
      const lane = { route, check, limit: parts.limitOf(route), render: parts.renderOf(route) };
      const same = route.method === "POST" ? this.#writes : this.#reads;
      same.set(route.path.replace(/:.*/, ""), lane);
    }
  }

  /** Undefined for what must go the ordinary way. */
  find({ method, url = "", headers }: Asked): Ride | undefined {
    const lane = this.#laneOf(method, url);
    if (lane === undefined || !isPlain(lane, headers)) return undefined;
    const params = paramsOf(lane.route, url);
    if (params === undefined) return undefined;
    const started = monotonicMs();
    return (bytes, exit) => {
      const request_id = requestId(headers["x-request-id"]);
      const passenger = { headers, params, bytes, exit, request_id, started, caller: undefined };
      void this.#ride(lane, passenger);
    };
  }

  #laneOf(method: string | undefined, url: string): Lane | undefined {
    if (method === "POST") return this.#writes.get(url);
    return method === "GET" ? this.#reads.get(url.slice(0, url.lastIndexOf("/") + 1)) : undefined;
  }

  async #ride(lane: Lane, passenger: Passenger): Promise<void> {
    try {
      const answer = await this.#answer(lane, passenger);
      this.#send(lane, passenger, lane.route.reply[0], lane.render(answer));
    } catch (error) {
      this.#refuse(lane, passenger, error);
    }
  }

  /** Who was known a moment ago is not asked for again: most requests wait for nothing here. */
  #answer(lane: Lane, passenger: Passenger): Promise<unknown> {
    const { route } = lane;
    const { headers } = passenger;
    const caller = this.#gate.recall(route, headers);
    if (caller !== undefined) return this.#handle(lane, passenger, caller);
    return this.#gate.admit(route, headers).then((known) => this.#handle(lane, passenger, known));
  }

  #handle({ route, check, limit }: Lane, passenger: Passenger, caller: Caller): Promise<unknown> {
    const { params, bytes } = passenger;
    const context = this.#context;
    const { actor, settings } = caller;
    passenger.caller = caller;
    if (actor !== undefined) limit?.take(actor.token_id);
    const body = bytes && parseJson(bytes);
    check?.(body);
    const db = route.kind === "point" ? context.point : context.db;
    const now = timeOf(context, settings);
    const call = { context, db, actor, project: settings?.id, settings, now, params, body };
    // A hot route uses neither the framework's request nor its reply.
    return route.handle(call as never, undefined as never);
  }

  #refuse(lane: Lane, passenger: Passenger, error: unknown): void {
    const { request_id } = passenger;
    const refusal = asRefusal(this.#context, error, request_id, lane.route.path);
    const { status, headers } = refusal;
    this.#send(lane, passenger, status, envelope(refusal, request_id), headers);
  }

  #send(
    { route }: Lane,
    { request_id, exit, started, caller }: Passenger,
    status: number,
    body: string,
    headers?: Fields,
  ): void {
    const fields = {
      ...headers,
      "content-type": JSON_TYPE,
      "x-request-id": request_id,
      "content-length": Buffer.byteLength(body),
    };
    exit(status, fields, body);
    noteAnswer(this.#context, {
      request_id,
      method: route.method,
      route: route.path,
      status,
      ms: monotonicMs() - started,
      token_id: caller?.actor?.token_id,
      project_id: caller?.settings?.id,
    });
  }
}

function isJson(type = ""): boolean {
  return type === "application/json" || JSON_BODY.test(type);
}

function isPlain({ route, check }: Lane, headers: Asked["headers"]): boolean {
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
function paramsOf({ path }: Route, url: string): Params | undefined {
  const colon = path.indexOf(":");
  if (colon < 0) return NO_PARAMS;
  const value = url.slice(colon);
  return PLAIN_ID.test(value) ? { [path.slice(colon + 1)]: value } : undefined;
}
