// Whether the service can do its work, as /readyz and the page at / tell it.

import { refuse } from "../errors.ts";
import type { Queryable } from "../store/db.ts";
import { appliedVersion, heldSince } from "../store/installation.ts";
import { within } from "./within.ts";

const PING_MS = 1_000;

export type Readiness = {
  /** Set when the process has been told to stop. */
  draining: boolean;
  readonly schema_version: number;
  readonly warnings: readonly string[];
  /** Why the database has lately refused writes, though it answers. */
  writeFault?(): string | undefined;
};

export type Ready = {
  readonly status: "ok" | "held" | "writes_fail";
  readonly fault: string | undefined;
};

/** Refuses as unavailable when it is not. */
export async function checkReady(db: Queryable, readiness: Readiness): Promise<Ready> {
  if (readiness.draining) throw refuse("unavailable", "The process is shutting down.");
  const { schema_version } = readiness;
  const found = await answered(appliedVersion(db));
  // A newer schema is no fault: a newer version has begun to replace this one, and what it adds
  // does not change what this one uses (CONTRIBUTING, migrations).
  if (found < schema_version) {
    const message = `The schema is at ${found}, this process needs ${schema_version}.`;
    throw refuse("unavailable", message);
  }
  const held = await answered(heldSince(db));
  // Still ready: reads are answered, and what shares the disk fares no better.
  const fault = readiness.writeFault?.();
  const status = fault !== undefined ? "writes_fail" : held === null ? "ok" : "held";
  return { status, fault };
}

function answered<T>(work: Promise<T>): Promise<T> {
  return within(PING_MS, work, refuse("unavailable", "The database does not answer."));
}
