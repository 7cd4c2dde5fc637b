// Checks of the database itself: whether it keeps what it confirms, whether it has room, and who
// stands in its way.

import type { Config } from "../config.ts";
import { ENCODING } from "../store/migration/migrate.ts";
import type {
  Archive,
  DatabaseReadings,
  Durability,
  LongTransaction,
  Sessions,
  Slot,
  Standby,
  Version,
} from "../store/work/checks.ts";
import { duration, fail, gigabytes, judged, ok, skipped, type Verdict, warn } from "./finding.ts";

const POSTGRESQL_LEAST = 150_000;

/** Versions that plan every statement anew on its node and keep each plan: until citus #8824. */
const CITUS_LEAKING = ["13.2.1", "13.2.2", "14.0.0", "14.0.1"];

export function checkVersion({ text, number, citus }: Version): Verdict {
  const seen = [`PostgreSQL ${text}`, ...citus.map((version) => `Citus ${version}`)].join(", ");
  if (number < POSTGRESQL_LEAST) return fail(seen, "Move to PostgreSQL 15 or newer.");
  if (citus.some((version) => CITUS_LEAKING.includes(version))) {
    return warn(
      seen,
      "Move to Citus 13.2.0, or to a version after 14.0.1: this one plans every statement anew " +
        "on its node, and the memory of connections grows with each of them.",
    );
  }
  return ok(seen);
}

export function checkEncoding(found: string): Verdict {
  if (found === ENCODING) return ok(found);
  return fail(
    `${found}, and dues needs ${ENCODING}`,
    `Make a database with encoding '${ENCODING}' locale 'C.UTF-8' template template0, and move ` +
      "into it what is here with dues backup and dues restore.",
  );
}

export function checkSchema(found: number, needed: number): Verdict {
  if (found === needed) return ok(`migration ${found}, as this version needs it`);
  if (found < needed) {
    return fail(
      `migration ${found}, this version needs ${needed}`,
      "Run dues migrate, or start this version once.",
    );
  }
  return warn(
    `migration ${found}, this version knows ${needed}`,
    "A newer version has migrated this database: end the upgrade. Processes of this version go " +
      "on, but none can start.",
  );
}

/** Holds what is confirmed to be on the disk: billing cannot ask its callers to send it again. */
export function checkDurability(nodes: readonly Durability[]): Verdict {
  const wrong = nodes.flatMap(({ address, fsync, full_page_writes, synchronous_commit }) => [
    ...(fsync === "on" ? [] : [`fsync is ${fsync} at ${address}`]),
    ...(full_page_writes === "on" ? [] : [`full_page_writes is ${full_page_writes} at ${address}`]),
    ...(synchronous_commit === "off" ? [`synchronous_commit is off at ${address}`] : []),
  ]);
  if (wrong.length > 0) {
    return fail(
      wrong.join(", "),
      "Set them on, in postgresql.conf and for the user and the database (alter role, alter " +
        "database): without them events and payments that were confirmed are lost when the " +
        "machine fails.",
    );
  }
  const levels = [...new Set(nodes.map(({ synchronous_commit }) => synchronous_commit))];
  return ok(`fsync and full_page_writes are on, synchronous_commit is ${levels.join(", ")}`);
}

const CLOCK_MS = { warn: 1_000, fail: 10_000 };

export function checkClock(
  clock: { ahead_ms: number; unsure_ms: number },
  { clock_skew_limit_ms: limit_ms }: Pick<Config, "clock_skew_limit_ms">,
): Verdict {
  const { ahead_ms, unsure_ms } = clock;
  const off_ms = Math.max(0, Math.abs(ahead_ms) - unsure_ms);
  const way = ahead_ms < 0 ? "behind" : "ahead of";
  const seen = `the database's clock is ${Math.abs(ahead_ms)} ms ${way} this machine's (± ${unsure_ms} ms)`;
  const advice =
    "Keep both with NTP: periods end by this machine's clock, and claims by the database's.";
  if (limit_ms > 0 && off_ms > limit_ms) {
    const rests = `, more than CLOCK_SKEW_LIMIT_S: a process here bills, ends and removes nothing`;
    return fail(seen + rests, advice);
  }
  if (off_ms >= CLOCK_MS.fail) return fail(seen, advice);
  return off_ms >= CLOCK_MS.warn ? warn(seen, advice) : ok(seen);
}

/** Connections of a process beside its pool: shared reads, workers, and one that listens. */
const BESIDE_THE_POOL = 2 + 4 + 1;
const CONNECTIONS_WARN = 0.8;

export function checkConnections({ used, max }: Sessions, config: Config): Verdict {
  const needs = config.pool_max + BESIDE_THE_POOL;
  const seen = `${used} of ${max} connections are in use; a process takes up to ${needs}`;
  if (needs > max) {
    return fail(seen, "Raise max_connections (or the limit of the user), or lower DATABASE_POOL.");
  }
  if (used + needs > max || used > max * CONNECTIONS_WARN) {
    return warn(
      seen,
      "There is no room for another process, which an upgrade needs: raise max_connections, " +
        "lower DATABASE_POOL, or run fewer processes.",
    );
  }
  return ok(seen);
}

const TRANSACTION_FAIL_S = 3_600;

export function checkTransactions(found: readonly LongTransaction[]): Verdict {
  if (found.length === 0) return ok("no transaction is older than 5 minutes");
  const texts = found.map(
    ({ id, name, state, age_s }) => `${id} (${name}, ${state}) for ${duration(age_s)}`,
  );
  const acts = found.map(({ id, state }) =>
    state === "prepared" ? `rollback prepared '${id}'` : `pg_terminate_backend(${id})`,
  );
  const advice =
    `End them, if nobody needs them: ${acts.join("; ")}. While they are open, rows that were ` +
    "deleted stay, tables grow, and migrations wait.";
  const oldest_s = Math.max(...found.map(({ age_s }) => age_s));
  const seen = `open: ${texts.join(", ")}`;
  return oldest_s >= TRANSACTION_FAIL_S ? fail(seen, advice) : warn(seen, advice);
}

/** PostgreSQL stops taking writes at about 2.1 thousand million. */
const ID_AGE = { warn: 1_000_000_000, fail: 1_800_000_000 };

export function checkIdAge(age: number): Verdict {
  const seen = `the oldest transaction id is ${Math.round(age / 1e6)} million transactions old`;
  const advice = "Find out what keeps autovacuum from freezing rows, and run vacuum freeze.";
  if (age >= ID_AGE.fail) return fail(seen, advice);
  return age >= ID_AGE.warn ? warn(seen, advice) : ok(seen);
}

export function checkArchive({
  mode,
  is_failing,
  failed_for_s,
  last_failed_wal,
}: Archive): Verdict {
  if (mode === "off") return skipped("archive_mode is off: changes are not archived");
  if (!is_failing) return ok(`archive_mode is ${mode}, and the last file was archived`);
  return fail(
    `${last_failed_wal} could not be archived, ${duration(failed_for_s ?? 0)} ago`,
    "Read the server's log for what archive_command says. Until it works there is no way back " +
      "to any moment since, and the disk fills.",
  );
}

const LAG = { s: 60, bytes: 1024 ** 3 };

export function checkReplication({
  is_standby,
  standbys,
  slots,
}: Pick<DatabaseReadings, "is_standby" | "standbys" | "slots">): Verdict {
  return judged(is_standby, (isStandby) => {
    if (isStandby) {
      return fail(
        "the database is a standby, which takes no writes",
        "Point DATABASE_URL at the primary server.",
      );
    }
    return judged(standbys, (found) => judged(slots, (held) => replicationOf(found, held)));
  });
}

function replicationOf(standbys: readonly Standby[], slots: readonly Slot[]): Verdict {
  const lost = slots.filter(({ wal_status }) => /^(lost|unreserved)$/.test(wal_status ?? ""));
  if (lost.length > 0) {
    return fail(
      `slots whose standby cannot catch up any more: ${lost.map(({ name }) => name).join(", ")}`,
      "Make their standbys anew, and drop the slots with pg_drop_replication_slot.",
    );
  }
  const heavy = slots.filter(({ is_active, held_bytes }) => {
    return !is_active && (held_bytes ?? 0) > LAG.bytes;
  });
  if (heavy.length > 0) {
    const names = heavy.map(({ name, held_bytes }) => `${name} (${gigabytes(held_bytes ?? 0)})`);
    return warn(
      `slots that nobody reads keep the server's log: ${names.join(", ")}`,
      "Start their readers, or drop them with pg_drop_replication_slot: the disk fills.",
    );
  }
  const late = standbys.filter(({ lag_s, lag_bytes }) => {
    return (lag_s ?? 0) > LAG.s || (lag_bytes ?? 0) > LAG.bytes;
  });
  if (late.length > 0) {
    const names = late.map(
      ({ name, lag_s, lag_bytes }) =>
        `${name} (${duration(lag_s ?? 0)}, ${gigabytes(lag_bytes ?? 0)})`,
    );
    return warn(
      `standbys that lag behind: ${names.join(", ")}`,
      "Look at their load, their disk and the network: what they lack is lost if they take over.",
    );
  }
  if (standbys.length + slots.length === 0) return skipped("there is no standby");
  return ok(`${standbys.length} standby(s) follow, ${slots.length} slot(s)`);
}
