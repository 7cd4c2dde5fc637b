// Drafts: a file is written under another name beside its own, which it takes when it is complete.

import { rmSync } from "node:fs";
import { open } from "node:fs/promises";

/** The exit code of a process that was told to end. */
const INTERRUPTED = 130;

/** Removes a draft when the process is told to end; what it returns calls that off. */
export function dropOnSignal(draft: string): () => void {
  const drop = () => {
    rmSync(draft, { force: true });
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", drop).once("SIGTERM", drop);
  return () => {
    process.off("SIGINT", drop).off("SIGTERM", drop);
  };
}

/** Has the names in a folder survive a power cut too, as the contents of a file do once synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}
