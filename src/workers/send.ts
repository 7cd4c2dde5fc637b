// Posts one webhook: one absolute deadline over everything, guarded addresses, no redirects. What
// the receiver answers is untrusted: little of it is read and less is kept.

import { lookup, Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector, request } from "undici";
import { monotonicMs } from "../clock.ts";
import {
  type AddressPolicy,
  checkWebhookUrl,
  classifyAddress,
  permits,
} from "../domain/addresses.ts";

export const DEADLINE_MS = 10_000;
const CONNECT_MS = 3_000;
const DNS_MS = 1_500;
const KEEP_ALIVE_MS = 10_000;
const CONNECTIONS_PER_ORIGIN = 64;
const HEADER_BYTES_MAX = 16 * 1024;
const BODY_BYTES_MAX = 16 * 1024;
const BODY_MS = 250;
const EXCERPT_CHARS = 1_024;
const NO_CONTENT = 204;
/** What internal networks answer how fast is nobody's business. */
const DURATION_STEP_MS = 10;

export type SendError = "timeout" | "dns" | "tls" | "connection" | "blocked_address";

export type SendResult = {
  readonly http_status: number | null;
  readonly error: SendError | null;
  readonly duration_ms: number;
  readonly response_excerpt: string | null;
  readonly retry_after: string | null;
};

export type Outgoing = {
  readonly url: string;
  readonly body: string;
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

export class Sender {
  readonly #policy: AddressPolicy;
  readonly #agent: Agent;

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
  async send(outgoing: Outgoing): Promise<SendResult> {
    const started = monotonicMs();
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), DEADLINE_MS);
    try {
      // The policy may have changed since the endpoint was saved.
      const checked = checkWebhookUrl(outgoing.url, this.#policy);
      if (!checked.ok) throw new BlockedAddress(checked.reason);
      const answer = await request(checked.url, {
        method: "POST",
        dispatcher: this.#agent,
        headers: { ...outgoing.headers, "accept-encoding": "identity" },
        body: outgoing.body,
        signal: abort.signal,
      });
      const duration_ms = since(started);
      const { "retry-after": retry_after, "content-length": length } = answer.headers;
      const isEmpty = answer.statusCode === NO_CONTENT || length === "0";
      return {
        http_status: answer.statusCode,
        error: null,
        duration_ms,
        retry_after: typeof retry_after === "string" ? retry_after : null,
        response_excerpt: isEmpty ? await nothingOf(answer.body) : await excerptOf(answer.body),
      };
    } catch (error) {
      const duration_ms = since(started);
      const nothing = { http_status: null, response_excerpt: null, retry_after: null };
      return { ...nothing, error: errorOf(error, abort.signal), duration_ms };
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function since(started: number): number {
  return Math.round((monotonicMs() - started) / DURATION_STEP_MS) * DURATION_STEP_MS;
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

type Body = AsyncIterable<Buffer> & {
  destroy(): unknown;
  on(event: "error", f: () => void): unknown;
};

/** Most receivers say nothing more: then there is nothing to wait for or to keep. */
async function nothingOf(body: { dump(): Promise<void> }): Promise<null> {
  await body.dump().catch(() => {});
  return null;
}

/** A little of the answer, for people; a body that drips or never ends is left. */
async function excerptOf(body: Body): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  body.on("error", () => {});
  const timer = setTimeout(() => body.destroy(), BODY_MS);
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= BODY_BYTES_MAX) break;
    }
  } catch {
    // The status has been received; how the body ends changes nothing.
  } finally {
    clearTimeout(timer);
    if (size >= BODY_BYTES_MAX) body.destroy();
  }
  const text = printable(Buffer.concat(chunks).toString("utf8")).slice(0, EXCERPT_CHARS);
  return text === "" ? null : text.toWellFormed();
}

/** Without control characters, which a log must not carry. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (char) => (char === "\n" || char === "\t" ? char : ""));
}

const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_|EPROTO)/;

function errorOf(error: unknown, deadline: AbortSignal): SendError {
  if (deadline.aborted) return "timeout";
  const { code = "" } = error as { code?: string };
  if (code === "BLOCKED_ADDRESS") return "blocked_address";
  if (code === "UNRESOLVED") return "dns";
  if (/_TIMEOUT$/.test(code) || code === "ETIMEDOUT") return "timeout";
  if (TLS_CODE.test(code)) return "tls";
  return "connection";
}
