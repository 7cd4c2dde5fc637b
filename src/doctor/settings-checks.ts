// Checks of what this machine has: the version of Node, settings, the files of the data folder and
// the room on its disk.

import { readFileSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { isKeyFileText, secretKeyFile } from "../key-file.ts";
import type { Portals, Reading } from "../store/work/checks.ts";
import { NODE_RANGE } from "../version.ts";
import { fail, gigabytes, judged, ok, skipped, type Verdict, warn } from "./finding.ts";

type NodeRange = { readonly major: number; readonly minor: number; readonly isOneMajor: boolean };

/** The ranges of a text, as bin/node-version.js reads them: `^20.15` is of Node 20 alone. */
function nodeRanges(node: string): NodeRange[] {
  return node.split(" || ").map((range) => {
    const [, sign, major, minor] = /^(\^|>=)(\d+)\.(\d+)$/.exec(range) ?? [];
    return { major: Number(major), minor: Number(minor), isOneMajor: sign === "^" };
  });
}

export function checkNode(version: string, wanted = NODE_RANGE): Verdict {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const ranges = nodeRanges(wanted);
  const fits = ranges.some((range) =>
    major === range.major ? minor >= range.minor : !range.isOneMajor && major > range.major,
  );
  if (fits) return ok(`Node ${version}`);
  // The newest first: it is the one to install.
  const texts = ranges.toReversed().map((range) => {
    const newer = `${range.major}.${range.minor} or newer`;
    return range.isOneMajor ? `${newer} of Node ${range.major}` : newer;
  });
  return fail(`Node ${version}`, `Run dues with Node ${texts.join(", or ")}.`);
}

const READABLE_BY_OTHERS = 0o077;

function modeOf(file: string): number | undefined {
  try {
    return statSync(file).mode & 0o777;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function octal(mode: number): string {
  return `0${mode.toString(8).padStart(3, "0")}`;
}

/** Whether there is a key, and whether it is one for its owner alone. */
export function checkKeyFile(config: Config): Verdict {
  if (config.secret_key !== undefined) return ok("SECRET_KEY is set");
  const file = secretKeyFile(config);
  const mode = modeOf(file);
  if (mode === undefined) {
    return fail(
      `SECRET_KEY is not set and there is no ${file}`,
      "Set SECRET_KEY to the key that this database was set up with, or put the file back. A " +
        "start on an empty database makes one.",
    );
  }
  if ((mode & READABLE_BY_OTHERS) !== 0) {
    return fail(
      `${file} can be used by others than its owner (mode ${octal(mode)})`,
      `Run chmod 600 ${file}. If others have been on this machine, take the key for known.`,
    );
  }
  try {
    const text = readFileSync(file, "utf8").trim();
    if (!isKeyFileText(text)) {
      return fail(
        `${file} does not hold a key`,
        "Put back the file that the database was set up with: a start with this one is refused.",
      );
    }
  } catch (error) {
    const why = (error as Error).message;
    return fail(`${file} cannot be read: ${why}`, "Run this as the user of the service.");
  }
  if (config.database_url === undefined) return ok(`${file}, for its owner alone`);
  return warn(
    `${file} is used, because SECRET_KEY is not set`,
    "Set SECRET_KEY to one value for all processes on this database, and keep it apart from " +
      "the database's backup.",
  );
}

/** Checks the profile, which a start without DATABASE_URL keeps in a file: a token is in it. */
export function checkProfileFile(config: Config): Verdict {
  const file = join(config.data_folder, "dev.json");
  const mode = modeOf(file);
  if (mode === undefined) return skipped(`there is no ${file}`);
  if ((mode & READABLE_BY_OTHERS) === 0) return ok(`${file}, for its owner alone`);
  return fail(
    `${file} holds a token and can be used by others than its owner (mode ${octal(mode)})`,
    `Run chmod 600 ${file}; then dues keys revoke the token, and dues init for another one.`,
  );
}

export function checkKeyCreation(config: Config): Verdict {
  const seen = `KEY_CREATION is ${config.key_creation}`;
  if (config.key_creation !== "open") return ok(seen);
  if (!config.is_public) return ok(`${seen}, and the service listens on this machine alone`);
  return fail(
    `${seen}, and the service listens beyond this machine`,
    "Set KEY_CREATION=bootstrap: whoever has learned the organization's id can make tokens " +
      "without one, also after all were revoked.",
  );
}

type Recommendation = {
  /** The settings that are missed. */
  readonly missing: (config: Config) => readonly string[];
  readonly says: string;
};

/** What the contract leaves open, and what is better closed where strangers can call. */
const RECOMMENDATIONS: readonly Recommendation[] = [
  {
    missing: (config) => [
      ...(config.rate_reads_per_minute === 0 ? ["RATE_READS"] : []),
      ...(config.rate_writes_per_minute === 0 ? ["RATE_WRITES"] : []),
      ...(config.rate_events_per_minute === 0 ? ["RATE_EVENTS"] : []),
    ],
    says: "limits per token, so that one caller cannot use up what all share",
  },
  {
    missing: ({ trust_proxy, base_url, host }) => {
      const isProxied = base_url.startsWith("https:") && new URL(base_url).hostname !== host;
      return !trust_proxy && isProxied ? ["TRUST_PROXY"] : [];
    },
    says: "behind a proxy, so that limits per address count callers and not the proxy",
  },
  {
    missing: ({ health_port }) => (health_port === undefined ? ["HEALTH_PORT"] : []),
    says:
      "a port inside your network: without it everybody who reaches the API can read /metrics, " +
      "which tells its routes, how often they are called, memory and backlogs",
  },
];

export function checkPublicAddress(config: Config): Verdict {
  if (!config.is_public) return skipped("the service listens on this machine alone");
  const missing = RECOMMENDATIONS.map((one) => ({
    settings: one.missing(config).join(", "),
    says: one.says,
  })).filter(({ settings }) => settings !== "");
  if (missing.length === 0) return ok("what is recommended beyond this machine is set");
  return warn(
    `not set, though the service listens beyond this machine: ${missing
      .map(({ settings }) => settings)
      .join("; ")}`,
    `Consider ${missing.map(({ settings, says }) => `${settings} (${says})`).join("; ")}.`,
  );
}

/** Counts live projects with portals of the open kind: their links work for ever, for anybody. */
export function checkPortals(config: Config, portals: Reading<Portals>): Verdict {
  if (!config.is_public) return skipped("the service listens on this machine alone");
  return judged(portals, ({ live, open }) => {
    if (live === 0) return ok("there are no live projects yet; sandboxes are not looked at");
    if (open === 0) return ok("the portals of live projects open with signed links alone");
    return warn(
      `the portals of ${open} live project(s) open for whoever has a customer's id`,
      "Consider portal_access signed in the settings of these projects: links then end, and can " +
        "be revoked for a customer.",
    );
  });
}

/** Counts tokens for all projects: one bound to a project opens no others when it is lost. */
export function checkTokens(config: Config, unbound: Reading<number>): Verdict {
  if (!config.is_public) return skipped("the service listens on this machine alone");
  return judged(unbound, (count) => {
    if (count === 0) {
      return ok("of organizations with several projects, one token at most is for all of them");
    }
    return warn(
      `${count} tokens are each for every project of their organization, live and sandbox`,
      "Consider tokens that are bound to projects: dues keys create --for <workspace>/<project>, " +
        "or project_ids of POST /v1/keys. One for the whole organization is enough, to make " +
        "projects and tokens; revoke the others with dues keys revoke.",
    );
  });
}

const DISK = {
  fail: { part: 0.05, bytes: 1024 ** 3 },
  warn: { part: 0.15, bytes: 5 * 1024 ** 3 },
};

export type Disk = { readonly free_bytes: number; readonly all_bytes: number };

/** The disk of a path; undefined where there is no such path. */
export function diskOf(path: string): Disk | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return { free_bytes: bavail * bsize, all_bytes: blocks * bsize };
  } catch {
    return undefined;
  }
}

/** Checks the disk of the embedded database: that of another server cannot be seen from here. */
export function checkDisk(config: Config, disk: Disk | undefined): Verdict {
  if (config.database_url !== undefined) {
    return skipped("the database is on another server: watch its disk there");
  }
  if (disk === undefined) return skipped(`there is no ${config.data_folder}`);
  const { free_bytes, all_bytes } = disk;
  const seen = `${gigabytes(free_bytes)} of ${gigabytes(all_bytes)} are free for ${config.data_folder}`;
  const isBelow = ({ part, bytes }: typeof DISK.warn) =>
    free_bytes < bytes || free_bytes < all_bytes * part;
  const advice = "Make room, or move the folder: on a full disk every write is answered 503.";
  if (isBelow(DISK.fail)) return fail(seen, advice);
  return isBelow(DISK.warn) ? warn(seen, advice) : ok(seen);
}
