// What the projects of one node may take of a process: some of its connections, not all. A node
// that hangs, or is away, then fails its own projects and nobody else's; and a project that sends
// much leaves slots to its neighbours.

import { refuse } from "../../errors.ts";
import { isUnreachable, writeFaultOf } from "../db/failures.ts";
import { WriteFault } from "../db/write-fault.ts";

/** A node that is away is tried by one caller at a time, and not more often than this. */
const RETRY_MS = 500;

type Work<T> = () => Promise<T>;
type Waiting = { readonly owner: string; start(): void; refuse(why: string): void };

export type Slots = {
  /** How many there are, asked for each time: a cluster grows. */
  readonly all: () => number;
  /** How many of them one owner always leaves to others. */
  readonly left: () => number;
  readonly wait_ms: number;
  /** Refusals for who found none free, and for who had all that one owner may have. */
  readonly full: { readonly all: string; readonly own: string };
};

/**
 * Lets so much work run at once as there are slots. Who finds none free waits in line, and is
 * refused after a while. A slot that becomes free goes to the owner with the fewest, and among the
 * work of one owner to what came first.
 */
export class Semaphore {
  readonly #slots: Slots;
  #used = 0;
  readonly #owners = new Map<string, number>();
  #waiting: Waiting[] = [];

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  get used(): number {
    return this.#used;
  }

  async run<T>(work: Work<T>, owner = ""): Promise<T> {
    if (this.#hasSlot(owner)) this.#take(owner);
    else await this.#wait(owner);
    try {
      return await work();
    } finally {
      this.#leave(owner);
    }
  }

  refuseWaiting(why: string): void {
    for (const waiting of this.#waiting.splice(0)) waiting.refuse(why);
  }

  #hasSlot(owner: string): boolean {
    return this.#used < this.#slots.all() && !this.#hasItsShare(owner);
  }

  #hasItsShare(owner: string): boolean {
    const { all, left } = this.#slots;
    return this.#of(owner) >= Math.max(1, all() - left());
  }

  #of(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  #take(owner: string): void {
    this.#used += 1;
    this.#owners.set(owner, this.#of(owner) + 1);
  }

  #leave(owner: string): void {
    this.#used -= 1;
    const count = this.#of(owner) - 1;
    if (count === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, count);
    this.#next()?.start();
  }

  #next(): Waiting | undefined {
    if (this.#used >= this.#slots.all()) return undefined;
    return this.#waiting
      .filter(({ owner }) => !this.#hasItsShare(owner))
      .reduce<Waiting | undefined>(
        (best, one) =>
          best === undefined || this.#of(one.owner) < this.#of(best.owner) ? one : best,
        undefined,
      );
  }

  #wait(owner: string): Promise<void> {
    const { full, wait_ms } = this.#slots;
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
      };
      const refuseNow = (why: string) => {
        end();
        reject(unavailable(why));
      };
      const start = () => {
        end();
        this.#take(owner);
        resolve();
      };
      const waiting = { owner, start, refuse: refuseNow };
      const late = () => refuseNow(this.#hasItsShare(owner) ? full.own : full.all);
      const timer = setTimeout(late, wait_ms);
      this.#waiting.push(waiting);
    });
  }
}

const AWAY = "The part of the database that has this project cannot be reached. Try again.";
const FULL = {
  all: "Too many calls wait for the part of the database that has this project. Try again.",
  own: "Too many calls of this project are under way. Send fewer at once, and try again.",
};
/** A project leaves one `LEFT`th of a node's slots to the others. */
const LEFT = 4;

export type NodeOptions = {
  readonly slots: () => number;
  readonly wait_ms: number;
  /** Told when the node was found to be away. */
  readonly onAway: () => void;
};

/** The slots of one node, and whether it answers: while it does not, callers are told at once. */
export class NodeLimit {
  readonly #slots: Semaphore;
  readonly #onAway: () => void;
  readonly #writeFault = new WriteFault();
  #underWay = 0;
  #succeeded = 0;
  /** Whether work failed and none has succeeded since. */
  #away = false;
  #resting = false;

  constructor({ slots, wait_ms, onAway }: NodeOptions) {
    const left = () => Math.ceil(slots() / LEFT);
    this.#slots = new Semaphore({ all: slots, left, wait_ms, full: FULL });
    this.#onAway = onAway;
  }

  /** Why the node lately refused writes while it answered; undefined when it takes them. */
  get writeFault(): string | undefined {
    return this.#writeFault.why;
  }

  /** Runs work of a project on a connection of the pool. */
  async run<T>(project: string, work: Work<T>): Promise<T> {
    this.#admit();
    return this.#slots.run(() => this.#watched(work), project);
  }

  /** Runs work of a project whose success shows that the node takes writes. */
  async write<T>(project: string, work: Work<T>): Promise<T> {
    const result = await this.run(project, work);
    this.#writeFault.forget();
    return result;
  }

  /** Runs work on a connection that is shared, and so takes no slot. */
  async share<T>(work: Work<T>): Promise<T> {
    this.#admit();
    return this.#watched(work);
  }

  #admit(): void {
    if (this.#away && (this.#resting || this.#underWay > 0)) throw unavailable(AWAY);
  }

  async #watched<T>(work: Work<T>): Promise<T> {
    const before = this.#succeeded;
    this.#underWay += 1;
    try {
      const result = await work();
      this.#succeeded += 1;
      this.#away = false;
      return result;
    } catch (error) {
      this.#writeFault.note(error);
      // One slow statement at a node that meanwhile answers others is no reason to refuse them, and
      // a full disk is none to refuse reads.
      const mayBeAway = isUnreachable(error) && writeFaultOf(error) === undefined;
      if (mayBeAway && this.#succeeded === before) this.#rest();
      throw error;
    } finally {
      this.#underWay -= 1;
    }
  }

  #rest(): void {
    this.#away = true;
    this.#slots.refuseWaiting(AWAY);
    this.#onAway();
    if (this.#resting) return;
    this.#resting = true;
    setTimeout(() => {
      this.#resting = false;
    }, RETRY_MS).unref();
  }
}

function unavailable(message: string) {
  return refuse("unavailable", message, { headers: { "retry-after": "1" } });
}
