// Signals to a server and all processes it has started, as a machine's own end reaches them.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The parent stands still while its children are listed, so that it makes no new ones. */
export async function signalFamily(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, "SIGSTOP");
  const { stdout } = await run("pgrep", ["-P", String(pid)]);
  for (const each of [...stdout.trim().split("\n").map(Number), pid]) sendTo(each, signal);
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended by itself since it was listed.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
