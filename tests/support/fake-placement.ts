// Projects on nodes of a cluster that is not there, for tests on plain PostgreSQL.

import { groupBy } from "../../src/domain/group-by.ts";
import type { ProjectId } from "../../src/ids.ts";
import type { Placement } from "../../src/store/cluster/placement.ts";

/** A project lives on the node that its id begins with: "a-1" on "a". */
export function fakePlacement(
  nodes: number,
  projects: readonly string[] = [],
): Placement & { doubts: number } {
  const nodeOf = (project: string) => project.split("-")[0] ?? "";
  return {
    nodes,
    doubts: 0,
    nodeOf: async (project) => nodeOf(project),
    recall: nodeOf,
    parts: async () =>
      [...groupBy(projects, nodeOf)].map(([node, ofNode]) => ({
        node,
        projects: ofNode as ProjectId[],
      })),
    doubt() {
      this.doubts += 1;
    },
  };
}
