// The HTTP client of webhooks: checks every address before and after it connects, follows no
// redirects. The deadline and the response belong to webhook-attempt.ts.

import { lookup, Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import {
  type AddressPolicy,
  checkWebhookUrl,
  classifyAddress,
  permits,
} from "../domain/addresses.ts";
import { ATTEMPT_MAX_MS } from "../domain/webhooks.ts";
import { skipContinue } from "./skip-continue.ts";
import { type AttemptOutcome, WebhookAttempt } from "./webhook-attempt.ts";

const CONNECT_MS = 3_000;
const DNS_MS = 1_500;
const KEEP_ALIVE_MS = 10_000;
const HEADER_BYTES_MAX = 16 * 1024;
const URLS_REMEMBERED = 1_000;

export type WebhookRequest = {
  readonly url: string;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
};

class BlockedAddress extends Error {
  readonly code = "BLOCKED_ADDRESS";
}

class Unresolved extends Error {
  readonly code = "UNRESOLVED";
}

/** Returns every address of a host name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A URL that passed the checks, in the parts that undici takes. */
type Target = { readonly origin: string; readonly path: string };

export class WebhookClient {
  readonly #policy: AddressPolicy;
  readonly #agent: Agent;
  readonly #targets = new Map<string, Target>();

  constructor(policy: AddressPolicy, resolve: Resolve = resolverFor(policy)) {
    this.#policy = policy;
    this.#agent = new Agent({
      connect: guardedConnector(policy, resolve),
      // No limit by host: many tenants may have the same one, and those that hang there would hold
      // up the others. How many there are is bounded by endpoint and project: endpoint-windows.ts.
      connections: null,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: ATTEMPT_MAX_MS,
      bodyTimeout: ATTEMPT_MAX_MS,
    });
  }

  /** Never rejects: a failure is an outcome with its `error`. */
  send({ url, body, headers }: WebhookRequest): Promise<AttemptOutcome> {
    return new Promise((resolve) => {
      const attempt = new WebhookAttempt(resolve);
      try {
        const { origin, path } = this.#targetOf(url);
        this.#agent.dispatch({ origin, path, method: "POST", headers, body }, attempt);
      } catch (error) {
        attempt.fail(error);
      }
    });
  }

  /**
   * Checked again although the endpoint was checked when it was saved: the settings may have been
   * changed by a restart since. Kept per URL, as the policy of a running process does not change.
   */
  #targetOf(url: string): Target {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const checked = checkWebhookUrl(url, this.#policy);
    if (!checked.ok) throw new BlockedAddress(checked.reason);
    const { origin, pathname, search } = checked.url;
    const target = { origin, path: pathname + search };
    if (this.#targets.size >= URLS_REMEMBERED) this.#targets.clear();
    this.#targets.set(url, target);
    return target;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/**
 * Refuses a connection unless every address of the name is allowed, and the one that the socket is
 * connected to as well.
 */
function guardedConnector(policy: AddressPolicy, resolve: Resolve) {
  const connect = buildConnector({ timeout: CONNECT_MS, lookup: guardedLookup(policy, resolve) });
  return (options: buildConnector.Options, callback: buildConnector.Callback) => {
    const literal = options.hostname.replace(/^\[|\]$/g, "");
    if (isIP(literal) !== 0 && !permits(policy, classifyAddress(literal))) {
      callback(new BlockedAddress(literal), null);
      return;
    }
    connect(options, (...result: Parameters<buildConnector.Callback>) => {
      const [error, socket] = result;
      if (error === null && !permits(policy, classifyAddress(socket.remoteAddress ?? ""))) {
        socket.destroy();
        callback(new BlockedAddress("The connected address is not allowed."), null);
        return;
      }
      if (error === null) skipContinue(socket);
      callback(...result);
    });
  };
}

function guardedLookup(policy: AddressPolicy, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const isAllowed = found.every((address) => permits(policy, classifyAddress(address)));
        if (!isAllowed || found.length === 0) {
          const message = `${hostname} has an address that is not allowed.`;
          return callback(new BlockedAddress(message), [], 0);
        }
        const addresses = found.map((address) => ({ address, family: isIP(address) }));
        if (options.all) return callback(null, addresses);
        callback(null, addresses[0]?.address ?? "", addresses[0]?.family ?? 0);
      },
      (error: Error) => callback(new Unresolved(error.message), [], 0),
    );
  };
}

/**
 * Localhost, and all names where private addresses are allowed, go to the system's resolver, which
 * reads the hosts file. Others go to the name servers directly: the system's resolver runs on four
 * threads for the whole process, and four slow names would stop it.
 */
function resolverFor(policy: AddressPolicy): Resolve {
  const resolver = new Resolver({ timeout: DNS_MS, tries: 1 });
  return async (hostname) => {
    if (policy.allow_private || /(^|\.)localhost\.?$/i.test(hostname)) {
      return (await lookup(hostname, { all: true })).map(({ address }) => address);
    }
    return resolveAddresses(resolver, hostname);
  };
}

/** IPv4 and IPv6 addresses. Fails only when neither is found. */
export async function resolveAddresses(resolver: Resolver, hostname: string): Promise<string[]> {
  const [four, six] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  const found = [four, six].flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  if (found.length === 0 && four.status === "rejected") throw four.reason;
  return found;
}
