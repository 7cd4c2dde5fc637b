// What an operator does with a cluster under the service, on the database of DATABASE_URL.

import type { Config } from "../config.ts";
import {
  type DistributeOptions,
  type Distribution,
  distribute,
} from "../store/cluster/distribute.ts";
import {
  type Rebalance,
  type RebalanceOptions,
  type RebalanceProgress,
  rebalance,
} from "../store/cluster/rebalance.ts";
import { type ClusterStatus, readStatus } from "../store/cluster/status.ts";
import type { Connection } from "../store/db/db.ts";
import type { TableProgress } from "../store/migration/distribution.ts";
import { StartError } from "./start-error.ts";

export type { ClusterStatus, Distribution, Rebalance, RebalanceProgress, TableProgress };

/** Migrates a cluster's database and spreads over the nodes what is not spread yet. */
export function distributeStore(config: Config, options: DistributeOptions): Promise<Distribution> {
  return distribute(clusterConnection(config), options);
}

/** The nodes of a cluster, what is on each, and what is wrong. */
export function readClusterStatus(config: Config): Promise<ClusterStatus> {
  return readStatus(clusterConnection(config));
}

/** Has the cluster move shards until the nodes carry alike. */
export function rebalanceStore(config: Config, options: RebalanceOptions): Promise<Rebalance> {
  return rebalance(clusterConnection(config), options);
}

function clusterConnection({ database_url }: Config): Connection {
  if (database_url !== undefined) return { connectionString: database_url };
  throw new StartError(
    "A cluster is named by DATABASE_URL, which is not set. To move what the embedded database " +
      "holds, use dues backup and dues restore: docs/SCALING.md.",
  );
}
