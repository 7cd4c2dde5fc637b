// The duties of the billing job over a backlog: the last full batch of each must touch as many
// pages as its first, and to find out that there is work must touch few, before and after.

import { scheduler } from "../src/operations/emit.ts";
import { getSettingsById } from "../src/store/tenants/tenants.ts";
import { withWork } from "../src/store/work/projects-with-work.ts";
import { type BatchDuty, DUTIES } from "../src/workers/duties.ts";
import { NOW, type Site } from "./history-site.ts";

/** Batches of each duty: enough to see whether it grows. */
const BATCHES = 20;

/** Makes up to so many rows due. */
const BACKLOGS: Readonly<Record<string, (site: Site, rows: number) => Promise<unknown>>> = {
  expiry: (site, rows) =>
    site.beside(`
      update grants set status = 'active', expires_at = '2026-03-01'
       where id in (select g.id
                      from grants g
                      join wallets w using (project_id, customer_id, currency)
                     order by g.id limit ${rows})`),
  overdue: (site, rows) =>
    site.beside(`
      update invoices set status = 'outstanding', issuing_date = '2026-01-01', due_date = '2026-02-01'
       where id in (select i.id
                      from invoices i
                      join customers c on c.project_id = i.project_id and c.id = i.customer_id
                     where i.status = 'overdue'
                     order by i.id limit ${rows})`),
  // Those who were marked are planned by a policy that is new.
  replan: (site) => {
    const steps = [{ days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" }];
    return site.call("PUT", "/v1/dunning", { enabled: true, steps });
  },
  dunning: (site, rows) =>
    site.beside(`
      update invoices set dunning_on = '2026-03-01'
       where id in (select id from invoices where status = 'overdue' order by id limit ${rows})`),
  wallet: (site, rows) =>
    site.beside(`
      update wallets set look_at = '2026-03-01'
       where customer_id in (select w.customer_id
                               from wallets w
                               join customers c
                                 on c.project_id = w.project_id and c.id = w.customer_id
                              order by w.customer_id limit ${rows})`),
};

export type DutyCost = {
  readonly name: string;
  readonly batches: number;
  readonly max: number;
  readonly first_pages: number;
  readonly last_pages: number;
  /** To look whether there is something to do, at most. */
  readonly look_pages: number;
};

export async function measureDuties(site: Site, rows: number): Promise<DutyCost[]> {
  const costs: DutyCost[] = [];
  for (const duty of DUTIES) {
    if (duty === "close" || BACKLOGS[duty.name] === undefined) continue;
    await BACKLOGS[duty.name]?.(site, Math.min(rows, duty.max * BATCHES));
    costs.push(await measure(site, duty));
  }
  return costs;
}

async function measure(site: Site, duty: BatchDuty): Promise<DutyCost> {
  const { context, project } = site;
  const { db, config } = context;
  const looked = async () =>
    (await site.counted(() => withWork(db, duty.work, context.clock.now())))[1];
  const looks = [await looked()];
  const settings = await getSettingsById(db, project);
  const pages: number[] = [];
  while (pages.length < BATCHES) {
    const [{ done }, touched] = await site.counted(() =>
      db.tx((tx) => duty.act(tx, settings, scheduler(config), NOW, duty.max)),
    );
    if (done < duty.max) break;
    pages.push(touched);
  }
  looks.push(await looked());
  const { name, max } = duty;
  return {
    name,
    max,
    batches: pages.length,
    first_pages: pages[0] ?? 0,
    last_pages: pages.at(-1) ?? 0,
    look_pages: Math.max(...looks),
  };
}
