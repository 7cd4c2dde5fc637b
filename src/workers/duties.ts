// The duties of the billing job, in the order in which they are done: as rows, for most of them
// differ in names alone.

import type { BatchReport, SetAside } from "../operations/batch-report.ts";
import { BATCH_MAX } from "../operations/closing/close.ts";
import { issueSupplements, postponeFirst } from "../operations/closing/supplements.ts";
import type { By } from "../operations/emit.ts";
import { markOverdue, OVERDUE_BATCH_MAX } from "../operations/issuing/mark-overdue.ts";
import { REPLANNED_BATCH_MAX, replanDunning } from "../operations/issuing/plan-dunning.ts";
import { STEPS_BATCH_MAX, stepDunning } from "../operations/issuing/step-dunning.ts";
import { EXPIRED_BATCH_MAX, expireGrants } from "../operations/money/grant-credit.ts";
import { LOOKED_MAX, lookAtWallets } from "../operations/money/watch-wallets.ts";
import type { Tx } from "../store/db/db.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import type { Work } from "../store/work/projects-with-work.ts";

/** Work that is done batch by batch, each a transaction of one project. */
export type BatchDuty = {
  readonly name: string;
  /** What waits in the projects that have a turn. */
  readonly work: Work;
  readonly act: (
    tx: Tx,
    settings: ProjectSettings,
    by: By,
    now: Date,
    limit: number,
  ) => Promise<BatchReport>;
  /** The largest batch; smaller ones follow one that failed. */
  readonly max: number;
  /** Puts off what fails when it stands alone; without it, that is tried again as it is. */
  readonly postpone?: Postpone;
};

export type Postpone = (
  tx: Tx,
  settings: ProjectSettings,
  error: unknown,
  by: By,
  now: Date,
) => Promise<SetAside | undefined>;

/** The close has a way of its own through a project: see close-project.ts. */
export const DUTIES: readonly (BatchDuty | "close")[] = [
  { name: "expiry", work: "expired_grants", act: expireGrants, max: EXPIRED_BATCH_MAX },
  "close",
  {
    name: "supplement",
    work: "late_usage",
    act: issueSupplements,
    max: BATCH_MAX,
    postpone: postponeFirst,
  },
  { name: "overdue", work: "overdue_invoices", act: markOverdue, max: OVERDUE_BATCH_MAX },
  {
    name: "replan",
    work: "replan",
    act: (tx, settings, _, now, limit) => replanDunning(tx, settings, now, limit),
    max: REPLANNED_BATCH_MAX,
  },
  { name: "dunning", work: "dunning_steps", act: stepDunning, max: STEPS_BATCH_MAX },
  { name: "wallet", work: "changed_wallets", act: lookAtWallets, max: LOOKED_MAX },
];
