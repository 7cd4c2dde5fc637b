// What an error of the database means: try again, 503, a refusal of the caller, or a bug.

import { Refusal, refuse, UnknownOutcome } from "../../errors.ts";
import { refusalFor } from "./constraints.ts";

const TRIES_MAX = 5;
/** Each waits for as long as a lock may be waited for, so a request has two. */
const LOCK_TRIES_MAX = 2;
const RETRY_JITTER_MS = { least: 5, most: 50 };

const HELD = "Another call holds what is needed.";

export const IN_FAILED_TRANSACTION = "25P02";

const LOCK_TIMEOUT = "55P03";
const CUT_OFF = "57014";
/** Serialization failure, deadlock, lock timeout: the transaction may be run again. */
const RETRIED = new Set(["40001", "40P01", LOCK_TIMEOUT]);

/** What was found before a lock was waited for has changed: the transaction is run again, too. */
export class Overtaken extends Error {
  readonly code = "40001";

  constructor(what: string) {
    super(`${what} changed while it was waited for.`);
  }
}

/** The server is away, full, read-only or too slow. */
const UNAVAILABLE =
  /^(08...|53...|57P0.|57014|25006|58...|XX000|ECONN.*|ENOENT|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND)$/;
const UNAVAILABLE_TEXT =
  /timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|not queryable|Cannot use a pool after calling end/;

/** The server answers and takes no writes: in words for callers and for whoever looks at health. */
const WRITE_FAULTS: Readonly<Record<string, string>> = {
  "53100": "The database has no room left on its disk.",
  "25006": "The database takes no writes: it is read-only.",
};

const WHY: Readonly<Record<string, string>> = {
  ...WRITE_FAULTS,
  [CUT_OFF]: "This took longer than a statement of the database may.",
};

/** What keeps the database from taking writes, when it is that which made a call fail. */
export function writeFaultOf(error: unknown): string | undefined {
  return WRITE_FAULTS[causeOf(error)];
}

/** The code of the database for what a caller is told otherwise. */
function causeOf(error: unknown): string {
  return codeOf((error as { cause?: unknown }).cause);
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** The database, or the node of it that was asked, does not answer or takes nothing just now. */
class Unreachable extends Refusal {}

/** Not so when other calls hold what is needed, or when the service itself refuses. */
export function isUnreachable(error: unknown): error is Refusal {
  return error instanceof Unreachable || error instanceof UnknownOutcome;
}

export function isUnavailable(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code === "unavailable";
}

/** The server ended the statement at its time limit: the fault of what was asked of it. */
export function isCutOff(error: unknown): error is Refusal {
  return isUnavailable(error) && causeOf(error) === CUT_OFF;
}

/** The server itself is why this failed, or a lock that somebody holds; not what was asked. */
export function isPassing(error: unknown): error is Refusal {
  return isUnavailable(error) && !isCutOff(error);
}

export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asUnavailable(error);
  }
}

/**
 * What the caller gets for an error of the database: 503 when it cannot be reached or is full, a
 * refusal for a constraint that callers can violate, else the error itself.
 */
export function asUnavailable(error: unknown): unknown {
  const message = error instanceof Error ? error.message : "";
  if (UNAVAILABLE.test(codeOf(error)) || UNAVAILABLE_TEXT.test(message)) {
    return unreachable(WHY[codeOf(error)] ?? "The database cannot be reached just now.", error);
  }
  return refusalFor(error) ?? error;
}

const SOON = { headers: { "retry-after": "1" } };

export function unavailable(message: string, cause: unknown): Refusal {
  return Object.assign(refuse("unavailable", `${message} Try again.`, SOON), { cause });
}

export function unreachable(message: string, cause?: unknown): Refusal {
  return Object.assign(new Unreachable("unavailable", `${message} Try again.`, SOON), { cause });
}

/**
 * Throws what a failed commit means. The server's own error says that nothing was written; without
 * one, or when it ended the session, the commit may have come first.
 */
export function failedCommit(error: unknown): never {
  const failure = asUnavailable(error);
  if (!isUnavailable(failure) || (error as { severity?: string }).severity === "ERROR")
    throw failure;
  const { message, headers = {} } = failure;
  throw Object.assign(new UnknownOutcome("unavailable", message, { headers }), { cause: error });
}

/** No try is begun that would end after `max_ms` if it took as long as the one before. */
export async function retried<T>(attempt: () => Promise<T>, max_ms: number): Promise<T> {
  const first_ms = performance.now();
  let locked = 0;
  for (let tries = 1; ; tries++) {
    const last_ms = performance.now();
    try {
      return await attempt();
    } catch (error) {
      if (codeOf(error) === LOCK_TIMEOUT) locked += 1;
      if (!RETRIED.has(codeOf(error))) throw error;
      if (tries >= TRIES_MAX || locked >= LOCK_TRIES_MAX) throw unavailable(HELD, error);
      const now_ms = performance.now();
      if (now_ms - first_ms + (now_ms - last_ms) > max_ms) throw unavailable(HELD, error);
      await backOff();
    }
  }
}

function backOff(): Promise<void> {
  const { least, most } = RETRY_JITTER_MS;
  return new Promise((resolve) => setTimeout(resolve, least + Math.random() * (most - least)));
}
