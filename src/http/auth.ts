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
  readonly #known = new Map<string, { value: Promise<T>; until: number }>();

  get(key: string, nowMs: number, ask: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key);
    if (known !== undefined && known.until > nowMs) return known.value;
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    const value = ask();
    this.#known.set(key, { value, until: nowMs + BELIEF_MS });
    value.catch(() => this.#known.delete(key));
    return value;
  }

  forget(): void {
    this.#known.clear();
  }
}

export class Gate {
  readonly #context: Context;
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
    const hash = tokenHash(token);
    const now = this.#context.clock.now();
    const actor = await this.#callers.get(hash.toString("base64"), now.getTime(), () =>
      keys.getCaller(this.#context.db, hash),
    );
    if (actor === undefined) throw unauthorized();
    if (actor.expires_at !== null && actor.expires_at <= now) throw unauthorized();
    const { organization_id, token_id } = actor;
    this.#used.set(token_id, { organization_id, token_id, used_at: now });
    return actor;
  }

  /** 404 for a project that is unknown, or of another organization: the same answer. */
  async project(actor: Actor, header: string | string[]): Promise<ProjectSettings> {
    const id = typeof header === "string" ? canonicalUuid(header) : undefined;
    if (id === undefined) {
      throw refuseField("X-Project-Id", "format", "The header X-Project-Id must be one UUID.");
    }
    const { db, clock } = this.#context;
    const ask = () => getSettings(db, actor.organization_id, id);
    const key = `${actor.organization_id} ${id}`;
    let settings = await this.#projects.get(key, clock.now().getTime(), ask);
    // A sandbox clock may have moved a moment ago, in another process: always asked afresh.
    if (settings?.mode === "sandbox") settings = await ask();
    if (settings === undefined) throw refuse("not_found", "No project has this id.");
    return settings;
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
