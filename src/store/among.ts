// Which projects a statement across projects asks for: all of them, or those of one part of a
// cluster while another part is away. The condition must stand beside each table that is named.

import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

/** The condition on a column that holds the project's id. */
export type Among = (project: Sql) => Sql;

export const ALL_PROJECTS: Among = () => sql`true`;

export function among(projects: readonly ProjectId[]): Among {
  return (project) => sql`${project} = any(${projects}::uuid[])`;
}
