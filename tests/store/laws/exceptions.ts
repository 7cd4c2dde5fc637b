// Statements that may break a law of the cluster, each with its reason. A line here that no
// statement needs fails the test.

import type { Breach, Law } from "./laws.ts";

export type Exception = {
  /** A part of the statement's text by which it is known; blanks count as one. */
  readonly text: string;
  readonly law: Law;
  readonly reason: string;
};

const SWEEP = "lists projects with work; the work itself is claimed project by project";
const FIGURE = "a figure over all projects for the metrics; nothing is decided by it";
const LOOKUP = "the customer's id is all that the caller has";
const TENANTS = "tenants and tokens are made rarely, and every node reads them";

export const EXCEPTIONS: readonly Exception[] = [
  {
    text: "select distinct e.project_id as id from webhook_endpoints",
    law: "project",
    reason: SWEEP,
  },
  { text: "from projects p where exists ( select 1 from", law: "project", reason: SWEEP },
  { text: "as oldest_due_s", law: "project", reason: FIGURE },
  { text: "as oldest_ended_at", law: "project", reason: FIGURE },
  { text: "select c.project_id, p.frozen_at, v.body", law: "project", reason: LOOKUP },
  { text: "select p.id from customers c join projects p", law: "project", reason: LOOKUP },
  { text: "insert into organizations", law: "copies", reason: TENANTS },
  { text: "insert into workspaces", law: "copies", reason: TENANTS },
  { text: "insert into projects", law: "copies", reason: TENANTS },
  { text: "insert into tokens", law: "copies", reason: TENANTS },
  { text: "update tokens set revoked_at", law: "copies", reason: TENANTS },
  { text: "update projects set issuer_name", law: "copies", reason: TENANTS },
  {
    text: "update projects set frozen_at",
    law: "copies",
    reason: "the clock of a sandbox; live projects have none",
  },
  {
    text: "update tokens t set last_used_at",
    law: "copies",
    reason: "a worker writes it for all tokens together; no request waits for it",
  },
  {
    text: "insert into installation",
    law: "copies",
    reason: "once, by the process that sets up the database",
  },
];

/** Files with connections of their own, whose plain statements are not held to the laws. */
export const OWN_CONNECTIONS: Readonly<Record<string, string>> = {
  "src/store/migrate.ts": "runs at the coordinator, before there is a service",
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
