// Records the events of a batch, which is more than one transaction takes: checks them one by one
// and writes them in chunks, one after the other, until the time for an answer is over.

import { monotonicMs, nextArrivals } from "../clock.ts";
import { Refusal, refuse } from "../errors.ts";
import type { Arrived } from "../operations/usage/draft.ts";
import type { UsageMemory } from "../operations/usage/memory.ts";
import type { Outcome } from "../operations/usage/outcomes.ts";
import { recordUsage } from "../operations/usage/record.ts";
import { UsageEventInput } from "../schema/events.ts";
import type { Db } from "../store/db/db.ts";
import type { ViewRule } from "../store/portal/views.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import { checker } from "./request/validation.ts";
import { within } from "./within.ts";

/**
 * Events per transaction: larger ones are hardly faster, hold locks for longer, and keep other
 * callers waiting while they are worked out.
 */
const CHUNK = 1_000;
/** A batch is answered by then, as an event is, also when each of its transactions waits. */
const ANSWER_MS = 4_000;
const LATE = refuse(
  "unavailable",
  "The batch could not be stored in time. Send it again: what is stored already counts once.",
  { headers: { "retry-after": "1" } },
);

/** Where the events of a request are recorded, and by which rules. */
export type BatchTarget = {
  readonly db: Db;
  readonly memory: UsageMemory;
  readonly settings: ProjectSettings;
  readonly rule: ViewRule;
};

/** One outcome per event, in order. An event that could not be read comes as its refusal. */
export async function recordBatch(
  target: BatchTarget,
  events: readonly unknown[],
  received_at: Date,
): Promise<Outcome[]> {
  // When the time is over, the transaction under way goes on and is the last.
  return within(ANSWER_MS, recordChunks(target, events, received_at), LATE);
}

async function recordChunks(
  target: BatchTarget,
  events: readonly unknown[],
  received_at: Date,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const until_ms = monotonicMs() + ANSWER_MS;
  for (let start = 0; start < events.length; start += CHUNK) {
    if (monotonicMs() >= until_ms) throw LATE;
    const chunk = events.slice(start, start + CHUNK);
    outcomes.push(...(await recordChunk(target, chunk, received_at)));
  }
  return outcomes;
}

async function recordChunk(
  { db, memory, settings, rule }: BatchTarget,
  chunk: readonly unknown[],
  received_at: Date,
): Promise<Outcome[]> {
  const first = nextArrivals(chunk.length);
  const checked = chunk.map((event, i): Arrived | Refusal => {
    const input = readEvent(event);
    return input instanceof Refusal ? input : { input, received_at, arrival: first + i };
  });
  const good = checked.filter((event): event is Arrived => !(event instanceof Refusal));
  const recorded = good.length === 0 ? [] : await recordUsage(db, memory, settings, good, rule);
  const next = recorded.values();
  const missing = () => refuse("internal_error", "The event has no outcome.");
  return checked.map((event) =>
    event instanceof Refusal ? event : (next.next().value ?? missing()),
  );
}

const checkEvent = checker(UsageEventInput, "body");

function readEvent(event: unknown): UsageEventInput | Refusal {
  if (event instanceof Refusal) return event;
  try {
    return checkEvent(event);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
