// SQL condition that limits a statement across projects to some of them; it stands beside every
// table.

import type { ProjectId } from "../../ids.ts";
import { type Sql, sql } from "./sql.ts";

/** The condition on a column that holds the project's id. */
export type ProjectFilter = (project: Sql) => Sql;

export const ALL_PROJECTS: ProjectFilter = () => sql`true`;

export function onlyProjects(projects: readonly ProjectId[]): ProjectFilter {
  return (project) => sql`${project} = any(${projects}::uuid[])`;
}
