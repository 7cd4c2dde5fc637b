// Whether the service can do its work, as /readyz and the page at / tell it.

import type { Context } from "../context.ts";
import { Refusal, refuse } from "../errors.ts";
import type { JobRun } from "../schema/jobs.ts";
import { appliedVersion, heldSince } from "../store/backup/installation.ts";
import { reasonOf } from "../store/db/connect.ts";
import { clockFault } from "../store/db/database-time.ts";
import type { Queryable } from "../store/db/db.ts";
import type { WriteFaultAt } from "../store/db/write-fault.ts";
import { within } from "./within.ts";

const PING_MS = 1_000;

/** Said by the start too. There is no secret in it: the status says the same. */
export const HELD =
  "This database was restored from a backup, or moved, and is held: calls are answered, but no " +
  "period is closed, no invoice issued, no webhook sent and no reminder made. See what is about " +
  "to happen and let it go on: dues resume";

export type Readiness = {
  /** Set when the process has been told to stop. */
  draining: boolean;
  /** Until what the start makes is there: the first tenant, its token, the kept profile. */
  starting?: boolean;
  readonly schema_version: number;
  readonly warnings: readonly string[];
  /** The background jobs of this process, with what each did when it last ran. */
  jobs?(): readonly JobRun[];
  /** Why the database, or some of its nodes, has lately refused writes, though it answers. */
  writeFaults?(): readonly WriteFaultAt[];
};

export type Ready = {
  readonly status: "ok" | "held" | "writes_fail";
  readonly fault: string | undefined;
  /** All of them, with the addresses of nodes: for the operator alone. */
  readonly faults: readonly string[];
  /** Also where the status tells of a fault, which is the worse of the two. */
  readonly is_held: boolean;
};

/** Refuses as unavailable when it is not. */
export async function checkReady(
  db: Queryable,
  readiness: Readiness,
  { clock, config }: Pick<Context, "clock" | "config">,
): Promise<Ready> {
  if (readiness.draining) throw refuse("unavailable", "The process is shutting down.");
  if (readiness.starting) throw refuse("unavailable", "The process is starting.");
  const { schema_version } = readiness;
  const found = await answered(appliedVersion(db));
  // A newer schema is no fault: a newer version has begun to replace this one, and what it adds
  // does not change what this one uses (CONTRIBUTING, migrations).
  if (found < schema_version) {
    const message = `The schema is at ${found}, this process needs ${schema_version}.`;
    throw refuse("unavailable", message);
  }
  const wrong = await answered(clockFault(db, clock, config.clock_skew_limit_ms));
  if (wrong !== undefined) throw refuse("unavailable", wrong);
  const is_held = (await answered(heldSince(db))) !== null;
  // Still ready: reads are answered, and what shares the disk fares no better.
  const refusing = readiness.writeFaults?.() ?? [];
  const fault = refusing[0]?.why;
  const faults = refusing.map(({ node, why }) => (node ? `Node ${node}: ${why}` : why));
  const status = fault !== undefined ? "writes_fail" : is_held ? "held" : "ok";
  return { status, fault, faults, is_held };
}

/** The same refusal with the database's own words: addresses and paths, for the operator alone. */
export function namingCause(error: unknown): unknown {
  const cause = error instanceof Refusal ? error.cause : error;
  if (cause === undefined) return error;
  const text = `The database does not answer: ${reasonOf(cause)}`;
  const headers = { "retry-after": "1" };
  return Object.assign(refuse("unavailable", text, { headers }), { cause });
}

const LATE = `The database does not answer: it has said nothing for ${PING_MS / 1_000} s.`;

function answered<T>(work: Promise<T>): Promise<T> {
  return within(PING_MS, work, refuse("unavailable", LATE));
}
