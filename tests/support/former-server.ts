// A server of an older major version of PostgreSQL, where its programs are installed: what data is
// moved from and to in the drills of backups and upgrades.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { chooseUser } from "../../src/embedded/child-process.ts";
import { findBinaries } from "../../src/embedded/former.ts";
import { type Embedded, reachFormer } from "../../src/embedded/start.ts";

export const FORMER_MAJOR = "15";

/** The folder with its bin/; undefined, and a word about it, where it is not installed. */
export async function formerBinaries(what: string): Promise<string | undefined> {
  try {
    return await findBinaries(FORMER_MAJOR, undefined);
  } catch {
    process.stderr.write(`PostgreSQL ${FORMER_MAJOR} is not installed: ${what}.\n`);
    return undefined;
  }
}

/** A folder as a dues that brought this version would have left it, without any table. */
export async function makeFormerFolder(folder: string, binaries: string): Promise<void> {
  const user = await chooseUser(undefined);
  const { uid, gid } = user;
  if (user.switched) execFileSync("chown", [`${uid}:${gid}`, folder]);
  const how = ["--username=dues", "--auth=peer", "--encoding=UTF8", "--locale=C", "--no-sync"];
  const data = `--pgdata=${join(folder, "postgres")}`;
  execFileSync(join(binaries, "bin", "initdb"), [data, ...how], {
    ...(user.switched && { uid, gid }),
    cwd: "/",
    stdio: "ignore",
  });
}

export function openFormer(folder: string, binaries: string): Promise<Embedded> {
  return reachFormer({ folder, binaries, application_name: "the tests" });
}
