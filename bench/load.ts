// Sends requests over keep-alive sockets, as fast as they are answered or at a pace, and reports
// what it saw. Bare sockets: the generator must cost less than what it measures.

import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

export type Ask =
  | {
      readonly kind: "events";
      /** Events in one body; 1 sends a bare event. */
      readonly batch: number;
      readonly subscriptions: number;
      /** Every second event of a body is one that was sent before. */
      readonly repeats?: boolean;
      /** When they all happened; else when the load began. */
      readonly at?: string;
    }
  /** Read in turn. */
  | { readonly kind: "paths"; readonly paths: readonly string[] }
  /** Sent in turn. */
  | { readonly kind: "writes"; readonly writes: readonly Write[] };

export type Write = {
  readonly method: "POST" | "PATCH";
  readonly path: string;
  readonly body: object;
};

export type Load = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly seconds: number;
  /** Asked in turn, each so many times. */
  readonly mix: readonly { readonly ask: Ask; readonly times: number }[];
  /** Starts so many, however slow the answers are; without it, one follows the answer before. */
  readonly per_second?: number;
  /** Ends after so many at the latest. */
  readonly requests?: number;
  /** Each request at a pace comes over a connection of its own. */
  readonly reconnects?: boolean;
};

export type Times = {
  readonly requests: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
};
export type LoadResult = Times & {
  /** Answers other than 2xx. */
  readonly refused: number;
  readonly per_second: number;
  /** Different events in what was answered with 2xx. */
  readonly events: number;
  /** By entry of the mix. */
  readonly each: readonly Times[];
  /** Times of answers other than 2xx, from when they were asked for. */
  readonly refusals: Times;
};

type Sent = {
  readonly entry: number;
  readonly text: string;
  readonly due: number;
  /** How many events it has that were never sent before. */
  readonly fresh: number;
};
type Connection = {
  readonly socket: Socket;
  sent: Sent | undefined;
  sent_at: number;
  idle_since: number;
};

/** A server may close what is idle for long, just when it is used again. */
const IDLE_MAX_MS = 2_000;
const PROPERTIES = '{"n":"3","region":"eu-west"}';
/** Far enough back that what is repeated has mostly been answered. */
const REPEAT_BACK = 5_000;

class Generator {
  readonly #load: Load;
  readonly #head: string;
  readonly #prefix = randomBytes(6).toString("hex");
  readonly #began = new Date().toISOString();
  readonly #turns: readonly number[];
  readonly #asked: number[];
  #turn = 0;
  #made = 0;

  constructor(load: Load) {
    this.#load = load;
    const { host } = new URL(load.url);
    this.#head =
      ` HTTP/1.1\r\nhost: ${host}\r\n` +
      Object.entries(load.headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("");
    this.#turns = load.mix.flatMap(({ times }, entry) => Array<number>(times).fill(entry));
    this.#asked = load.mix.map(() => 0);
  }

  next(due: number): Sent {
    const entry = this.#turns[this.#turn++ % this.#turns.length] ?? 0;
    const nth = this.#asked[entry] ?? 0;
    this.#asked[entry] = nth + 1;
    const ask = this.#load.mix[entry]?.ask;
    if (ask === undefined) throw new Error("The mix is empty.");
    if (ask.kind === "events") {
      const before = this.#made;
      const text = this.#post(ask);
      return { entry, text, due, fresh: this.#made - before };
    }
    if (ask.kind === "writes") {
      const write = ask.writes[nth % ask.writes.length];
      if (write === undefined) throw new Error("There is nothing to write.");
      const { method, path, body } = write;
      return { entry, text: this.#withBody(method, path, JSON.stringify(body)), due, fresh: 0 };
    }
    // An address of its own each time: what limits one visitor is not what is measured.
    const visitor = `10.${(nth >> 16) & 255}.${(nth >> 8) & 255}.${nth & 255}`;
    const path = ask.paths[nth % ask.paths.length];
    const text = `GET ${path}${this.#head}x-forwarded-for: ${visitor}\r\n\r\n`;
    return { entry, text, due, fresh: 0 };
  }

  #post(ask: Ask & { kind: "events" }): string {
    const body =
      ask.batch === 1
        ? this.#event(this.#made++, ask)
        : `{"events":[${Array.from({ length: ask.batch }, (_, i) => {
            const repeat = ask.repeats === true && i % 2 === 1 && this.#made > REPEAT_BACK;
            return this.#event(repeat ? this.#made - REPEAT_BACK : this.#made++, ask);
          }).join(",")}]}`;
    return this.#withBody("POST", ask.batch === 1 ? "/v1/events" : "/v1/events/batch", body);
  }

  #withBody(method: string, path: string, body: string): string {
    return (
      `${method} ${path}${this.#head}content-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    );
  }

  /** Ids that rise, as those of clients with time-ordered ids do; every one is new. */
  #event(n: number, ask: Ask & { kind: "events" }): string {
    const { subscriptions, at = this.#began } = ask;
    const start = `${this.#prefix.slice(0, 8)}-${this.#prefix.slice(8)}-7000-8000-`;
    return (
      `{"transaction_id":"${start}${n.toString(16).padStart(12, "0")}",` +
      `"subscription_id":"ext:s${1 + (n % subscriptions)}","code":"calls",` +
      `"timestamp":"${at}","properties":${PROPERTIES}}`
    );
  }
}

async function run(load: Load, stopped: () => boolean): Promise<LoadResult> {
  const generator = new Generator(load);
  const times: number[][] = load.mix.map(() => []);
  const refusals: number[] = [];
  const waiting: number[] = [];
  const idle: Connection[] = [];
  let refused = 0;
  let events = 0;
  let begun = 0;
  let open = 0;
  let connecting = 0;
  let over = false;
  const { hostname, port } = new URL(load.url);
  const most = load.requests ?? Number.POSITIVE_INFINITY;
  const paced = load.per_second !== undefined;
  const idle_max_ms = load.reconnects === true ? 0 : IDLE_MAX_MS;

  const send = (connection: Connection, due: number) => {
    begun += 1;
    open += 1;
    connection.sent = generator.next(due);
    connection.sent_at = performance.now();
    connection.socket.write(connection.sent.text);
  };
  const answered = (connection: Connection, ok: boolean) => {
    const { sent } = connection;
    if (sent === undefined) throw new Error("An answer came that nobody had asked for.");
    // From when it was due, so that a request that had to wait for its turn counts the wait.
    times[sent.entry]?.push(performance.now() - sent.due);
    if (ok) events += sent.fresh;
    else {
      refused += 1;
      refusals.push(performance.now() - connection.sent_at);
    }
    open -= 1;
    connection.sent = undefined;
    const next = paced ? waiting.shift() : over || begun >= most ? undefined : performance.now();
    if (next !== undefined) return send(connection, next);
    connection.idle_since = performance.now();
    idle.push(connection);
  };
  const connections: Connection[] = [];
  let opened = 0;
  const openOne = async () => {
    opened += 1;
    const connection = await openConnection(hostname, Number(port), answered);
    connections.push(connection);
    return connection;
  };
  /** One that is warm, else a new one; none when all are busy. */
  const begin = (at: number) => {
    const connection = idle.pop();
    if (connection !== undefined && performance.now() - connection.idle_since < idle_max_ms) {
      return send(connection, at);
    }
    // The last one in is the warmest: the others are cold as well.
    for (const cold of connection === undefined ? [] : [connection, ...idle.splice(0)]) {
      cold.socket.destroy();
      opened -= 1;
    }
    if (opened === load.connections) return void waiting.push(at);
    connecting += 1;
    openOne().then((fresh) => {
      connecting -= 1;
      send(fresh, at);
    });
  };
  if (!paced) await Promise.all(Array.from({ length: load.connections }, openOne));
  const start = performance.now();
  const end = start + load.seconds * 1_000;
  for (const connection of connections) send(connection, performance.now());

  let due = 0;
  for (;;) {
    const now = performance.now();
    over ||= stopped() || now >= end || begun + waiting.length >= most;
    while (paced && !over && start + (due * 1_000) / load.per_second <= now) {
      begin(start + (due++ * 1_000) / load.per_second);
    }
    if (over && open + connecting + waiting.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const seconds = (performance.now() - start) / 1_000;
  for (const { socket } of connections) socket.end();
  const all = timesOf(times.flat());
  const per_second = all.requests / seconds;
  const each = times.map(timesOf);
  return { ...all, refused, per_second, events, each, refusals: timesOf(refusals) };
}

function openConnection(
  host: string,
  port: number,
  answered: (connection: Connection, ok: boolean) => void,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let received: Buffer | undefined;
    const read = (length: number, bytes: Uint8Array) => {
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, length);
      const answer = received === undefined ? chunk : Buffer.concat([received, chunk]);
      if (isWhole(answer)) {
        received = undefined;
        answered(connection, answer[STATUS_AT] === TWO);
      } else received = Buffer.from(answer);
      return true;
    };
    const onread = { buffer: READ_INTO, callback: read };
    const socket = connect({ host, port, noDelay: true, onread });
    const connection: Connection = { socket, sent: undefined, sent_at: 0, idle_since: 0 };
    socket.on("connect", () => resolve(connection));
    socket.on("error", reject);
    socket.on("close", () => {
      if (connection.sent !== undefined)
        throw new Error("The connection closed before its answer.");
    });
  });
}

/** Where the status stands in "HTTP/1.1 200 OK". */
const STATUS_AT = 9;
const TWO = "2".charCodeAt(0);
const HEAD_END = Buffer.from("\r\n\r\n");
/** For all connections: what was read is looked at before anything else is. */
const READ_INTO = Buffer.alloc(65_536);

function isWhole(answer: Buffer): boolean {
  const end = answer.indexOf(HEAD_END);
  if (end < 0) return false;
  const head = answer.toString("latin1", 0, end);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return answer.length >= end + HEAD_END.length + length;
}

function timesOf(times: readonly number[]): Times {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { requests: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99) };
}

if (process.env.LOAD !== undefined) {
  let stopped = false;
  process.once("message", async (wanted) => {
    process.on("message", () => {
      stopped = true;
    });
    const result = await run(wanted as Load, () => stopped);
    process.send?.(result, () => process.exit(0));
  });
  process.on("disconnect", () => process.exit(0));
}
