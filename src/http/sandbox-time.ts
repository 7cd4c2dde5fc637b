// The time of a write in a sandbox, whose clock may be moved while the call waits for a lock. It is
// then done again at the new time, at last with the clock held: else its invoice would have an
// earlier date than one with a lower number.

import type { Tx } from "../store/db/db.ts";
import { Overtaken } from "../store/db/failures.ts";
import * as clock from "../store/tenants/clock.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";

/** The attempt that holds the clock, which moves all the time while an advance goes on. */
const HOLDING = 3;

type Timed = { readonly settings: ProjectSettings | undefined; readonly now: Date };

/**
 * Acts at the time of the call's project. `attempt` counts the transactions that were begun for the
 * call; one that could not hold the clock in time is followed by one that does without. In a live
 * project nothing is asked: its time is the machine's.
 */
export async function atSandboxTime<T>(
  tx: Tx,
  call: Timed,
  attempt: number,
  act: (now: Date) => Promise<T>,
): Promise<T> {
  const { settings } = call;
  if (settings?.mode !== "sandbox") return act(call.now);
  const read = async () => (await clock.frozenAt(tx, settings.id)) ?? call.now;
  if (attempt === HOLDING) return act((await clock.hold(tx, settings.id)) ?? call.now);
  const now = attempt === 1 ? call.now : await read();
  const done = await act(now);
  if (attempt < HOLDING && now < (await read())) throw new Overtaken("The clock");
  return done;
}
