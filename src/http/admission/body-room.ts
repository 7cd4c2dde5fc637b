// Room for request bodies: bytes that are coming in, and large bodies that are being worked on. Who
// announces much and sends it slowly keeps neither small bodies out nor those of others.

import type { Bounds } from "./bound.ts";

/** Four of the largest, about what is worked on in 5 s on two cores. */
const RECEIVED_MAX = 32 * 1024 * 1024;
/** Room beyond that for small bodies alone, whatever large ones have taken. */
const SMALL_RECEIVED_MAX = 4 * 1024 * 1024;
/** A body up to this is small: one event, and most others. */
const SMALL_BYTES = 64 * 1024;
/**
 * What the bodies of one token, and of all tokens of its organization, take of either at most: two
 * of the largest, and three.
 */
const TOKEN_SHARE = 1 / 2;
const ORGANIZATION_SHARE = 3 / 4;
const TOO_MUCH = "Too much is being sent at once. Try again in a moment.";
/** 7 MB take 65 ms to parse, and their 10,000 events hold about 50 MB until all are stored. */
const LARGE_BYTES = 1024 * 1024;
const LARGE_AT_WORK = 2;
/** Two of 10,000 events each take up to 3 s on a busy machine; no caller is to wait for over 5. */
const LARGE_WAIT_MS = 2_000;
const TOO_MANY_LARGE =
  "Too many large bodies are being worked on. Try again in a moment, or send smaller ones.";

/** The token that a body is sent with, and its organization. */
export type Sender = { readonly token_id: string; readonly organization_id: string };
/** All callers without a token, as one sender. Their bodies have 4 KiB at most. */
const STRANGERS: Sender = { token_id: "stranger", organization_id: "strangers" };

/** A number of bytes, of which each sender has a share. */
class SharedBytes {
  readonly #max: number;
  /** Bytes by token and by organization. */
  readonly #taken = new Map<string, number>();
  #level = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get level(): number {
    return this.#level;
  }

  /** Whether there was so much room for this sender; only then it is taken. */
  take(bytes: number, sender: Sender): boolean {
    const { token_id, organization_id } = sender;
    const fits =
      this.#level + bytes <= this.#max &&
      this.#takenBy(token_id) + bytes <= this.#max * TOKEN_SHARE &&
      this.#takenBy(organization_id) + bytes <= this.#max * ORGANIZATION_SHARE;
    if (fits) this.#add(bytes, sender);
    return fits;
  }

  give(bytes: number, sender: Sender): void {
    this.#add(-bytes, sender);
  }

  #takenBy(id: string): number {
    return this.#taken.get(id) ?? 0;
  }

  #add(bytes: number, { token_id, organization_id }: Sender): void {
    this.#level += bytes;
    for (const id of [token_id, organization_id]) {
      const taken = this.#takenBy(id) + bytes;
      if (taken === 0) this.#taken.delete(id);
      else this.#taken.set(id, taken);
    }
  }
}

type Received = { readonly small: SharedBytes; readonly large: SharedBytes };

/** The room of one body, while it comes in and waits. */
export class Held {
  readonly #bounds: Bounds;
  readonly #sender: Sender;
  readonly #small: SharedBytes;
  readonly #large: SharedBytes;
  #room: SharedBytes | undefined;
  #bytes = 0;

  constructor(bounds: Bounds, sender: Sender, { small, large }: Received) {
    this.#bounds = bounds;
    this.#sender = sender;
    this.#small = small;
    this.#large = large;
  }

  /** Holds so many bytes in all; throws 503 when there is no room for them. */
  grow(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.end();
    // Small bodies may have either room: while nobody sends large ones, more of them come in.
    for (const room of bytes <= SMALL_BYTES ? [this.#small, this.#large] : [this.#large]) {
      if (!room.take(bytes, this.#sender)) continue;
      this.#room = room;
      this.#bytes = bytes;
      return;
    }
    throw this.#bounds.overloaded("body_bytes", TOO_MUCH);
  }

  end(): void {
    this.#room?.give(this.#bytes, this.#sender);
    this.#room = undefined;
    this.#bytes = 0;
  }
}

/** The turn of a large body, and what is told to who waits for it. */
type Turn = { readonly organization_id: string; begun: () => void };

export class BodyRoom {
  readonly #bounds: Bounds;
  readonly #received: Received = {
    small: new SharedBytes(SMALL_RECEIVED_MAX),
    large: new SharedBytes(RECEIVED_MAX),
  };
  /** The turns that are waited for, in order. */
  readonly #line = new Set<Turn>();
  readonly #atWork = new Set<Turn>();

  constructor(bounds: Bounds) {
    const { small, large } = this.#received;
    this.#bounds = bounds;
    bounds.addLevel({ name: "body_bytes", level: () => small.level + large.level });
    bounds.addLevel({ name: "large_bodies", level: () => this.#atWork.size + this.#line.size });
  }

  /** Takes room for a body with what it announces; throws 503 when there is none. */
  hold(announced: number, sender: Sender = STRANGERS): Held {
    const held = new Held(this.#bounds, sender, this.#received);
    held.grow(announced);
    return held;
  }

  /** Waits until a large body may be worked on; what it resolves to ends that. Throws 503. */
  turn(bytes: number, sender: Sender = STRANGERS): Promise<() => void> | undefined {
    return bytes <= LARGE_BYTES ? undefined : this.#turnOfLarge(sender);
  }

  async #turnOfLarge({ organization_id }: Sender): Promise<() => void> {
    const turn: Turn = { organization_id, begun: () => {} };
    if (this.#atWork.size < LARGE_AT_WORK) this.#begin(turn);
    else await this.#waitInLine(turn);
    return () => this.#end(turn);
  }

  #waitInLine(turn: Turn): Promise<void> {
    return new Promise((resolve, reject) => {
      turn.begun = () => {
        clearTimeout(timer);
        resolve();
      };
      const leave = () => {
        this.#line.delete(turn);
        reject(this.#bounds.overloaded("large_bodies", TOO_MANY_LARGE));
      };
      const timer = setTimeout(leave, LARGE_WAIT_MS);
      this.#line.add(turn);
    });
  }

  #begin(turn: Turn): void {
    this.#line.delete(turn);
    this.#atWork.add(turn);
    turn.begun();
  }

  /** The turn of who has the fewest at work is next: many of one organization hold up no other. */
  #end(turn: Turn): void {
    if (!this.#atWork.delete(turn)) return;
    const [next] = [...this.#line].sort((a, b) => this.#countAtWork(a) - this.#countAtWork(b));
    if (next !== undefined) this.#begin(next);
  }

  #countAtWork({ organization_id }: Turn): number {
    return [...this.#atWork].filter((turn) => turn.organization_id === organization_id).length;
  }
}
