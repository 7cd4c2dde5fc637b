// Posts webhooks: one absolute deadline over everything, guarded addresses, no redirects.

import { lookup, Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import {
  type AddressPolicy,
  checkWebhookUrl,
  classifyAddress,
  permits,
} from "../domain/addresses.ts";
import { DEADLINE_MS, Exchange, type SendResult } from "./webhook-attempt.ts";

const CONNECT_MS = 3_000;
const DNS_MS = 1_500;
const KEEP_ALIVE_MS = 10_000;
const CONNECTIONS_PER_ORIGIN = 64;
const HEADER_BYTES_MAX = 16 * 1024;
const URLS_REMEMBERED = 1_000;

export type Outgoing = {
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

/** Every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A URL that passed, in the parts the client takes. */
type Target = { readonly origin: string; readonly path: string };

export class Sender {
  readonly #policy: AddressPolicy;
  readonly #agent: Agent;
  readonly #targets = new Map<string, Target>();

  constructor(policy: AddressPolicy, resolve: Resolve = resolverFor(policy)) {
    this.#policy = policy;
    this.#agent = new Agent({
      connect: guardedConnector(policy, resolve),
      connections: CONNECTIONS_PER_ORIGIN,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: DEADLINE_MS,
      bodyTimeout: DEADLINE_MS,
    });
  }

  /** Never throws: whatever happens is a result. */
  send({ url, body, headers }: Outgoing): Promise<SendResult> {
    return new Promise((resolve) => {
      const exchange = new Exchange(resolve);
      try {
        const { origin, path } = this.#targetOf(url);
        this.#agent.dispatch({ origin, path, method: "POST", headers, body }, exchange);
      } catch (error) {
        exchange.fail(error);
      }
    });
  }

  /** The policy may have changed since the endpoint was saved, though not since this was made. */
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

/** Every address that a name has, and the one that was connected to, must be allowed. */
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
          const words = `${hostname} has an address that is not allowed.`;
          return callback(new BlockedAddress(words), [], 0);
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
 * Names of this machine and of private networks are asked of the system, which knows its own hosts
 * file. All others go to the name servers directly: the system's resolver has four threads for the
 * whole process, and a few slow names would hold them all.
 */
function resolverFor(policy: AddressPolicy): Resolve {
  const resolver = new Resolver({ timeout: DNS_MS, tries: 1 });
  return async (hostname) => {
    if (policy.allow_private || /(^|\.)localhost\.?$/i.test(hostname)) {
      return (await lookup(hostname, { all: true })).map(({ address }) => address);
    }
    return resolveBoth(resolver, hostname);
  };
}

/** Addresses of both kinds; a name that has none of one kind is no failure. */
export async function resolveBoth(resolver: Resolver, hostname: string): Promise<string[]> {
  const [four, six] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  const found = [four, six].flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  if (found.length === 0 && four.status === "rejected") throw four.reason;
  return found;
}
