// Closes the ended periods of one project: batch after batch, two at once where there is much. A
// batch that fails is closed in parts and at last one by one, until what made it fail stands alone.

import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import {
  BATCH_MAX,
  type CloseReport,
  closeDue,
  closeGroups,
  closeThese,
  setAsideDue,
} from "../operations/closing/close.ts";
import { CustomerClose } from "../operations/closing/close-customer.ts";
import { noteSetAside } from "../operations/closing/set-aside.ts";
import { scheduler } from "../operations/emit.ts";
import { GROUP_MAX } from "../operations/issuing/group-acts.ts";
import { isCutOff, isPassing } from "../store/db/failures.ts";
import * as dueGroups from "../store/subscriptions/due-groups.ts";
import * as openPeriods from "../store/subscriptions/open-periods.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import { closeBatchSeconds, countInvoices, dutyDone, periodsClosed } from "./prometheus.ts";

/** Batches that each of the two parallel closes takes before the next project has its turn. */
const TURN_BATCHES = 5;
/**
 * How many parts a batch is closed in: a thousand are down to single ones in two steps. In halves
 * it would be ten, and each may take the time of a statement that is cut off.
 */
const PARTS = 32;
/** Single ones that are cut off before the next project has its turn: each took a long time. */
const TURN_CUT_OFF = 3;

/**
 * Closes some batches of a project: first of what falls due by itself, then, where a customer may
 * get one invoice of it, of what falls due together.
 */
export async function closeProject(context: Context, settings: ProjectSettings, now: Date) {
  const closing = { context, settings, now };
  const plain = await closeTurn(closing, closeDue);
  return settings.groups_customers ? plain + (await closeTurn(closing, closeTogether)) : plain;
}

type Closing = {
  readonly context: Context;
  readonly settings: ProjectSettings;
  readonly now: Date;
};

const closeTogether: typeof closeDue = (tx, settings, by, now, guard, onFull) =>
  closeGroups(tx, settings, by, now, guard, onFull === undefined ? {} : { onFull });

/**
 * Takes some batches of one kind. Once one of them is found to be full, a second close runs in
 * parallel, so that one is computed here while the database writes the other.
 *
 * The second goes on only while no caller is being answered. With two at all times the p99 of
 * callers was 4 to 8 times its idle value during a close, with one it was 2.7 times (decision 9).
 */
async function closeTurn(closing: Closing, close: typeof closeDue): Promise<number> {
  const closeBatches = async (mayGoOn: () => boolean, onFull: () => void) => {
    let closed = 0;
    for (let batch = 0; batch < TURN_BATCHES && mayGoOn(); batch++) {
      const count = await closeBatch(closing, close, onFull);
      closed += count;
      // Customers are taken whole, so a batch of them may be full with fewer.
      if (count < (close === closeDue ? BATCH_MAX : 1)) break;
    }
    return closed;
  };
  const always = () => true;
  const whileApiIsIdle = () => !closing.context.api_activity.active;
  let isFull = (_: boolean) => {};
  const full = new Promise<boolean>((resolve) => {
    isFull = resolve;
  });
  const first = closeBatches(always, () => isFull(true)).finally(() => isFull(false));
  const second = full.then((more) => (more ? closeBatches(whileApiIsIdle, () => {}) : 0));
  const counts = await Promise.all([first, second]);
  return counts[0] + counts[1];
}

async function closeBatch(
  { context, settings, now }: Closing,
  close: typeof closeDue,
  onFull: () => void,
): Promise<number> {
  try {
    const started_ms = monotonicMs();
    const report = await context.db.tx((tx) =>
      close(tx, settings, scheduler(context.config), now, "cutoff", onFull),
    );
    if (report.closed > 0) closeBatchSeconds.observe((monotonicMs() - started_ms) / 1_000);
    return countClosed(context, settings, report);
  } catch (error) {
    if (isPassing(error)) throw error;
    context.log.warn({ err: error, project_id: settings.id }, "a batch failed; closing its parts");
    if (close === closeTogether) return closeCustomers(context, settings, now);
    const ids = await openPeriods.listDue(
      context.db,
      settings.id,
      now,
      BATCH_MAX,
      settings.groups_customers,
    );
    return new Apart(context, settings, now).closeParts(ids);
  }
}

/** Customer by customer, after a batch of them failed: what makes one fail is found there. */
async function closeCustomers(
  context: Context,
  settings: ProjectSettings,
  now: Date,
): Promise<number> {
  const { db, log, config } = context;
  const limits = { limit: BATCH_MAX, limit_each: GROUP_MAX };
  const customers = await dueGroups.listCustomers(db, settings.id, { now, ...limits });
  const each = new CustomerClose(db, settings, scheduler(config), now, {
    done: (report) => countClosed(context, settings, report),
    setAside: (found, error) => noteSetAside(log, settings.id, found, error),
  });
  let closed = 0;
  for (const customer_id of customers) {
    if (each.isTooSlow) break;
    closed += await each.close(customer_id);
  }
  return closed;
}

/** Finds the subscriptions that made a batch fail: set aside with their reason, others close. */
class Apart {
  readonly #context: Context;
  readonly #settings: ProjectSettings;
  readonly #now: Date;
  #cut_off = 0;

  constructor(context: Context, settings: ProjectSettings, now: Date) {
    this.#context = context;
    this.#settings = settings;
    this.#now = now;
  }

  async closeParts(ids: readonly string[]): Promise<number> {
    const size = Math.ceil(ids.length / PARTS);
    let closed = 0;
    for (let at = 0; at < ids.length && this.#cut_off < TURN_CUT_OFF; at += size) {
      closed += await this.#closePart(ids.slice(at, at + size));
    }
    return closed;
  }

  async #closePart(ids: readonly string[]): Promise<number> {
    const { db, config } = this.#context;
    const by = scheduler(config);
    try {
      const report = await db.tx((tx) =>
        closeThese(tx, this.#settings, ids, { by, now: this.#now }),
      );
      return countClosed(this.#context, this.#settings, report);
    } catch (error) {
      if (isPassing(error)) throw error;
      const [id, ...others] = ids;
      if (others.length > 0 || id === undefined) return this.closeParts(ids);
      await this.#setAside(id, error);
      return 0;
    }
  }

  async #setAside(id: string, error: unknown): Promise<void> {
    const { db, log, config } = this.#context;
    const by = scheduler(config);
    if (isCutOff(error)) this.#cut_off += 1;
    const found = await db.tx((tx) => setAsideDue(tx, this.#settings, id, error, by, this.#now));
    if (found !== undefined) noteSetAside(log, this.#settings.id, found, error);
  }
}

/** Notes what a batch came to, and returns how many subscriptions it was about. */
function countClosed({ log }: Context, { id }: ProjectSettings, report: CloseReport): number {
  for (const one of report.set_aside ?? []) noteSetAside(log, id, one);
  periodsClosed.inc(report.closed);
  dutyDone.inc({ duty: "close" }, report.done);
  countInvoices(report);
  return report.done;
}
