// One install or build at a time, whoever starts it.

import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { at, Failure, readText, root } from "./base.js";

const LOCK = at("dist", ".lock");
const LOCK_POLL_MS = 100;

/** A lock whose process is gone is taken over. */
export async function locked(work) {
  const mine = makeLock();
  let told = false;
  // The folder appears under its final name with the number already in it, or not at all.
  while (!moved(mine, LOCK)) {
    const holder = readText(join(LOCK, "holder"));
    const pid = Number(holder?.split(" ")[0]);
    if (pid > 0 && identityOf(pid) !== holder) {
      const stale = `${mine}-stale`;
      if (moved(LOCK, stale)) rmSync(stale, { recursive: true, force: true });
      continue;
    }
    if (!told && pid > 0) {
      told = true;
      process.stderr.write(`Waiting for another run (process ${pid}) to install or build.\n`);
    }
    await delay(LOCK_POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** A lock of this process, under a name that nobody looks at yet. */
function makeLock() {
  try {
    mkdirSync(dirname(LOCK), { recursive: true });
    const mine = mkdtempSync(`${LOCK}-`);
    writeFileSync(join(mine, "holder"), identityOf(process.pid));
    return mine;
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error;
    throw new Failure(
      `Packages must be installed and built here first, and ${root} cannot be written to ` +
        `(${error.code}). Run "npm run build" once as who may write there, or use a copy.`,
    );
  }
}

function moved(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (["EEXIST", "ENOTEMPTY", "ENOENT"].includes(error.code)) return false;
    throw error;
  }
}

/** A process by number and, where the system tells it, start: numbers are used again. */
function identityOf(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === "ESRCH") return "";
  }
  const fields = readText(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, "")
    .split(" ");
  return `${pid} ${fields?.[19] ?? ""}`;
}
