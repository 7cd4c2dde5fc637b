// For commands that follow what happens until somebody stops them.

import { setTimeout as delay } from "node:timers/promises";

const POLL_MS = 500;

/** Runs until Ctrl-C, which aborts the signal. */
export async function untilStopped(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    await work(abort.signal);
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
}

/** A moment before the next look, or until the signal aborts. */
export async function pause(signal: AbortSignal): Promise<void> {
  await delay(POLL_MS, undefined, { signal }).catch(() => {});
}
