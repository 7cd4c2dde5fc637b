// Runs a route: admission, limits, checks, the transaction with its idempotency key, the answer,
// errors and the log line. Every request goes through here, whichever way it came in.

import fastJsonStringify from "fast-json-stringify";
import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { type Refusal, refuse, refuseField, UnknownOutcome } from "../errors.ts";
import { withBeforehand } from "../operations/beforehand.ts";
import type { Queryable } from "../store/db/db.ts";
import type { Bounds } from "./admission/bound.ts";
import { Load } from "./admission/load.ts";
import { RateLimit } from "./admission/rate-limit.ts";
import { type Actor, type Admission, type Gate, timeOf } from "./request/auth.ts";
import { findAnswer, keyOf, once } from "./request/idempotency.ts";
import { type FindIgnored, IGNORED_FIELDS, ignoredFinder } from "./request/ignored-fields.ts";
import {
  type Check,
  checker,
  checkPathText,
  checkQueryText,
  namesChecker,
} from "./request/validation.ts";
import { asRefusal, envelope, JSON_TYPE, noteAnswer } from "./responses.ts";
import {
  Content,
  type HeaderFields,
  isReplayable,
  Reply,
  type RequestBody,
  type Route,
  type RouteRequest,
  type RouteResponse,
  type RunRoute,
} from "./route.ts";
import { atSandboxTime } from "./sandbox-time.ts";
import { byCaller } from "./views.ts";

type Serialize = (record: unknown) => string;

/** What is made of a route once, when it is first called. */
type Prepared = {
  readonly limit: RateLimit | undefined;
  readonly checkNames: ((query: RouteRequest["query"]) => void) | undefined;
  readonly checkQuery: Check | undefined;
  readonly checkBody: Check | undefined;
  readonly findIgnored: FindIgnored | undefined;
  readonly serializers: ReadonlyMap<number, Serialize>;
};

export function routeRunner(context: Context, gate: Gate, bounds: Bounds): RunRoute {
  const prepare = preparer(context);
  const load = new Load(bounds);
  const runRoute: RunRoute = async (route, request) => {
    const started = monotonicMs();
    let caller: Admission | undefined;
    let response: RouteResponse;
    let body: RequestBody | undefined;
    let counted: ReturnType<Load["start"]> | undefined;
    let isAnswered = true;
    let ignored: string | undefined;
    try {
      if (!route.always) load.admit();
      if (waitsForConnection(route)) context.db.admit?.();
      const prepared = prepare(route);
      caller = gate.recall(route, request, started) ?? (await gate.admit(route, request));
      if (caller.actor !== undefined) prepared.limit?.take(caller.actor.token_id);
      body = await request.readBody(route, caller.actor);
      // Load is measured from here on, because a client that sends its body slowly is none of ours.
      counted = load.start();
      ignored = prepared.findIgnored?.(body.json);
      check(route, prepared, request, body);
      const running = { route, prepared, request, caller, body };
      response =
        route.kind === "write"
          ? await write(parts, running, route)
          : route.replays === "after" && request.headers["idempotency-key"] !== undefined
            ? await keptAfter(parts, running, route)
            : render(running, await handled(parts, running, route));
    } catch (error) {
      const failure =
        error instanceof UnknownOutcome ? refusalOfUnknown(error, route, request, body) : error;
      const refusal = asRefusal(context, failure, request.id, route.path);
      isAnswered = refusal.code !== "unavailable";
      response = refusedBy(route, refusal, request);
    } finally {
      if (counted !== undefined) load.end(counted, isAnswered);
      body?.release?.();
    }
    if (ignored !== undefined) response = withHeader(response, IGNORED_FIELDS, ignored);
    noteAnswer(context, {
      request_id: request.id,
      method: route.method,
      route: route.path,
      status: response.status,
      ms: monotonicMs() - started,
      token_id: caller?.actor?.token_id,
      project_id: caller?.settings?.id,
    });
    return response;
  };
  // `parts` comes after runRoute because it contains it: /v1/mcp runs other routes.
  const parts = { context, gate, runRoute };
  return runRoute;
}

/**
 * The refusal where the connection broke during the commit, so that nobody knows whether it
 * happened. It says "try again" only where a repetition has no second effect: by method, by
 * idempotency key or by `once_by`.
 */
function refusalOfUnknown(
  error: UnknownOutcome,
  route: Route,
  { method, headers, params }: RouteRequest,
  body: RequestBody | undefined,
): Refusal {
  const { once_by = "" } = route;
  const isKeyed = isReplayable(route) && headers["idempotency-key"] !== undefined;
  const isKnown = once_by in { ...params, ...(body?.json as object | undefined) };
  if (method !== "POST" || isKeyed || isKnown) return error;
  const refusal = refuse(
    "unavailable",
    "The database was lost while this was committed, so it may have been done. Look before you " +
      "send it again. With an Idempotency-Key a call can be repeated in any case.",
    { retryable: false },
  );
  return Object.assign(refusal, { cause: error.cause });
}

function waitsForConnection({ kind, always }: Route): boolean {
  return (kind === "write" || kind === "read") && !always;
}

function refusedBy(route: Route, refusal: Refusal, request: RouteRequest): RouteResponse {
  if (route.refusalPage === undefined) return refused(refusal, request.id, route.headers);
  const { status, body, headers } = route.refusalPage(refusal, request);
  return responseOf(status, body, { ...route.headers, ...headers }, request.id);
}

/** An error in the envelope that all of them share. */
export function refused(refusal: Refusal, id: string, routeHeaders?: HeaderFields): RouteResponse {
  const headers = { ...routeHeaders, ...refusal.headers };
  return responseOf(refusal.status, new Content(JSON_TYPE, envelope(refusal, id)), headers, id);
}

type Running = {
  readonly route: Route;
  readonly prepared: Prepared;
  readonly request: RouteRequest;
  readonly caller: Admission;
  readonly body: RequestBody;
};

type Parts = { readonly context: Context; readonly gate: Gate; readonly runRoute: RunRoute };

/** Runs the handler of a read. Not async, because each promise on the way costs 1 KB. */
function handled(
  parts: Parts,
  running: Running,
  route: Exclude<Route, { kind: "write" }>,
): Promise<unknown> {
  const { db, point } = ofProject(parts.context, running.caller);
  return route.kind === "point"
    ? route.handle(callOf(parts, running, point))
    : route.handle(callOf(parts, running, db));
}

/** The database, by the node that has the caller's project: see store/cluster/cluster-db.ts. */
function ofProject({ db, point }: Context, { settings }: Admission) {
  if (settings === undefined) return { db, point };
  return { db: db.forProject(settings.id), point: point.forProject(settings.id) };
}

function callOf<D extends Queryable>(parts: Parts, { request, caller, body }: Running, db: D) {
  const { context, gate, runRoute } = parts;
  const { settings } = caller;
  const { via } = request;
  const actor = caller.actor && via !== undefined ? { ...caller.actor, via } : caller.actor;
  return {
    context,
    gate,
    run: runRoute,
    db,
    actor,
    by: actor && byCaller(actor, context.config),
    project: settings?.id,
    settings,
    now: timeOf(context, settings),
    params: request.params,
    query: request.query as unknown,
    body: body.json,
    bytes: body.bytes,
    request,
  };
}

/** One request, one transaction: effect, log and idempotency key are committed together. */
async function write(
  parts: Parts,
  running: Running,
  route: Extract<Route, { kind: "write" }>,
): Promise<RouteResponse> {
  const { request } = running;
  const { db, ...call } = callOf(parts, running, ofProject(parts.context, running.caller).db);
  const key = keyOf(request.headers["idempotency-key"]);
  const scope_id = call.project ?? (call.actor && keyScopeOf(call.actor));
  let committed: (() => void)[] = [];
  let attempt = 0;
  const attempted = () =>
    db.tx(async (tx) => {
      // The list is begun anew, because `tx` may try again: only the attempt that commits counts.
      committed = [];
      attempt += 1;
      const afterCommit = (work: () => void) => committed.push(work);
      const act = () =>
        atSandboxTime(tx, call, attempt, async (now) =>
          render(running, await route.handle({ ...call, now, tx, afterCommit })),
        );
      if (key === undefined || scope_id === undefined) return act();
      const { method, url } = request;
      const { secret_key } = call.context;
      const asked = JSON.stringify([method, url, call.body ?? null]);
      const keyed = { scope_id, key, request: asked, ...(route.secret_answer && { secret_key }) };
      let made: RouteResponse | undefined;
      const answer = await once(tx, keyed, async () => {
        made = await act();
        return { status: made.status, body: made.body?.toString() ?? "" };
      });
      return made ?? replayed(running, answer);
    });
  const response = await withBeforehand(db, attempted);
  for (const work of committed) work();
  return response;
}

const KEPT_BYTES_MAX = 1024 * 1024;

/**
 * Keeps the answer once all is done. For work that is more than one transaction, or none of ours,
 * and has no second effect when it is done again, as for a caller who asks again before that.
 */
async function keptAfter(
  parts: Parts,
  running: Running,
  route: Exclude<Route, { kind: "write" }>,
): Promise<RouteResponse> {
  const { request, caller, body } = running;
  const { method, url, headers } = request;
  const { db } = ofProject(parts.context, caller);
  const key = keyOf(headers["idempotency-key"]) ?? "";
  const scope_id = caller.settings?.id ?? "";
  const keyed = { scope_id, key, request: JSON.stringify([method, url, body.json ?? null]) };
  const known = await findAnswer(db, keyed);
  if (known !== undefined) return replayed(running, known);
  const made = render(running, await handled(parts, running, route));
  const text = made.body?.toString() ?? "";
  if (Buffer.byteLength(text) > KEPT_BYTES_MAX) {
    const message =
      "What was sent is done, and the answer is too long to be kept for a repeat. Send it again " +
      "without Idempotency-Key to see it: by their transaction_ids, events count once.";
    throw refuseField("Idempotency-Key", "limit", message);
  }
  const { status } = made;
  const answer = await db.tx((tx) => once(tx, keyed, async () => ({ status, body: text })));
  return answer.replayed ? replayed(running, answer) : made;
}

/**
 * The scope of idempotency keys outside of a project: the organization. A token for some projects
 * has a scope of its own, because a kept answer could show it others.
 */
function keyScopeOf({ organization_id, project_ids, token_id }: Actor): string {
  return project_ids === null ? organization_id : token_id;
}

function replayed(
  { route, request }: Running,
  { status, body }: { status: number; body: string },
): RouteResponse {
  const headers = { ...route.headers, "idempotent-replayed": "true" };
  const content = body === "" ? undefined : new Content(JSON_TYPE, body);
  return responseOf(status, content, headers, request.id);
}

function render({ route, prepared, request }: Running, answer: unknown): RouteResponse {
  const reply = answer instanceof Reply ? answer : undefined;
  const status = reply?.status ?? route.reply[0];
  const body = reply === undefined ? answer : reply.body;
  const headers =
    reply === undefined && route.headers === undefined
      ? undefined
      : { ...route.headers, ...reply?.headers };
  if (body === undefined || body instanceof Content) {
    return responseOf(status, body, headers, request.id);
  }
  const serialize = prepared.serializers.get(status) ?? JSON.stringify;
  return responseOf(status, new Content(JSON_TYPE, serialize(body)), headers, request.id);
}

function withHeader(response: RouteResponse, name: string, value: string): RouteResponse {
  return { ...response, headers: { ...response.headers, [name]: value } };
}

const NO_CONTENT = 204;

/**
 * Answers carry tokens, secrets and amounts, so no cache may keep them and no browser may guess
 * another type. The fields are set one by one: each that is added to a copy of an object (`...`)
 * makes a hidden class of its own in V8, which took 4 µs and 570 bytes of old space a response.
 */
function responseOf(
  status: number,
  content: Content | undefined,
  headers: HeaderFields | undefined,
  request_id: string,
): RouteResponse {
  const fields: Record<string, string> = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  if (headers !== undefined) Object.assign(fields, headers);
  fields["x-request-id"] = request_id;
  const body = content?.data;
  if (content !== undefined) fields["content-type"] = content.type;
  if (status !== NO_CONTENT) fields["content-length"] = String(body ? Buffer.byteLength(body) : 0);
  return { status, headers: fields, body };
}

function check(route: Route, prepared: Prepared, request: RouteRequest, body: RequestBody): void {
  checkPathText(request.params);
  checkQueryText(request.query);
  prepared.checkNames?.(request.query);
  prepared.checkQuery?.(request.query);
  if (body.bytes !== undefined || (route.body_optional && body.json === undefined)) return;
  prepared.checkBody?.(body.json);
}

/** Schemas are compiled when a route is first called, not at the start of the process. */
function preparer(context: Context): (route: Route) => Prepared {
  const limits = tokenLimits(context);
  const known = new Map<Route, Prepared>();
  return (route) => {
    const found = known.get(route);
    if (found !== undefined) return found;
    const prepared = compile(route, limitOf(limits, route));
    known.set(route, prepared);
    return prepared;
  };
}

function compile(route: Route, limit: RateLimit | undefined): Prepared {
  const replies = Object.entries({ ...route.also, [route.reply[0]]: route.reply[1] });
  return {
    limit,
    checkNames: namesOf(route),
    checkQuery: route.query && checker(route.query, "query"),
    checkBody: route.body && checker(route.body, "body"),
    findIgnored: route.body && ignoredFinder(route.body_fields ?? route.body),
    serializers: new Map(
      replies.flatMap(([status, schema]) =>
        schema === null ? [] : [[Number(status), fastJsonStringify(schema)]],
      ),
    ),
  };
}

/** Parameters of lists, taken and ignored by a GET that is none. */
const PAGING = ["limit", "offset", "all", "count"];

/** Pages for people take any name: mail programs add their own to the links that open them. */
function namesOf({ path, method, query }: Route): Prepared["checkNames"] {
  if (!path.startsWith("/v1/")) return undefined;
  const { properties = {} } = (query ?? {}) as { properties?: object };
  return namesChecker("parameter", Object.keys(properties), method === "GET" ? PAGING : []);
}

type TokenLimits = Readonly<Record<"reads" | "writes" | "events", RateLimit | undefined>>;

function tokenLimits({ config }: Context): TokenLimits {
  const limit = (per_minute: number) =>
    per_minute === 0 ? undefined : new RateLimit({ burst: per_minute, per_minute });
  return {
    reads: limit(config.rate_reads_per_minute),
    writes: limit(config.rate_writes_per_minute),
    events: limit(config.rate_events_per_minute),
  };
}

function limitOf(limits: TokenLimits, route: Route): RateLimit | undefined {
  if (route.kind === "read" || route.kind === "point") return limits.reads;
  return limits[route.scope === "events" ? "events" : "writes"];
}
