// Where webhooks may go: which addresses belong to the public internet, and which URLs are refused
// before any name is looked up. What a name resolves to is classified again at the socket.

import { parsedUrl } from "../schema/urls.ts";

export type AddressClass =
  | "public"
  | "loopback"
  | "private"
  | "link_local"
  | "reserved"
  /** Not an address at all; never sent to. */
  | "invalid";

export type AddressPolicy = {
  /** Also plain http anywhere, private and loopback addresses, and names of one label. */
  readonly allow_private: boolean;
  /** Also plain http and https to this machine. */
  readonly allow_loopback: boolean;
  /** Host and port that this service is reached at: it does not send to itself. */
  readonly own_host?: string;
};

type Sending = {
  readonly webhook_allow_private: boolean;
  readonly database_url: string | undefined;
  readonly base_url: string;
};

/** Without DATABASE_URL, on trial, loopback is allowed; private addresses only by the operator. */
export function addressPolicy(config: Sending): AddressPolicy {
  const own = parsedUrl(config.base_url);
  return {
    allow_private: config.webhook_allow_private,
    allow_loopback: config.database_url === undefined,
    ...(own !== undefined && { own_host: own.host }),
  };
}

export type UrlCheck =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: string };

type Range = { readonly prefix: bigint; readonly shift: bigint; readonly class: AddressClass };

const URL_CHARS_MAX = 2048;
const HTTP_PORT = 80;
const HTTPS_PORT = 443;
/** Ports below are those of other services of a machine, mail and databases among them. */
const UNPRIVILEGED_PORT_MIN = 1024;
const LOCAL_SUFFIXES = [".local", ".internal", ".localhost", ".home.arpa"];

// The first range that holds an address decides. Cloud metadata services come first, as no switch
// may ever open the way to them; those under 169.254/16 are covered by their range.
const V4_RANGES = ranges(32n, parseV4, [
  ["100.100.100.200/32", "reserved"],
  ["168.63.129.16/32", "reserved"],
  ["0.0.0.0/8", "reserved"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "private"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link_local"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "reserved"],
  ["192.0.2.0/24", "reserved"],
  ["192.88.99.0/24", "reserved"],
  ["192.168.0.0/16", "private"],
  ["198.18.0.0/15", "reserved"],
  ["198.51.100.0/24", "reserved"],
  ["203.0.113.0/24", "reserved"],
  ["224.0.0.0/3", "reserved"],
]);

// Only 2000::/3 is given out for the public internet. Whatever embeds an IPv4 address for a gateway
// to unpack (compatible, translated, NAT64, 6to4, Teredo) falls under reserved, whatever it embeds.
const V6_RANGES = ranges(128n, parseV6, [
  ["::1/128", "loopback"],
  ["fd00:ec2::254/128", "reserved"],
  ["fd20:ce::254/128", "reserved"],
  ["fc00::/7", "private"],
  ["fe80::/10", "link_local"],
  ["fec0::/10", "link_local"],
  ["2001::/23", "reserved"],
  ["2001:db8::/32", "reserved"],
  ["2002::/16", "reserved"],
  ["3fff::/20", "reserved"],
  ["2000::/3", "public"],
  ["::/0", "reserved"],
]);

const MAPPED_PREFIX = 0xffffn;

/** The class of an address in text form. A mapped one (::ffff:a.b.c.d) is what it maps to. */
export function classifyAddress(ip: string): AddressClass {
  const v4 = parseV4(ip);
  if (v4 !== undefined) return classIn(V4_RANGES, v4);
  const v6 = parseV6(ip);
  if (v6 === undefined) return "invalid";
  if (v6 >> 32n === MAPPED_PREFIX) return classIn(V4_RANGES, v6 & 0xffff_ffffn);
  return classIn(V6_RANGES, v6);
}

/** Whether deliveries may connect to an address of this class. */
export function permits(policy: AddressPolicy, address: AddressClass): boolean {
  if (address === "loopback") return policy.allow_loopback || policy.allow_private;
  if (address === "private") return policy.allow_private;
  return address === "public";
}

/** Judges the parsed URL, never its text: 2130706433, 0x7f.1 and 127.1 are all 127.0.0.1. */
export function checkWebhookUrl(text: string, policy: AddressPolicy): UrlCheck {
  const refused = (reason: string): UrlCheck => ({ ok: false, reason });
  if (text.length > URL_CHARS_MAX) return refused(`is longer than ${URL_CHARS_MAX} characters`);
  // The parser would drop them silently.
  if (/[\p{Cc}\s\\]/u.test(text)) return refused("has spaces, control characters or backslashes");
  const url = parsedUrl(text);
  if (url === undefined) return refused("is not a URL");
  if (url.protocol !== "https:" && url.protocol !== "http:") return refused("is not an https URL");
  if (url.username !== "" || url.password !== "") return refused("has a user name or password");
  const host = refusedHost(url, policy);
  if (host !== undefined) return refused(host);
  const isPlainAllowed = policy.allow_private || (policy.allow_loopback && isThisMachine(url));
  if (url.protocol === "http:" && !isPlainAllowed) return refused("is not an https URL");
  if (!isPortAllowed(url)) return refused("has a port other than 443 or 1024 to 65535");
  if (url.host === policy.own_host) return refused("is the address of this service itself");
  return { ok: true, url };
}

/** Why the URL's host is refused, or undefined when only its addresses remain to be checked. */
function refusedHost(url: URL, policy: AddressPolicy): string | undefined {
  const literal = addressIn(url);
  if (literal !== "invalid") {
    return permits(policy, literal) ? undefined : `points to a ${literal} address`;
  }
  const name = hostName(url);
  if (name === "" || name.startsWith(".") || name.includes("..")) return "has no valid host";
  if (policy.allow_private || (policy.allow_loopback && isThisMachine(url))) return undefined;
  if (!name.includes(".")) return "has a host name of one label";
  return LOCAL_SUFFIXES.some((suffix) => name.endsWith(suffix))
    ? "has a host name of a local network"
    : undefined;
}

function isThisMachine(url: URL): boolean {
  const name = hostName(url);
  return name === "localhost" || name.endsWith(".localhost") || addressIn(url) === "loopback";
}

function isPortAllowed(url: URL): boolean {
  const standard = url.protocol === "https:" ? HTTPS_PORT : HTTP_PORT;
  const port = url.port === "" ? standard : Number(url.port);
  return port === standard || port === HTTPS_PORT || port >= UNPRIVILEGED_PORT_MIN;
}

function addressIn(url: URL): AddressClass {
  return classifyAddress(hostName(url).replace(/^\[|\]$/g, ""));
}

/** A name with its final dot is the same name. */
function hostName(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}

function classIn(table: readonly Range[], address: bigint): AddressClass {
  return table.find(({ prefix, shift }) => address >> shift === prefix)?.class ?? "public";
}

function ranges(
  width: bigint,
  parse: (text: string) => bigint | undefined,
  table: readonly (readonly [range: string, className: AddressClass])[],
): Range[] {
  return table.map(([range, className]) => {
    const [text = "", bits = ""] = range.split("/");
    const address = parse(text);
    if (address === undefined) throw new Error(`${range} is not an address range.`);
    const shift = width - BigInt(bits);
    return { prefix: address >> shift, shift, class: className };
  });
}

/** Four plain decimal numbers; the shorter and octal forms are the URL parser's to resolve. */
function parseV4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let address = 0n;
  for (const part of parts) {
    if (!/^(?:0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return undefined;
    address = (address << 8n) | BigInt(part);
  }
  return address;
}

/** Eight groups, one run of zeros cut to "::", the last two perhaps written as IPv4. No zone. */
function parseV6(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2 || !text.includes(":")) return undefined;
  const [head = [], tail] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const last = (tail ?? head).at(-1);
  const v4 = last?.includes(".") ? parseV4(last) : undefined;
  if (v4 !== undefined) {
    (tail ?? head).splice(-1, 1, (v4 >> 16n).toString(16), (v4 & 0xffffn).toString(16));
  }
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array<string>(missing).fill("0"), ...(tail ?? [])];
  let address = 0n;
  for (const group of groups) {
    if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
    address = (address << 16n) | BigInt(`0x${group}`);
  }
  return address;
}
