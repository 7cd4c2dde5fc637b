// A route is data with one function. Router, OpenAPI document, reference page, tests and tools read
// it; run-route.ts runs it.

import type { IncomingHttpHeaders } from "node:http";
import type { Static, TSchema } from "typebox";
import type { Context } from "../context.ts";
import type { ErrorCode, Refusal } from "../errors.ts";
import type { ProjectId } from "../ids.ts";
import type { By } from "../operations/emit.ts";
import type { RequiredScope } from "../schema/keys.ts";
import type { Db, Queryable, Tx } from "../store/db/db.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import type { Actor, Gate } from "./request/auth.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** `public` needs no token. */
export type RouteScope = RequiredScope | "public";
/** Whether X-Project-Id is needed; `optional` narrows the call when it is sent. */
export type ProjectRule = "required" | "optional" | "none";
export type HeaderFields = Readonly<Record<string, string>>;

/** A request as every way in hands it over: HTTP, and the tools of /v1/mcp. */
export type RouteRequest = {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** The caller's address. */
  readonly ip: string;
  /** Names the way in when it is not plain HTTP; it stands in the log of domain events. */
  readonly via?: string;
  /** Called once the caller is admitted: a stranger's body is not read. */
  readBody(route: Route, sender: Actor | undefined): Promise<RequestBody>;
};

/** `json` is undefined when there is no body, or when the route parses the bytes itself. */
export type RequestBody = {
  readonly json: unknown;
  readonly bytes?: Buffer;
  /** Called when the request is answered; only large bodies have it. */
  readonly release?: () => void;
};

export type RouteResponse = {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: string | Buffer | undefined;
};

/** Runs a route for a request. Never throws: what goes wrong is an error response. */
export type RunRoute = (route: Route, request: RouteRequest) => Promise<RouteResponse>;

/** What every handler is given. The types follow from the route's path, scope and project. */
type CallBase<
  Query,
  Body,
  S extends RouteScope,
  P extends ProjectRule,
  Path extends string = string,
> = {
  readonly context: Context;
  readonly gate: Gate;
  readonly actor: S extends "public" ? undefined : Actor;
  /** The caller as the log and the webhooks tell of it. */
  readonly by: S extends "public" ? undefined : By;
  readonly project: OfProject<P, ProjectId>;
  readonly settings: OfProject<P, ProjectSettings>;
  readonly now: Date;
  readonly params: Params<Path>;
  readonly query: Query;
  readonly body: Body;
  /** The body as it came, on routes that parse it themselves. */
  readonly bytes: Buffer | undefined;
  readonly request: RouteRequest;
  /** Runs another route for this caller. */
  readonly run: RunRoute;
};
type OfProject<P extends ProjectRule, T> = P extends "required"
  ? T
  : P extends "optional"
    ? T | undefined
    : undefined;
/** The values of `:names` in a path. */
type Params<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : Readonly<Record<NamesIn<Path>, string>>;
type NamesIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Further}`
    ? Name | NamesIn<Further>
    : Rest
  : never;

/** What a handler is given beside CallBase, by the kind of its route. */
type Given = {
  read: { readonly db: Db };
  /** Reads a row or two by their key: `db` takes single statements only. */
  point: { readonly db: Queryable };
  /** The open transaction: the effect and the answer of a write commit together. */
  write: {
    readonly tx: Tx;
    /** Does something in this process once the transaction is committed; for nothing durable. */
    readonly afterCommit: (work: () => void) => void;
  };
  own: { readonly db: Db };
};
type Kind = keyof Given;

export type Call<
  Query = unknown,
  Body = unknown,
  S extends RouteScope = RouteScope,
  P extends ProjectRule = ProjectRule,
> = CallBase<Query, Body, S, P> & Given["read"];
export type WriteCall<
  Query = unknown,
  Body = unknown,
  S extends RouteScope = RouteScope,
  P extends ProjectRule = ProjectRule,
> = CallBase<Query, Body, S, P> & Given["write"];
export type PointCall<
  Query = unknown,
  Body = unknown,
  S extends RouteScope = RouteScope,
  P extends ProjectRule = ProjectRule,
> = CallBase<Query, Body, S, P> & Given["point"];

/** An answer with a status of its own, headers, or content that is not JSON. */
export class Reply<Body = unknown> {
  readonly status: number;
  readonly body: Body;
  readonly headers: HeaderFields;
  constructor(status: number, body: Body, headers: HeaderFields = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** A body that is rendered already: a page, a document, JSON text. */
export class Content {
  readonly type: string;
  readonly data: string | Buffer;
  constructor(type: string, data: string | Buffer) {
    this.type = type;
    this.data = data;
  }
}

type Shape = {
  readonly method: Method;
  readonly path: string;
  /** Operation id of the OpenAPI document and name of the client's method: it never changes. */
  readonly id: string;
  /** Codes that the handler answers, besides those of the route's shape (openapi/errors.ts). */
  readonly errors?: readonly ErrorCode[];
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly scope: RouteScope;
  readonly project: ProjectRule;
  /**
   * The field of the body, or parameter of the path, by which a POST that is sent again is told
   * from a new one: with it the effect comes once, also without an Idempotency-Key.
   */
  readonly once_by?: string;
  /** Path parameters in words, for the reference. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** Status and body of success; further ones by status. `null` is an empty body. */
  readonly reply: readonly [number, TSchema | null];
  readonly also?: Readonly<Record<number, TSchema | null>>;
  /** Sent with every answer, refusals included. */
  readonly headers?: HeaderFields;
  /** Makes a page of every refusal, failures of ours included: people do not read JSON. */
  readonly refusalPage?: (refusal: Refusal, request: RouteRequest) => Reply<Content>;
  /** What the body of success is where it is no JSON; the first unless another is asked for. */
  readonly produces?: readonly ("text/html" | "application/pdf" | "application/xml")[];
  readonly body_max?: number;
  /** Tells which keys of a body are known, where `body` leaves a part of it to the handler. */
  readonly body_fields?: TSchema;
  /**
   * The list of the body whose members are refused each by itself: one with text or a number that
   * cannot be kept comes as its refusal.
   */
  readonly apart?: string;
  /** The body is handed over as bytes: the route speaks a protocol with parse errors of its own. */
  readonly unparsed?: true;
  /** A body may be left out altogether. */
  readonly body_optional?: boolean;
  /**
   * How a route that opens its own transactions keeps its answer under an Idempotency-Key:
   * `after` what it did, which must have no second effect when it is done again; `within` its
   * transaction, by the handler.
   */
  readonly replays?: "after" | "within";
  /** Encrypted when it is stored for replays: the answer carries a secret. */
  readonly secret_answer?: true;
  /** Left out of the OpenAPI document: pages for people. */
  readonly hidden?: true;
  /** Answered also when the service refuses others because it has too much to do. */
  readonly always?: true;
  readonly example?: unknown;
};

// `handle` is written as a method on purpose: TypeScript then lets a handler name the types that
// its own schemas, path, scope and project rule guarantee.
type PointRoute = Shape & { readonly kind: "point"; handle(call: PointCall): Promise<unknown> };
type ReadRoute = Shape & { readonly kind: "read"; handle(call: Call): Promise<unknown> };
type WriteRoute = Shape & { readonly kind: "write"; handle(call: WriteCall): Promise<unknown> };
type OwnRoute = Shape & { readonly kind: "own"; handle(call: Call): Promise<unknown> };

export type Route = PointRoute | ReadRoute | WriteRoute | OwnRoute;

/** Whether a repeat with the same Idempotency-Key gets the first answer. */
export function isReplayable({ kind, replays }: Pick<Route, "kind" | "replays">): boolean {
  return kind === "write" || replays !== undefined;
}

type Replies = Readonly<Record<number, TSchema | null>>;
type Definition<
  K extends Kind,
  Path extends string,
  Q extends TSchema,
  B extends TSchema,
  S extends RouteScope,
  P extends ProjectRule,
  R extends TSchema | null,
  A extends Replies,
> = Omit<Shape, "path" | "query" | "body" | "scope" | "project" | "reply" | "also"> & {
  readonly path: Path;
  readonly scope: S;
  readonly project: P;
  readonly query?: Q;
  readonly body?: B;
  readonly reply: readonly [number, R];
  readonly also?: A;
  handle(call: CallBase<Static<Q>, Static<B>, S, P, Path> & Given[K]): Promise<Answer<R, A>>;
};

/** The record of the reply, or a Reply where the record alone does not say it all. */
type Answer<R extends TSchema | null, A extends Replies> =
  | RecordOf<R>
  | Reply<RecordOf<R> | RecordOf<A[keyof A & number]> | Content>
  | Content;
// biome-ignore lint/suspicious/noConfusingVoidType: without a record a handler need not return
type RecordOf<R extends TSchema | null> = R extends TSchema ? Static<R> : null | undefined | void;

function maker<K extends Kind>(kind: K) {
  return <
    Path extends string,
    Q extends TSchema,
    B extends TSchema,
    S extends RouteScope,
    P extends ProjectRule,
    R extends TSchema | null,
    A extends Replies,
  >(
    route: Definition<K, Path, Q, B, S, P, R, A>,
  ): Route => ({ ...route, kind }) as unknown as Route;
}

/** Reads: given the database, never a transaction. */
export const read = maker("read");
/** Reads of a row or two by their key, of which there are many: they share connections. */
export const point = maker("point");
/** Writes: one request is one transaction, with the idempotency key inside. */
export const write = maker("write");
/** Routes that open their own transactions, because one is not what they need. */
export const ownTransactions = maker("own");
