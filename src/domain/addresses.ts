// Where webhooks may go: which addresses belong to the public internet, and which URLs are refused
// before any name is looked up. What a name resolves to is classified again at the socket.

import { BlockList, isIP, isIPv4, SocketAddress } from "node:net";
import { parsedUrl } from "../schema/urls.ts";

export type AddressClass =
  | "public"
  | "loopback"
  | "private"
  | "link_local"
  | "reserved"
  /** No address at all: never sent to. */
  | "invalid";

export type AddressPolicy = {
  /** Allows plain http anywhere, private and loopback addresses, and names of one label. */
  readonly allow_private: boolean;
  /** Allows plain http and https to this machine. */
  readonly allow_loopback: boolean;
  /** Host and port that this service is reached at: it does not send to itself. */
  readonly own_host?: string;
};

/** The settings that the policy follows from. */
type Sending = {
  readonly is_public: boolean;
  readonly webhook_allow_private: boolean;
  readonly database_url: string | undefined;
  readonly base_url: string;
};

/**
 * The policy of this process. Loopback is allowed without DATABASE_URL, while only this machine can
 * call: else others who have a token could read what its services answer, from the log of
 * deliveries. Private addresses are allowed by the operator alone.
 */
export function addressPolicy(config: Sending): AddressPolicy {
  const own = parsedUrl(config.base_url);
  return {
    allow_private: config.webhook_allow_private,
    allow_loopback: config.database_url === undefined && !config.is_public,
    ...(own !== undefined && { own_host: own.host }),
  };
}

export type UrlCheck =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: string };

const URL_CHARS_MAX = 2048;
const HTTP_PORT = 80;
const HTTPS_PORT = 443;
/** Ports below are those of other services of a machine, mail and databases among them. */
const UNPRIVILEGED_PORT_MIN = 1024;
const LOCAL_SUFFIXES = [".local", ".internal", ".localhost", ".home.arpa"];

// The first class with a range that holds an address decides; what none holds is reserved. A mapped
// address (::ffff:a.b.c.d) is in the ranges of the IPv4 address it stands for.
const CLASSES = [
  classOf("reserved", [
    // Metadata services of clouds, before the private ranges they lie in: no switch may ever open
    // the way to them. Those under 169.254.0.0/16 are link-local.
    "100.100.100.200/32",
    "168.63.129.16/32",
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
    "0.0.0.0/8",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    // 2001::/23 and 2002::/16 embed an IPv4 address (Teredo, 6to4) for a gateway to unpack.
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
  ]),
  classOf("loopback", ["127.0.0.0/8", "::1/128"]),
  classOf("private", [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
  ]),
  classOf("link_local", ["169.254.0.0/16", "fe80::/10", "fec0::/10"]),
  // IPv6 has given out only 2000::/3 for the public internet. The other forms that embed an IPv4
  // address (compatible, translated, NAT64) lie outside of it.
  classOf("public", ["0.0.0.0/0", "2000::/3"]),
];

function classOf(name: AddressClass, ranges: readonly string[]) {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits] = range.split("/");
    list.addSubnet(network, Number(bits), familyOf(network));
  }
  return { name, list };
}

function familyOf(ip: string): "ipv4" | "ipv6" {
  return isIPv4(ip) ? "ipv4" : "ipv6";
}

/**
 * The class of an address in text form. IPv4 is four plain decimal numbers: the shorter and octal
 * forms are the URL parser's to resolve. IPv6 has no zone.
 */
export function classifyAddress(ip: string): AddressClass {
  if (isIP(ip) === 0 || ip.includes("%")) return "invalid";
  const address = new SocketAddress({ address: ip, family: familyOf(ip) });
  return CLASSES.find(({ list }) => list.check(address))?.name ?? "reserved";
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

/** The host without a final dot, which names the same host. */
function hostName(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}
