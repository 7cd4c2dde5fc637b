// A caller of the app in another project, or with another token, than the app's own.

import type { Answer, App, Body, Json } from "./app.ts";

type Who = { readonly token: string; readonly project: string };

export class Client {
  readonly app: App;
  readonly token: string;
  readonly project: string;

  constructor(app: App, who: Who) {
    this.app = app;
    this.token = who.token;
    this.project = who.project;
  }

  with(change: Partial<Who>): Client {
    return new Client(this.app, { token: this.token, project: this.project, ...change });
  }

  call(method: string, url: string, body?: unknown, headers: Body = {}): Promise<Answer> {
    return this.app.call(method, url, body, { ...this.#headers(), ...headers });
  }

  ok(method: string, url: string, body?: unknown, headers: Body = {}): Promise<Json> {
    return this.app.ok(method, url, body, { ...this.#headers(), ...headers });
  }

  get(url: string): Promise<Json> {
    return this.ok("GET", url);
  }

  post(url: string, body?: unknown): Promise<Json> {
    return this.ok("POST", url, body);
  }

  #headers(): Body {
    return { authorization: `Bearer ${this.token}`, "x-project-id": this.project };
  }
}

/** A project that no other case uses, of the app's own organization. */
export async function newProject(app: App, at?: string): Promise<Client> {
  const slug = `p-${process.hrtime.bigint()}`;
  const wanted = { workspace: "main", slug, mode: "sandbox" };
  const { project } = await app.post("/v1/projects", wanted);
  const client = new Client(app, { token: app.profile.token, project: project.id });
  if (at !== undefined) await client.post("/v1/clock", { frozen_at: at });
  return client;
}
