// Listens for notifications of PostgreSQL. Those sent while it reconnects are lost, so whoever
// listens polls as well.

import pg from "pg";
import { LISTEN_CONNECTION_NAME } from "./connection-names.ts";
import type { Connection } from "./db.ts";

/** The application_name of connections that listen. */
const RECONNECT_MS = 1_000;
const CONNECT_MS = 2_000;

export type Listener = { stop(): Promise<void> };

/** Reconnects for as long as it is not stopped. */
export function listen(
  connection: Connection,
  channel: string,
  onNotify: (payload: string) => void,
): Listener {
  let stopped = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;

  const connect = async () => {
    const next = new pg.Client({
      ...connection,
      application_name: LISTEN_CONNECTION_NAME,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
    });
    client = next;
    next.on("notification", ({ payload }) => onNotify(payload ?? ""));
    next.on("error", again);
    next.on("end", again);
    try {
      await next.connect();
      await next.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch {
      again();
    }
  };
  const again = () => {
    if (stopped || timer !== undefined) return;
    const lost = client;
    client = undefined;
    lost?.end().catch(() => {});
    timer = setTimeout(() => {
      timer = undefined;
      void connect();
    }, RECONNECT_MS);
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
