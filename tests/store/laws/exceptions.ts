// Statements that may break a law of the cluster, each with its reason. A line here that no
// statement needs fails the test.

import type { Breach, Law } from "./laws.ts";

export type Exception = {
  /** A part of the statement's text by which it is known; blanks count as one. */
  readonly text: string;
  readonly law: Law;
  readonly reason: string;
};

const SWEEP = "lists projects with work; the work itself is done project by project";
const FIGURE = "a figure over all projects for the metrics; nothing is decided by it";
const PLACE =
  "beside the project of the changed row, which is locked or claimed: with its key instead, the " +
  "planner reads the whole queue when its statistics are older than its growth";
const NEW_PROJECT = "the project is made here, with the id that the row gets";
const TENANTS = "tenants and tokens are made rarely, and every node reads them";

export const EXCEPTIONS: readonly Exception[] = [
  { text: "as oldest_ended_at", law: "project", reason: FIGURE },
  {
    text: "select distinct e.project_id as id from webhook_endpoints",
    law: "project",
    reason: SWEEP,
  },
  {
    text: "from project_anchors a join projects p on p.id = a.project_id",
    law: "project",
    reason: SWEEP,
  },
  { text: "select a.project_id as id from project_anchors", law: "project", reason: SWEEP },
  { text: "select distinct project_id as id from", law: "project", reason: SWEEP },
  {
    text: "select project_id, frozen_at from project_clocks",
    law: "project",
    reason: "an organization's list of projects shows the clocks of its sandboxes",
  },
  { text: "select scope_id, array_agg(key) as keys from", law: "project", reason: SWEEP },
  { text: "select 'replan' as kind, count(*) as jobs", law: "project", reason: FIGURE },
  { text: "select kind, count(*) as jobs", law: "project", reason: FIGURE },
  { text: "select count(*) as count, min(o.id::text) as oldest", law: "project", reason: FIGURE },
  {
    text: "select count(*) as count from (select 1 from analytics",
    law: "project",
    reason: FIGURE,
  },
  { text: "select d.project_id, d.id from analytics_deltas", law: "project", reason: FIGURE },
  { text: "select w.since from project_anchors a", law: "project", reason: FIGURE },
  { text: "min(o.since)), 0)::float8 as oldest_s", law: "project", reason: FIGURE },
  { text: "as oldest_due_s", law: "project", reason: FIGURE },
  { text: "select count(*) as set_aside from", law: "project", reason: FIGURE },
  { text: "with taken as ( select q.ctid", law: "system column", reason: PLACE },
  { text: "select i.*, w.place", law: "system column", reason: PLACE },
  { text: "select i.claim, w.place", law: "system column", reason: PLACE },
  { text: "q.ctid = w.place", law: "system column", reason: PLACE },
  {
    text: "set_config('synchronous_commit', 'off', true)",
    law: "volatile",
    reason: "joined to the rows that are read, not to those that change",
  },
  { text: "insert into project_anchors", law: "insert", reason: NEW_PROJECT },
  { text: "insert into log_heads", law: "insert", reason: NEW_PROJECT },
  { text: "insert into project_clocks", law: "insert", reason: NEW_PROJECT },
  { text: "insert into organizations", law: "copies", reason: TENANTS },
  { text: "insert into workspaces", law: "copies", reason: TENANTS },
  { text: "insert into projects", law: "copies", reason: TENANTS },
  { text: "insert into tokens", law: "copies", reason: TENANTS },
  {
    text: "delete from tokens",
    law: "copies",
    reason: "a worker removes those of all organizations that expired; no request waits for it",
  },
  { text: "update tokens set revoked_at", law: "copies", reason: TENANTS },
  { text: "update organizations set key_creation_id", law: "copies", reason: TENANTS },
  { text: "update projects set issuer_name", law: "copies", reason: TENANTS },
  { text: "update projects set groups_customers", law: "copies", reason: TENANTS },
  {
    text: "update tokens t set last_used_at",
    law: "copies",
    reason: "a worker writes it for all tokens together; no request waits for it",
  },
  {
    text: "insert into installation",
    law: "copies",
    reason: "once, by the process that sets up the database; later ones read it",
  },
];

/** Files with connections of their own, whose plain statements are not held to the laws. */
export const OWN_CONNECTIONS: Readonly<Record<string, string>> = {
  "src/store/migration/migrate.ts": "runs at the coordinator, before there is a service",
  "src/store/migration/locks.ts": "runs at the coordinator, for a migration",
  "src/store/migration/portions.ts": "runs at the coordinator, before there is a service",
  "src/store/cluster/distribute.ts": "runs at the coordinator, while no service runs",
  "src/store/db/cluster-nodes.ts": "asks Citus about its nodes",
  "src/store/cluster/status.ts": "asks one node for its own copies, at the operator's word",
  "src/store/work/checks.ts":
    "reads catalogs and figures over all projects, at the operator's word",
  "src/store/cluster/node-health.ts": "asks Citus about one node",
  "src/store/cluster/rebalance.ts": "asks Citus about its jobs",
  "src/store/migration/distribution.ts": "runs at the coordinator, while no service runs",
  "src/store/backup/backup.ts": "reads every table whole, at the operator's word",
  "src/store/backup/restore.ts": "fills an empty database, before there is a service",
  "src/store/backup/home.ts": "asks which server this is, at the start of a process",
  "src/store/backup/resume.ts": "counts over all projects, at the operator's word",
  "src/store/backup/invoice-counters.ts":
    "lists and moves the counters of all projects, at that word too",
};

/** Files that ask what plain PostgreSQL does not have. */
export const CLUSTER_CATALOG: Readonly<Record<string, string>> = {
  "src/store/cluster/placement.ts":
    "reads where the cluster's shards are, and no table of ours by itself",
};

/** What is left when the exceptions are taken out; those that were needed are put into `used`. */
export function unexcused(text: string, found: readonly Breach[], used: Set<Exception>): Breach[] {
  const plain = text.replace(/\s+/g, " ");
  return found.filter(({ law }) => {
    const exception = EXCEPTIONS.find((one) => one.law === law && plain.includes(one.text));
    if (exception !== undefined) used.add(exception);
    return exception === undefined;
  });
}
