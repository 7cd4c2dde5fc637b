// Listens for notifications of PostgreSQL. Those sent while it reconnects are lost, so whoever
// listens polls as well.

import pg from "pg";
import { LISTEN_CONNECTION_NAME } from "./connection-names.ts";
import type { Connection } from "./db.ts";
import { SilenceWatch } from "./silence.ts";

const RECONNECT_MS = 1_000;
const CONNECT_MS = 2_000;
/** How often it asks whether anybody is there: mostly it only waits. */
const ASK_MS = 3_000;
const ANSWER_MS = 3_000;

export type Listener = { stop(): Promise<void> };

/** Listens, and connects again whenever the connection is lost, until it is stopped. */
export function listen(
  connection: Connection,
  channel: string,
  onNotify: (payload: string) => void,
): Listener {
  let stopped = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  const watch = new SilenceWatch(ANSWER_MS);

  const connect = async () => {
    const next = new pg.Client({
      ...connection,
      application_name: LISTEN_CONNECTION_NAME,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    });
    client = next;
    const lost = () => again(next);
    next.on("notification", ({ payload }) => onNotify(payload ?? ""));
    next.on("error", lost);
    next.on("end", lost);
    try {
      await next.connect();
      watch.add(next);
      await next.query(`listen ${pg.escapeIdentifier(channel)}`);
      const asking = setInterval(() => next.query("select 1").catch(lost), ASK_MS);
      next.once("end", () => clearInterval(asking));
    } catch {
      lost();
    }
  };
  /** A connection that was lost is told of more than once; only the present one is replaced. */
  const again = (lost: pg.Client) => {
    if (stopped || client !== lost) return;
    client = undefined;
    lost.end().catch(() => {});
    timer = setTimeout(connect, RECONNECT_MS);
  };

  void connect();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await client?.end().catch(() => {});
    },
  };
}
