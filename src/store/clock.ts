// The frozen clock of a sandbox project.

import type { Tx } from "./db.ts";
import { sql } from "./sql.ts";
import { type ProjectId, type ProjectSettings, SETTINGS_COLUMNS } from "./tenants.ts";

/**
 * Locks the project, so that two who move its clock follow one another. Not as strongly as it
 * could: who writes a row that refers to the project may hold usage locks that the clock waits for.
 */
export function lock(tx: Tx, project: ProjectId) {
  return tx.one<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from projects p
     where p.id = ${project}
       for no key update`);
}

export async function freezeAt(tx: Tx, project: ProjectId, at: Date): Promise<void> {
  await tx.run(sql`
    update projects
       set frozen_at = ${at}
     where id = ${project}`);
}
