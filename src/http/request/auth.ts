// Who calls, for which project, with which scopes; and the time it is there.

import type { IncomingHttpHeaders } from "node:http";
import type { Context } from "../../context.ts";
import { notFound, Refusal, refuse, refuseField } from "../../errors.ts";
import { canonicalUuid, isWellFormedToken, tokenHash } from "../../ids.ts";
import type { RequiredScope, Scope } from "../../schema/keys.ts";
import * as clock from "../../store/tenants/clock.ts";
import * as keys from "../../store/tenants/keys.ts";
import { getSettings, type ProjectSettings } from "../../store/tenants/tenants.ts";
import { networkOf, RateLimit } from "../admission/rate-limit.ts";
import { ShortCache } from "../cache/short-cache.ts";
import { failedAuthentications } from "../prometheus.ts";

/** `via` names the way in when it is not plain HTTP. */
export type Actor = keys.Caller & { readonly via?: string };
/** An admitted caller. Both are undefined on public routes, `settings` also without a project. */
export type Admission = {
  readonly actor: Actor | undefined;
  readonly settings: ProjectSettings | undefined;
};
/** What a route asks of its callers. */
type Rule = {
  readonly scope: RequiredScope | "public";
  readonly project: "required" | "optional" | "none";
};

/**
 * Failed authentications of one address: 1,000 at once, then 20 a second. Beyond that a token that
 * this process has not seen before is refused without asking the database.
 */
export const FAILURES = { burst: 1_000, per_minute: 20 * 60 };

const GRANTED_BY: Record<RequiredScope, readonly Scope[]> = {
  read: ["read", "write", "admin", "*"],
  write: ["write", "admin", "*"],
  events: ["events", "write", "admin", "*"],
  admin: ["admin", "*"],
};

export function mayDo(actor: Actor, needed: RequiredScope): boolean {
  return actor.scopes.some((scope) => GRANTED_BY[needed].includes(scope));
}

/** Whether the token is for this project, if it is one of its organization. */
export function mayReach({ project_ids }: Actor, project: string): boolean {
  return project_ids === null || project_ids.includes(project);
}

/** 403 for a token that is for some projects only. */
export function requireWholeOrganization({ project_ids }: Actor): void {
  if (project_ids === null) return;
  throw refuse(
    "forbidden",
    "This token is for some projects only. Use one that is for the whole organization.",
  );
}

/** The headers of a request, and where it comes from. */
type Asking = { readonly headers: IncomingHttpHeaders; readonly ip: string };

export class Gate {
  readonly #context: Context;
  /** Callers by the token itself, which saves a SHA-256 per request. */
  readonly #actors = new ShortCache<Actor>();
  readonly #projects = new ShortCache<ProjectSettings>();
  readonly #failures = new RateLimit(FAILURES);
  readonly #used = new Map<string, keys.Use>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Admits a request, or refuses it in this order: 401, 400 missing_project, 403, 404 and 422. */
  async admit(rule: Rule, request: Asking): Promise<Admission> {
    if (rule.scope === "public") return { actor: undefined, settings: undefined };
    const actor = await this.authenticate(request);
    const header = request.headers["x-project-id"];
    if (rule.project === "required" && (header === undefined || header === "")) {
      throw refuse("missing_project", "Send the project's id in the header X-Project-Id.");
    }
    if (!mayDo(actor, rule.scope)) {
      throw refuse("forbidden", `The token needs the scope "${rule.scope}" for this call.`);
    }
    const wanted = rule.project !== "none" && header !== undefined && header !== "";
    return { actor, settings: wanted ? await this.project(actor, header) : undefined };
  }

  /** Admits from the cache alone, without a promise; undefined where the database must be asked. */
  recall(rule: Rule, { headers }: Asking, now_ms: number): Admission | undefined {
    if (rule.project !== "required") return undefined;
    const now = this.#context.clock.now();
    const actor = this.#actors.peek(tokenIn(headers.authorization) ?? "", now_ms);
    const project = headers["x-project-id"];
    if (actor === undefined || hasExpired(actor, now) || typeof project !== "string") {
      return undefined;
    }
    if (!mayReach(actor, project)) return undefined;
    const settings = this.#projects.peek(projectKey(actor, project), now_ms);
    // A sandbox is always asked afresh: its clock may have moved a moment ago in another process.
    const isKnown = settings !== undefined && settings.mode !== "sandbox";
    if (!isKnown || rule.scope === "public" || !mayDo(actor, rule.scope)) return undefined;
    this.#noteUse(actor, now);
    return { actor, settings };
  }

  /** 401 unless the header carries a live token; 429 after many failures of one address. */
  async authenticate(request: Asking): Promise<Actor> {
    const token = tokenIn(request.headers.authorization);
    // A malformed token fails its checksum: no query, and not counted as a failed attempt.
    if (token === undefined || !isWellFormedToken(token)) throw unauthorized();
    const actor = this.#actors.peek(token) ?? (await this.#ask(token, request));
    const now = this.#context.clock.now();
    if (actor === undefined || hasExpired(actor, now)) throw this.#failure(request);
    this.#noteUse(actor, now);
    return actor;
  }

  /**
   * Previously valid tokens are always looked up. An unknown token takes one from the address's
   * failure limit until the lookup returns; concurrent callers share the lookup.
   */
  async #ask(token: string, request: Asking): Promise<Actor | undefined> {
    if (this.#actors.isUnknown(token)) return undefined;
    const isNew = !this.#actors.wasKnown(token) && !this.#actors.isAsking(token);
    if (isNew) this.#limit(request);
    try {
      // The key is a copy: a part of a text keeps all of it in memory, and a header may have 16
      // KiB.
      const key = Buffer.from(token, "latin1").toString("latin1");
      return await this.#actors.get(key, () =>
        keys.getCaller(this.#context.point, tokenHash(token)),
      );
    } finally {
      if (isNew) this.#failures.giveBack(networkOf(request.ip));
    }
  }

  /** Counts a failed attempt. Throws 429 when the address has had too many. */
  #failure(request: Asking): Refusal {
    this.#limit(request);
    failedAuthentications.inc({ answer: "401" });
    return unauthorized();
  }

  #limit({ ip }: Asking): void {
    try {
      this.#failures.take(networkOf(ip));
    } catch (error) {
      failedAuthentications.inc({ answer: "429" });
      throw error instanceof Refusal ? tooManyFailures(error) : error;
    }
  }

  #noteUse({ organization_id, token_id }: Actor, used_at: Date): void {
    this.#used.set(token_id, { organization_id, token_id, used_at });
  }

  /** The project of a header. An unknown, a foreign and a forbidden one have one answer. */
  async project(actor: Actor, header: string | string[]): Promise<ProjectSettings> {
    const id = typeof header === "string" ? canonicalUuid(header) : undefined;
    if (id === undefined) {
      throw refuseField("X-Project-Id", "format", "The header X-Project-Id must be one UUID.");
    }
    if (!mayReach(actor, id)) throw noSuchProject();
    const ask = () => getSettings(this.#context.point, actor.organization_id, id);
    const settings = await this.#projects.get(projectKey(actor, id), ask);
    if (settings === undefined) throw noSuchProject();
    if (settings.mode === "live") return settings;
    // Its clock may have moved a moment ago, in another process.
    const frozen_at = await clock.frozenAt(this.#context.point.forProject(id), settings.id);
    return { ...settings, frozen_at };
  }

  /** Called after a commit that revoked or changed something, instead of waiting for expiry. */
  forget(): void {
    this.#actors.forget();
    this.#projects.forget();
  }

  /** Writes when tokens were last used; called now and then, never by a request. */
  async flushLastUsed(): Promise<number> {
    if (this.#used.size === 0) return 0;
    const uses = [...this.#used.values()];
    this.#used.clear();
    try {
      await keys.recordUse(this.#context.db, uses);
    } catch (error) {
      // Uses are kept for the next time, unless a later one has come.
      for (const use of uses) {
        if (!this.#used.has(use.token_id)) this.#used.set(use.token_id, use);
      }
      throw error;
    }
    return uses.length;
  }
}

/** Undefined unless the header is of the form `Bearer <token>`. */
function tokenIn(header: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];
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

function noSuchProject() {
  return notFound("project");
}

/** Says which limit it was: a caller with a good token would look for the fault elsewhere. */
function tooManyFailures({ headers = {} }: Refusal): Refusal {
  const { burst, per_minute } = FAILURES;
  return refuse(
    "rate_limited",
    `Too many tokens from this address were not valid: beyond ${burst} at once and ` +
      `${per_minute / 60} a second, no token that was not accepted before is looked at. Try again ` +
      `in ${headers["retry-after"]} s, and stop sending tokens that are unknown, revoked or expired.`,
    { headers },
  );
}

function unauthorized() {
  return refuse(
    "unauthorized",
    "The token is missing or invalid. Send it as: Authorization: Bearer dues_…",
    { headers: { "www-authenticate": "Bearer" } },
  );
}
