// A route is data with one function. Router, OpenAPI, reference page, tests and tools read it.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Static, TSchema } from "typebox";
import type { Context } from "../context.ts";
import type { RequiredScope } from "../schema/keys.ts";
import type { Db, Queryable, Tx } from "../store/db.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import type { Actor, Gate } from "./auth.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What every handler is given; `project` and `settings` count where a project is needed. */
export type Call<Query, Body> = {
  readonly context: Context;
  readonly db: Db;
  readonly gate: Gate;
  readonly actor: Actor;
  readonly project: ProjectId;
  readonly settings: ProjectSettings;
  readonly now: Date;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
};

/** A write is handed the transaction that the door opened: it and its answer commit together. */
export type WriteCall<Query, Body> = Omit<Call<Query, Body>, "db"> & { readonly tx: Tx };

/** A read of a row or two by their key is handed what only takes such. */
export type PointCall<Query, Body> = Omit<Call<Query, Body>, "db"> & { readonly db: Queryable };

export type Answer = unknown;

/** An answer with another status than the route's first one. */
export class WithStatus {
  readonly status: number;
  readonly body: unknown;
  constructor(status: number, body: unknown) {
    this.status = status;
    this.body = body;
  }
}

type Shape = {
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** `public` needs no token. */
  readonly scope: RequiredScope | "public";
  /** Whether X-Project-Id is needed; `optional` narrows the call when it is sent. */
  readonly project: "required" | "optional" | "none";
  /** Path parameters in words, for the reference. */
  readonly params?: Readonly<Record<string, string>>;
  /** Status and body of success; further ones by status. `null` is an empty body. */
  readonly reply: readonly [number, TSchema | null];
  readonly also?: Readonly<Record<number, TSchema | null>>;
  /** What the body of success is where it is no JSON; the first unless another is asked for. */
  readonly produces?: readonly ("text/html" | "application/pdf")[];
  readonly body_max?: number;
  /** The body is handed over as bytes: the route speaks a protocol with parse errors of its own. */
  readonly unparsed?: true;
  /** May take the hot lane, as point reads do: needs no query, framework or idempotency key. */
  readonly hot?: true;
  /** A body may be left out altogether. */
  readonly body_optional?: boolean;
  /** Never stored for replays: a token exists in its answer only. */
  readonly replayable?: false;
  /** Stored for replays in sealed form: the answer carries a secret. */
  readonly secret_answer?: true;
  /** Left out of the OpenAPI document: pages for people. */
  readonly hidden?: true;
  readonly example?: unknown;
};

export type Route = Shape & {
  readonly kind: "point" | "read" | "write" | "own";
  readonly query?: TSchema;
  readonly body?: TSchema;
  readonly handle: (call: never, reply: FastifyReply) => Promise<Answer>;
};

type Typed<Q extends TSchema, B extends TSchema> = Shape & {
  readonly query?: Q;
  readonly body?: B;
};

/** Reads: given the database, never a transaction. */
export function read<Q extends TSchema = TSchema, B extends TSchema = TSchema>(
  route: Typed<Q, B> & {
    handle(call: Call<Static<Q>, Static<B>>, reply: FastifyReply): Promise<Answer>;
  },
): Route {
  return { ...route, kind: "read" } as unknown as Route;
}

/** Reads of a row or two by their key, of which there are many: they share connections. */
export function point<Q extends TSchema = TSchema, B extends TSchema = TSchema>(
  route: Typed<Q, B> & {
    handle(call: PointCall<Static<Q>, Static<B>>, reply: FastifyReply): Promise<Answer>;
  },
): Route {
  return { ...route, kind: "point" } as unknown as Route;
}

/** Writes: one request is one transaction, opened at the door, with the idempotency key inside. */
export function write<Q extends TSchema = TSchema, B extends TSchema = TSchema>(
  route: Typed<Q, B> & {
    handle(call: WriteCall<Static<Q>, Static<B>>, reply: FastifyReply): Promise<Answer>;
  },
): Route {
  return { ...route, kind: "write" } as unknown as Route;
}

/** Routes that open their own transactions, because one is not what they need. */
export function own<Q extends TSchema = TSchema, B extends TSchema = TSchema>(
  route: Typed<Q, B> & {
    handle(call: Call<Static<Q>, Static<B>>, reply: FastifyReply): Promise<Answer>;
  },
): Route {
  return { ...route, kind: "own" } as unknown as Route;
}
