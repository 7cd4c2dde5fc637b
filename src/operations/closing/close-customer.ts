// Does what falls due together of one customer, in transactions of its own: for a call that meets
// it, and for a worker whose batch of customers failed. One that makes it fail is found and set
// aside; the others are invoiced together without it.

import type { ProjectId } from "../../ids.ts";
import type { Db } from "../../store/db/db.ts";
import { isCutOff, isPassing } from "../../store/db/failures.ts";
import * as dueGroups from "../../store/subscriptions/due-groups.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { SetAside } from "../batch-report.ts";
import type { By } from "../emit.ts";
import { GROUP_MAX } from "../issuing/group-acts.ts";
import { type CloseReport, closeGroups, closeThese, setAsideDue } from "./close.ts";

/** Told what each transaction came to. */
export type Told = {
  readonly done: (report: CloseReport) => void;
  readonly setAside: (found: SetAside, error: unknown) => void;
};

/** Transactions of a customer that are cut off before others have their turn: each took long. */
const CUT_OFF_MAX = 3;

class Undone extends Error {}

export class CustomerClose {
  readonly #db: Db;
  readonly #settings: ProjectSettings;
  readonly #by: By;
  readonly #now: Date;
  readonly #told: Told;
  #cut_off = 0;

  constructor(db: Db, settings: ProjectSettings, by: By, now: Date, told: Told) {
    this.#db = db;
    this.#settings = settings;
    this.#by = by;
    this.#now = now;
    this.#told = told;
  }

  /** Whether too many were cut off to go on for now. */
  get isTooSlow(): boolean {
    return this.#cut_off >= CUT_OFF_MAX;
  }

  /** Does its earliest instant, and says how many subscriptions that was: none where it is held. */
  async close(customer_id: string): Promise<number> {
    try {
      return await this.#closeWhole(customer_id);
    } catch (error) {
      this.#pass(error);
    }
    const ids = await this.#list(customer_id);
    const guilty = await this.#setGuiltyAside(ids);
    if (guilty > 0) return guilty + (await this.close(customer_id));
    // None fails alone, so there is too much of them.
    return this.#closeHalves(ids);
  }

  async #closeWhole(customer_id: string): Promise<number> {
    const report = await this.#db.tx((tx) =>
      closeGroups(tx, this.#settings, this.#by, this.#now, "usage locks", { customer_id }),
    );
    this.#told.done(report);
    return report.done;
  }

  #list(customer_id: string): Promise<string[]> {
    const project: ProjectId = this.#settings.id;
    const limits = { limit: GROUP_MAX, limit_each: GROUP_MAX };
    return dueGroups.listOf(this.#db, project, { now: this.#now, ...limits, customer_id });
  }

  /** Each is tried alone, in a transaction that is undone. */
  async #setGuiltyAside(ids: readonly string[]): Promise<number> {
    let guilty = 0;
    for (const id of ids) {
      if (this.isTooSlow) break;
      const error = await this.#tryAlone(id);
      if (error === undefined) continue;
      guilty += 1;
      const found = await this.#db.tx((tx) =>
        setAsideDue(tx, this.#settings, id, error, this.#by, this.#now),
      );
      if (found !== undefined) this.#told.setAside(found, error);
    }
    return guilty;
  }

  async #tryAlone(id: string): Promise<unknown> {
    try {
      await this.#db.tx(async (tx) => {
        await closeThese(tx, this.#settings, [id], this.#how);
        throw new Undone();
      });
    } catch (error) {
      if (error instanceof Undone) return undefined;
      this.#pass(error);
      return error;
    }
    return undefined;
  }

  async #closeHalves(ids: readonly string[]): Promise<number> {
    if (ids.length < 2 || this.isTooSlow) return 0;
    const half = Math.ceil(ids.length / 2);
    const first = await this.#closePart(ids.slice(0, half));
    return first + (await this.#closePart(ids.slice(half)));
  }

  async #closePart(ids: readonly string[]): Promise<number> {
    try {
      const report = await this.#db.tx((tx) => closeThese(tx, this.#settings, ids, this.#how));
      this.#told.done(report);
      return report.done;
    } catch (error) {
      this.#pass(error);
      return this.#closeHalves(ids);
    }
  }

  get #how() {
    return { by: this.#by, now: this.#now, is_grouped: true };
  }

  /** Throws what is not about what is closed, but about the server or a lock. */
  #pass(error: unknown): void {
    if (isPassing(error)) throw error;
    if (isCutOff(error)) this.#cut_off += 1;
  }
}
