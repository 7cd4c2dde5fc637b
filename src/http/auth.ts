// Who calls, for which project, with which scopes; and the time it is there.

import type { IncomingHttpHeaders } from "node:http";
import type { Context } from "../context.ts";
import { refuse, refuseField } from "../errors.ts";
import { canonicalUuid, isWellFormedToken, tokenHash } from "../ids.ts";
import type { RequiredScope, Scope } from "../schema/keys.ts";
import * as keys from "../store/keys.ts";
import { getSettings, type ProjectSettings } from "../store/tenants.ts";

/** `via` names the way in when it is not plain HTTP. */
export type Actor = keys.Caller & { readonly via?: string };
/** Both are undefined on public routes; `settings` also without a project header. */
export type Admission = {
  readonly actor: Actor | undefined;
  readonly settings: ProjectSettings | undefined;
};
/** What a route asks of its callers. */
type Rule = {
  readonly scope: RequiredScope | "public";
  readonly project: "required" | "optional" | "none";
};

/** A revoked token is refused everywhere within a second, so nothing is cached longer. */
const CACHED_MS = 900;
const CACHED_MAX = 10_000;

const GRANTED_BY: Record<RequiredScope, readonly Scope[]> = {
  read: ["read", "write", "admin", "*"],
  write: ["write", "admin", "*"],
  events: ["events", "write", "admin", "*"],
  admin: ["admin", "*"],
};

export function mayDo(actor: Actor, needed: RequiredScope): boolean {
  return actor.scopes.some((scope) => GRANTED_BY[needed].includes(scope));
}

type Entry<T> = { readonly asked: Promise<T>; value?: T; readonly until_ms: number };

/** Caches answers of the database for less than a second; concurrent misses share one query. */
class ShortCache<T> {
  readonly #entries = new Map<string, Entry<T>>();

  get(key: string, now: Date, ask: () => Promise<T>): Promise<T> {
    const found = this.#fresh(key, now);
    if (found !== undefined) return found.asked;
    if (this.#entries.size >= CACHED_MAX) this.#entries.clear();
    const asked = ask();
    const entry: Entry<T> = { asked, until_ms: now.getTime() + CACHED_MS };
    this.#entries.set(key, entry);
    asked.then(
      (value) => {
        entry.value = value;
      },
      () => this.#entries.delete(key),
    );
    return asked;
  }

  /** The cached value, without asking; undefined when there is none or it is still asked for. */
  peek(key: string, now: Date): T | undefined {
    return this.#fresh(key, now)?.value;
  }

  clear(): void {
    this.#entries.clear();
  }

  #fresh(key: string, now: Date): Entry<T> | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.until_ms > now.getTime() ? entry : undefined;
  }
}

export class Gate {
  readonly #context: Context;
  /** Keyed by the header as it came, which saves a SHA-256 per request. */
  readonly #actors = new ShortCache<Actor | undefined>();
  readonly #projects = new ShortCache<ProjectSettings | undefined>();
  readonly #used = new Map<string, keys.Use>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** The order of refusals: 401, 400 missing_project, 403, then 404 and 422. */
  async admit(rule: Rule, headers: IncomingHttpHeaders): Promise<Admission> {
    if (rule.scope === "public") return { actor: undefined, settings: undefined };
    const actor = await this.authenticate(headers.authorization);
    const header = headers["x-project-id"];
    if (rule.project === "required" && (header === undefined || header === "")) {
      throw refuse("missing_project", "Send the project's id in the header X-Project-Id.");
    }
    if (!mayDo(actor, rule.scope)) {
      throw refuse("forbidden", `The token needs the scope "${rule.scope}" for this call.`);
    }
    const wanted = rule.project !== "none" && header !== undefined && header !== "";
    return { actor, settings: wanted ? await this.project(actor, header) : undefined };
  }

  /** The same from the cache alone, without a promise; undefined: the database must be asked. */
  recall(rule: Rule, headers: IncomingHttpHeaders): Admission | undefined {
    if (rule.project !== "required") return undefined;
    const now = this.#context.clock.now();
    const actor = this.#actors.peek(headers.authorization ?? "", now);
    const project = headers["x-project-id"];
    if (actor === undefined || hasExpired(actor, now) || typeof project !== "string") {
      return undefined;
    }
    const settings = this.#projects.peek(projectKey(actor, project), now);
    // A sandbox clock may have moved a moment ago, in another process: always asked afresh.
    const isKnown = settings !== undefined && settings.mode !== "sandbox";
    if (!isKnown || rule.scope === "public" || !mayDo(actor, rule.scope)) return undefined;
    this.#noteUse(actor, now);
    return { actor, settings };
  }

  /** 401 unless the header carries a live token. */
  async authenticate(header: string | undefined): Promise<Actor> {
    const token = /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];
    if (token === undefined || !isWellFormedToken(token)) throw unauthorized();
    const now = this.#context.clock.now();
    const actor = await this.#actors.get(header ?? "", now, () =>
      keys.getCaller(this.#context.point, tokenHash(token)),
    );
    if (actor === undefined || hasExpired(actor, now)) throw unauthorized();
    this.#noteUse(actor, now);
    return actor;
  }

  #noteUse({ organization_id, token_id }: Actor, used_at: Date): void {
    this.#used.set(token_id, { organization_id, token_id, used_at });
  }

  /** 404 for a project that is unknown, or of another organization: the same answer. */
  async project(actor: Actor, header: string | string[]): Promise<ProjectSettings> {
    const id = typeof header === "string" ? canonicalUuid(header) : undefined;
    if (id === undefined) {
      throw refuseField("X-Project-Id", "format", "The header X-Project-Id must be one UUID.");
    }
    const { point, clock } = this.#context;
    const ask = () => getSettings(point, actor.organization_id, id);
    let settings = await this.#projects.get(projectKey(actor, id), clock.now(), ask);
    // Its clock may have moved a moment ago, in another process.
    if (settings?.mode === "sandbox") settings = await ask();
    if (settings === undefined) throw refuse("not_found", "No project has this id.");
    return settings;
  }

  /** Called after a commit that revoked or changed something, instead of waiting for expiry. */
  forget(): void {
    this.#actors.clear();
    this.#projects.clear();
  }

  /** Writes when tokens were last used; called now and then, never by a request. */
  async flushLastUsed(): Promise<number> {
    if (this.#used.size === 0) return 0;
    const uses = [...this.#used.values()];
    this.#used.clear();
    await keys.recordUse(this.#context.db, uses);
    return uses.length;
  }
}

function hasExpired({ expires_at }: Actor, now: Date): boolean {
  return expires_at !== null && expires_at <= now;
}

function projectKey({ organization_id }: Actor, id: string): string {
  return `${organization_id} ${id}`;
}

export function timeOf(context: Context, settings: ProjectSettings | undefined): Date {
  return settings?.frozen_at ?? context.clock.now();
}

function unauthorized() {
  return refuse(
    "unauthorized",
    "The token is missing or invalid. Send it as: Authorization: Bearer dues_…",
    { headers: { "www-authenticate": "Bearer" } },
  );
}
