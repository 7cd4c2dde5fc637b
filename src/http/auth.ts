// Who calls, for which project, with which scopes; and the time it is there.

import type { Context } from "../context.ts";
import { refuse, refuseField } from "../errors.ts";
import { canonicalUuid, isWellFormedToken, tokenHash } from "../ids.ts";
import type { Scope } from "../schema/keys.ts";
import * as keys from "../store/keys.ts";
import { getSettings, type ProjectSettings } from "../store/tenants.ts";

export type Needed = "read" | "write" | "events" | "admin";
/** `via` names the door when it is another than plain HTTP. */
export type Actor = keys.Caller & { readonly via?: string };

/** A revoked token is refused everywhere within a second, so nothing is believed longer. */
const BELIEF_MS = 900;
const REMEMBERED_MAX = 10_000;

const GRANTED_BY: Record<Needed, readonly Scope[]> = {
  read: ["read", "write", "admin", "*"],
  write: ["write", "admin", "*"],
  events: ["events", "write", "admin", "*"],
  admin: ["admin", "*"],
};

export function mayDo(actor: Actor, needed: Needed): boolean {
  return actor.scopes.some((scope) => GRANTED_BY[needed].includes(scope));
}

/** Remembers for a moment what the database said, and asks once however many ask at once. */
class Belief<T> {
  readonly #known = new Map<string, { asked: Promise<T>; value?: T; until: number }>();

  get(key: string, now: Date, ask: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key);
    if (known !== undefined && known.until > now.getTime()) return known.asked;
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    const asked = ask();
    const entry: { asked: Promise<T>; value?: T; until: number } = {
      asked,
      until: now.getTime() + BELIEF_MS,
    };
    this.#known.set(key, entry);
    asked.then(
      (value) => {
        entry.value = value;
      },
      () => this.#known.delete(key),
    );
    return asked;
  }

  /** What is known without asking. */
  recall(key: string, now: Date): T | undefined {
    const known = this.#known.get(key);
    return known !== undefined && known.until > now.getTime() ? known.value : undefined;
  }

  forget(): void {
    this.#known.clear();
  }
}

export class Gate {
  readonly #context: Context;
  /** By the header as it came, which saves a digest per request. */
  readonly #callers = new Belief<Actor | undefined>();
  readonly #projects = new Belief<ProjectSettings | undefined>();
  readonly #used = new Map<string, keys.Use>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** 401 unless the header carries a live token. */
  async authenticate(header: string | undefined): Promise<Actor> {
    const token = /^Bearer +(\S+)$/i.exec(header ?? "")?.[1];
    if (token === undefined || !isWellFormedToken(token)) throw unauthorized();
    const now = this.#context.clock.now();
    const actor = await this.#callers.get(header ?? "", now, () =>
      keys.getCaller(this.#context.point, tokenHash(token)),
    );
    if (actor === undefined || hasExpired(actor, now)) throw unauthorized();
    this.#noteUse(actor, now);
    return actor;
  }

  /** The same without asking the database; undefined when only that could tell. */
  recallActor(header: string | undefined, now: Date): Actor | undefined {
    const actor = this.#callers.recall(header ?? "", now);
    if (actor === undefined || hasExpired(actor, now)) return undefined;
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
    // A sandbox clock may have moved a moment ago, in another process: always asked afresh.
    if (settings?.mode === "sandbox") settings = await ask();
    if (settings === undefined) throw refuse("not_found", "No project has this id.");
    return settings;
  }

  recallProject(
    actor: Actor,
    header: string | string[] | undefined,
    now: Date,
  ): ProjectSettings | undefined {
    if (typeof header !== "string") return undefined;
    const settings = this.#projects.recall(projectKey(actor, header), now);
    return settings?.mode === "sandbox" ? undefined : settings;
  }

  /** This process revoked or changed something: do not wait for the belief to age. */
  forget(): void {
    this.#callers.forget();
    this.#projects.forget();
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
