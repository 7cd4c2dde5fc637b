// The service over HTTP alone, wherever it runs: ACCEPTANCE_URL names a running one (with
// ACCEPTANCE_ORGANIZATION and ACCEPTANCE_PROJECT), else the files of a worker share one that is
// started on a free port.

import { type Json, sharedApp } from "./app.ts";
import { expectDeclared } from "./declared-errors.ts";

export type Reply = { readonly status: number; readonly body: Json; readonly headers: Headers };

type Sent = Readonly<Record<string, string | undefined>>;

let made = 0;

/** Text that no other case, file or run has used. */
export function unique(word: string): string {
  made += 1;
  return `${word}-${process.pid.toString(36)}-${process.hrtime.bigint().toString(36)}-${made}`;
}

/** A caller with a token and a project. Undefined headers are left out. */
export class Api {
  readonly base: string;
  readonly token: string;
  readonly project: string;

  constructor(base: string, token: string, project: string) {
    this.base = base;
    this.token = token;
    this.project = project;
  }

  async call(method: string, path: string, body?: unknown, headers: Sent = {}): Promise<Reply> {
    const all: Sent = {
      authorization: `Bearer ${this.token}`,
      "x-project-id": this.project,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => {
      return entry[1] !== undefined;
    });
    const answer = await fetch(`${this.base}${path}`, {
      method,
      headers: sent,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.includes("json") === true;
    const parsed = isJson && text !== "" ? JSON.parse(text) : text;
    expectDeclared(method, path, parsed);
    return { status: answer.status, body: parsed, headers: answer.headers };
  }

  get(path: string): Promise<Reply> {
    return this.call("GET", path);
  }

  post(path: string, body?: unknown): Promise<Reply> {
    return this.call("POST", path, body);
  }

  patch(path: string, body: unknown): Promise<Reply> {
    return this.call("PATCH", path, body);
  }

  delete(path: string): Promise<Reply> {
    return this.call("DELETE", path);
  }

  /** A call that must succeed; the body of its answer. */
  async ok(method: string, path: string, body?: unknown): Promise<Json> {
    const answer = await this.call(method, path, body);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer.body;
  }

  as(change: { token?: string; project?: string }): Api {
    return new Api(this.base, change.token ?? this.token, change.project ?? this.project);
  }
}

export type Service = {
  readonly base: string;
  readonly organization_id: string;
  /** In a project that nobody else uses; its clock stands at `at` when given. */
  project(at?: string): Promise<Api>;
  /** A token of the organization, made as any caller would. */
  token(scopes?: readonly string[]): Promise<{ id: string; token: string }>;
};

export async function openService(): Promise<Service> {
  const { base, organization_id, home } = await reach();
  const token = async (scopes?: readonly string[]) => {
    const wanted = { name: "acceptance", organization_id, ...(scopes && { scopes }) };
    const nobody = new Api(base, "", "");
    const none = { authorization: undefined, "x-project-id": undefined };
    const made = await nobody.call("POST", "/v1/keys", wanted, none);
    if (made.status !== 201) throw new Error(`POST /v1/keys: ${JSON.stringify(made.body)}`);
    return made.body as { id: string; token: string };
  };
  const project = async (at?: string) => {
    const api = new Api(base, (await token()).token, home);
    const { projects } = await api.ok("GET", "/v1/projects");
    const workspace = projects.find(({ id }: { id: string }) => id === home).workspace_slug;
    const wanted = { workspace, slug: unique("p"), mode: "sandbox" };
    const { project } = await api.ok("POST", "/v1/projects", wanted);
    const there = api.as({ project: project.id });
    if (at !== undefined) await there.ok("POST", "/v1/clock", { frozen_at: at });
    return there;
  };
  return { base, organization_id, project, token };
}

type Reached = { readonly base: string; readonly organization_id: string; readonly home: string };

let listening: Promise<Reached> | undefined;

async function reach(): Promise<Reached> {
  const given = process.env.ACCEPTANCE_URL;
  if (given !== undefined && given !== "") {
    return {
      base: given.replace(/\/+$/, ""),
      organization_id: process.env.ACCEPTANCE_ORGANIZATION ?? "",
      home: process.env.ACCEPTANCE_PROJECT ?? "",
    };
  }
  listening ??= listen();
  return listening;
}

/** Until the run ends. */
async function listen(): Promise<Reached> {
  const { server, profile } = await sharedApp();
  const base = await server.fastify.listen({ port: 0, host: "127.0.0.1" });
  return { base, organization_id: profile.organization_id, home: profile.project_id };
}
