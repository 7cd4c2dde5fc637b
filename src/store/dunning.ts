// The dunning policy, the steps that were sent, and the invoices a step is due for.

import type { Dunning, DunningStep } from "../schema/dunning.ts";
import type { InvoiceStatus } from "../schema/invoices.ts";
import type { SubscriptionStatus } from "../schema/subscriptions.ts";
import type { Queryable, Tx } from "./db.ts";
import { DUE } from "./invoices.ts";
import { NUMBER } from "./numbers.ts";
import { columnsOf, rowsOf } from "./rows.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

/** A project that never set one has dunning off. */
export async function getPolicy(db: Queryable, project: ProjectId): Promise<Dunning> {
  const policy = await db.maybeOne<Dunning>(sql`
    select enabled, steps
      from dunning_policies
     where project_id = ${project}`);
  return policy ?? { enabled: false, steps: [] };
}

/**
 * Keeps the policy as it is, for who marks invoices overdue; who changes it waits. Otherwise an
 * invoice could be planned by neither. There may be no row of a policy to lock.
 */
export async function holdPolicy(tx: Tx, project: ProjectId): Promise<void> {
  await tx.many(sql`
    select 1
      from project_anchors
     where project_id = ${project}
       for share`);
}

/** For who changes the policy. */
export async function lockPolicy(tx: Tx, project: ProjectId): Promise<void> {
  await tx.many(sql`
    select 1
      from project_anchors
     where project_id = ${project}
       for no key update`);
}

export async function putPolicy(
  tx: Tx,
  project: ProjectId,
  policy: Dunning,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    insert into dunning_policies (project_id, enabled, steps, updated_at)
    values (${project}, ${policy.enabled}, ${json(policy.steps)}, ${now})
    on conflict (project_id) do update
       set enabled = excluded.enabled, steps = excluded.steps, updated_at = excluded.updated_at`);
}

/** An overdue invoice with all that its reminders say. */
export type DunnedInvoice = {
  readonly id: string;
  readonly number: string;
  readonly status: InvoiceStatus;
  readonly invoice_type: string;
  readonly total_cents: number;
  readonly amount_due_cents: number;
  readonly currency: string;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly sent: string[];
  readonly last_sent_on: string | null;
  readonly customer_id: string;
  readonly customer_external_id: string;
  readonly customer_name: string;
  readonly customer_email: string;
  readonly subscription_id: string | null;
  readonly subscription_external_id: string | null;
  readonly subscription_status: SubscriptionStatus | null;
  readonly plan_code: string | null;
};

function dunned(project: ProjectId): Sql {
  return sql`
    select i.id, ${NUMBER} as number, i.status, i.invoice_type, i.total_cents,
           ${DUE} as amount_due_cents, i.currency,
           i.issuing_date, i.due_date, coalesce(d.sent, '{}') as sent, d.last_sent_on, c.id as customer_id,
           c.external_id as customer_external_id, c.name as customer_name,
           c.email as customer_email, s.id as subscription_id,
           s.external_id as subscription_external_id, s.status as subscription_status,
           p.code as plan_code
      from invoices i
      join customers c on c.project_id = ${project} and c.id = i.customer_id
      left join subscriptions s on s.project_id = ${project} and s.id = i.subscription_id
      left join plans p on p.project_id = ${project} and p.id = s.plan_id
      left join lateral (
        select array_agg(webhook_event) as sent, max(sent_on) as last_sent_on
          from dunning_steps x
         where x.project_id = ${project} and x.invoice_id = i.id) d on true`;
}

/** Invoices with a step due, locked; those that another worker has locked are skipped. */
export function lockDue(tx: Tx, project: ProjectId, today: string, limit: number) {
  return tx.many<DunnedInvoice>(sql`
    ${dunned(project)}
     where i.project_id = ${project} and i.dunning_on <= ${today}::date
     order by i.dunning_on, i.id
     limit ${limit}
       for update of i skip locked`);
}

/** Every overdue invoice after this one, for a policy that has changed. */
export function listOverdue(tx: Tx, project: ProjectId, after: string, limit: number) {
  return tx.many<DunnedInvoice>(sql`
    ${dunned(project)}
     where i.project_id = ${project} and i.status = 'overdue' and i.id > ${after}
     order by i.id
     limit ${limit}
       for update of i`);
}

export async function setNext(
  tx: Tx,
  project: ProjectId,
  next: readonly { readonly id: string; readonly on: string | null }[],
): Promise<void> {
  if (next.length === 0) return;
  await tx.run(sql`
    update invoices i
       set dunning_on = n."on"
      from json_to_recordset(${json(next)}::json) as n (id uuid, "on" date)
     where i.project_id = ${project} and i.id = n.id and i.dunning_on is distinct from n."on"`);
}

export type SentStep = {
  readonly invoice_id: string;
  readonly webhook_event: DunningStep["webhook_event"];
  readonly sent_on: string;
};

const STEP = { invoice_id: "uuid", webhook_event: "text", sent_on: "date" };

export async function recordSent(
  tx: Tx,
  project: ProjectId,
  steps: readonly SentStep[],
): Promise<void> {
  if (steps.length === 0) return;
  await tx.run(sql`
    insert into dunning_steps (${columnsOf(STEP)})
    ${rowsOf(project, STEP, steps)}`);
}

/** The day of the next step of any invoice. */
export async function nextDay(db: Queryable, project: ProjectId, until: string) {
  const { on } = await db.one<{ on: string | null }>(sql`
    select min(dunning_on) as "on"
      from invoices
     where project_id = ${project} and dunning_on <= ${until}::date`);
  return on;
}
