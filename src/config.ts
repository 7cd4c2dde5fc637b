// The only reader of the environment. SETTINGS documents every variable; the result is frozen.

import { isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

export type KeyCreation = "open" | "bootstrap" | "authenticated";
export type Role = "all" | "api" | "worker";

export type Config = {
  readonly port: number;
  readonly host: string;
  /** The port of health and metrics; undefined: they are answered where the API is. */
  readonly health_port: number | undefined;
  readonly base_url: string;
  /** Whether others than this machine reach it: by its own address, or through a proxy. */
  readonly is_public: boolean;
  readonly database_url: string | undefined;
  readonly data_folder: string;
  readonly secret_key: string | undefined;
  readonly key_creation: KeyCreation;
  readonly log_level: string;
  readonly pool_max: number;
  /** How far clock and database may be apart; 0: that is not looked at. */
  readonly clock_skew_limit_ms: number;
  /** How many proxies stand in front, or their addresses; false: none is believed. */
  readonly trust_proxy: false | number | readonly string[];
  readonly webhook_allow_private: boolean;
  readonly portal_auto_invalidate: boolean;
  readonly rate_reads_per_minute: number;
  readonly rate_writes_per_minute: number;
  readonly rate_events_per_minute: number;
};

export type Setting = { readonly name: string; readonly fallback: string; readonly says: string };

/** Every environment variable the service reads. `docs/OPERATING.md` prints this table. */
export const SETTINGS: readonly Setting[] = [
  { name: "PORT", fallback: "8080", says: "Port of the HTTP API; 0 takes a free one." },
  { name: "HOST", fallback: "127.0.0.1", says: "Address to listen on." },
  {
    name: "HEALTH_PORT",
    fallback: "(none)",
    says: "A port of its own for /healthz, /readyz (with warnings) and /metrics, which then leaves the API's port: callers of the API cannot crowd it out. Not for the public.",
  },
  {
    name: "BASE_URL",
    fallback: "http://HOST:PORT",
    says: "How callers reach the service: printed at start and used in links. While HOST is every address (0.0.0.0 or ::), it is this machine's own unless you set it.",
  },
  {
    name: "DATABASE_URL",
    fallback: "(embedded PostgreSQL)",
    says: "postgres://… of a PostgreSQL 15 or newer. Without it an embedded server is started.",
  },
  {
    name: "DUES_DATA",
    fallback: "./.dues",
    says: "Folder of the embedded database, its profile (dev.json) and the secret key file.",
  },
  {
    name: "SECRET_KEY",
    fallback: "(key file in DUES_DATA)",
    says: "At least 32 characters, or the contents of a key file. Signs cursors and encrypts webhook secrets; all processes on one database need the same.",
  },
  {
    name: "KEY_CREATION",
    fallback: "open",
    says: "Who may POST /v1/keys: open (whoever knows the organization id), bootstrap (open until the first token, then admin tokens), authenticated (admin tokens only).",
  },
  {
    name: "LOG_LEVEL",
    fallback: "info",
    says: "fatal, error, warn, info, debug, trace or silent.",
  },
  { name: "DATABASE_POOL", fallback: "10", says: "Connections for requests (1 to 100)." },
  {
    name: "CLOCK_SKEW_LIMIT_S",
    fallback: "60",
    says: "Seconds by which this process's clock and the database's may differ. Beyond it the process bills, ends and removes nothing, and its /readyz answers 503. 0: not looked at.",
  },
  {
    name: "TRUST_PROXY",
    fallback: "0",
    says: "How many proxies stand in front (1, 2, …), or their addresses and ranges, separated by commas: the caller's address is the one that the outermost of them saw, from X-Forwarded-For.",
  },
  {
    name: "WEBHOOK_ALLOW_PRIVATE",
    fallback: "0",
    says: "1 allows webhook endpoints on http and on private addresses.",
  },
  {
    name: "PORTAL_AUTO_INVALIDATE",
    fallback: "0",
    says: "1 drops a customer's cached portal view on every change of the customer's data.",
  },
  { name: "RATE_READS", fallback: "0", says: "Reads per minute and token; 0 is no limit." },
  { name: "RATE_WRITES", fallback: "0", says: "Writes per minute and token; 0 is no limit." },
  { name: "RATE_EVENTS", fallback: "0", says: "Event posts per minute and token; 0 is no limit." },
];

/** A setting with a value that cannot be used: the start stops and prints the message. */
export class ConfigError extends Error {}

/** `given`, the flags of a command, takes precedence over the environment. */
export function readConfig(given: NodeJS.ProcessEnv = {}): Config {
  const env = { ...process.env, ...given };
  const host = env.HOST || "127.0.0.1";
  const port = integer(env, "PORT", 8080, 0, 65_535);
  const secretKey = env.SECRET_KEY || undefined;
  if (secretKey !== undefined && secretKey.length < 32) {
    throw new ConfigError("SECRET_KEY must have at least 32 characters.");
  }
  const base_url = baseUrl(env, urlAt(host, port));
  return Object.freeze({
    port,
    host,
    health_port: integer(env, "HEALTH_PORT", 0, 0, 65_535) || undefined,
    base_url,
    is_public: !isThisMachine(host) || !isThisMachine(new URL(base_url).hostname),
    database_url: databaseUrl(env),
    data_folder: resolve(env.DUES_DATA || ".dues"),
    secret_key: secretKey,
    key_creation: oneOf(env, "KEY_CREATION", ["open", "bootstrap", "authenticated"] as const),
    log_level: oneOf(env, "LOG_LEVEL", LOG_LEVELS),
    pool_max: integer(env, "DATABASE_POOL", 10, 1, 100),
    clock_skew_limit_ms: integer(env, "CLOCK_SKEW_LIMIT_S", 60, 0, 86_400) * 1_000,
    trust_proxy: trustedProxies(env),
    webhook_allow_private: flag(env, "WEBHOOK_ALLOW_PRIVATE"),
    portal_auto_invalidate: flag(env, "PORTAL_AUTO_INVALIDATE"),
    rate_reads_per_minute: integer(env, "RATE_READS", 0, 0, 10_000_000),
    rate_writes_per_minute: integer(env, "RATE_WRITES", 0, 0, 10_000_000),
    rate_events_per_minute: integer(env, "RATE_EVENTS", 0, 0, 10_000_000),
  });
}

/** What is unsafe about the settings, in words for the operator. */
export function warningsOf(config: Config): string[] {
  const warnings: string[] = [];
  if (config.key_creation === "open" && config.is_public) {
    warnings.push(
      "KEY_CREATION is open and the service listens on a public address: whoever knows the " +
        "organization id can make tokens. Set KEY_CREATION=bootstrap.",
    );
  }
  if (config.database_url !== undefined && config.secret_key === undefined) {
    warnings.push(
      `SECRET_KEY is not set: the key file in ${config.data_folder} is used. ` +
        "Processes on other machines need the same key.",
    );
  }
  return warnings;
}

/** Further environment variables, read by the command line tool only. */
export const CLIENT_SETTINGS: readonly Setting[] = [
  { name: "DUES_URL", fallback: "http://127.0.0.1:8080", says: "The service to talk to." },
  { name: "DUES_TOKEN", fallback: "(profile)", says: "The token to talk to it with." },
  { name: "DUES_PROJECT", fallback: "(profile)", says: "Id or slug of the project." },
  { name: "NO_COLOR", fallback: "(unset)", says: "Set to anything: no colours." },
];

export type ClientSettings = {
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly project: string | undefined;
  /** The folder in which a start on the embedded database keeps its profile. */
  readonly data_folder: string;
  /** The folder in which `dues login` keeps its profiles. */
  readonly config_folder: string;
  readonly no_color: boolean;
};

export function readClientSettings(given: NodeJS.ProcessEnv = {}): ClientSettings {
  const env = { ...process.env, ...given };
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return Object.freeze({
    url: env.DUES_URL || undefined,
    token: env.DUES_TOKEN || undefined,
    project: env.DUES_PROJECT || undefined,
    data_folder: resolve(env.DUES_DATA || ".dues"),
    config_folder: join(home, "dues"),
    no_color: (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb",
  });
}

const LOG_LEVELS = ["info", "fatal", "error", "warn", "debug", "trace", "silent"] as const;

function integer(env: NodeJS.ProcessEnv, name: string, fallback: number, min: number, max: number) {
  const text = env[name];
  if (text === undefined || text === "") return fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not "${text}".`);
  }
  return value;
}

/** The base of links, without query, fragment or trailing slash: they append a path to it. */
function baseUrl(env: NodeJS.ProcessEnv, fallback: string): string {
  const text = env.BASE_URL;
  if (text === undefined || text === "") return fallback;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && !/[?#\s]/.test(text);
  if (!isPlain) {
    throw new ConfigError(
      `BASE_URL must be an address such as https://billing.example.com, not "${text}".`,
    );
  }
  return text.replace(/\/+$/, "");
}

/** Hosts that stand for every address of the machine, and the one by which it reaches itself. */
const EVERY_ADDRESS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

export function isEveryAddress(host: string): boolean {
  return Object.hasOwn(EVERY_ADDRESS, host);
}

/** The URL at which a service that listens there is reached, from this machine at least. */
export function urlAt(host: string, port: number): string {
  const address = EVERY_ADDRESS[host] ?? host;
  return `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

/** The URL of the database. It may hold a password, so no message repeats it. */
function databaseUrl(env: NodeJS.ProcessEnv): string | undefined {
  const text = env.DATABASE_URL || undefined;
  if (text === undefined) return undefined;
  const form = "DATABASE_URL must look like postgres://user:password@host:5432/database";
  if (!/^postgres(ql)?:\/\//.test(text)) {
    const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
    throw new ConfigError(`${form}${scheme === undefined ? "." : `, not ${scheme}://….`}`);
  }
  // A socket is named without a host: postgres://user@/database?host=/run/postgresql
  if (URL.canParse(text) || URL.canParse(text.replace("@/", "@socket/"))) return text;
  throw new ConfigError(
    `${form}. In user and password write / as %2F, ? as %3F, # as %23 and @ as %40.`,
  );
}

function isThisMachine(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

const PROXIES_MAX = 10;
const RANGES = new Set(["loopback", "linklocal", "uniquelocal"]);

function trustedProxies(env: NodeJS.ProcessEnv): Config["trust_proxy"] {
  const text = (env.TRUST_PROXY ?? "").trim();
  if (/^(|0|false)$/.test(text)) return false;
  if (text === "true") return 1;
  if (/^\d+$/.test(text)) return integer(env, "TRUST_PROXY", 0, 0, PROXIES_MAX);
  const addresses = text.split(",").map((address) => address.trim());
  const wrong = addresses.find((address) => !isRange(address));
  if (wrong === undefined) return addresses;
  throw new ConfigError(
    `TRUST_PROXY must be a number of proxies or their addresses, such as 10.0.0.0/8; not "${wrong}".`,
  );
}

function isRange(text: string): boolean {
  if (RANGES.has(text)) return true;
  const [address = "", bits] = text.split("/");
  const version = isIP(address);
  const most = version === 4 ? 32 : 128;
  return version !== 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most));
}

function flag(env: NodeJS.ProcessEnv, name: string): boolean {
  return oneOf(env, name, ["0", "1", "false", "true"] as const).match(/^(1|true)$/) !== null;
}

/** One of the choices, of which the first is the default. */
function oneOf<T extends string>(env: NodeJS.ProcessEnv, name: string, choices: readonly T[]): T {
  const text = env[name] || choices[0];
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new ConfigError(`${name} must be one of ${choices.join(", ")}, not "${text}".`);
  }
  return found;
}
