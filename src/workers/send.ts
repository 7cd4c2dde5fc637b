// Posts one webhook: one absolute deadline over everything, guarded addresses, no redirects. What
// the receiver answers is untrusted: little of it is read and less is kept.

import { lookup as dnsLookup, type LookupAddress } from "node:dns";
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
const KEEP_ALIVE_MS = 10_000;
const CONNECTIONS_PER_ORIGIN = 64;
const HEADER_BYTES_MAX = 16 * 1024;
const BODY_BYTES_MAX = 16 * 1024;
const BODY_MS = 250;
const EXCERPT_CHARS = 1_024;
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

export class Sender {
  readonly #policy: AddressPolicy;
  readonly #agent: Agent;

  constructor(policy: AddressPolicy) {
    this.#policy = policy;
    this.#agent = new Agent({
      connect: guardedConnector(policy),
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
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      // The policy may have changed since the endpoint was saved.
      const checked = checkWebhookUrl(outgoing.url, this.#policy);
      if (!checked.ok) throw new BlockedAddress(checked.reason);
      const answer = await request(checked.url, {
        method: "POST",
        dispatcher: this.#agent,
        headers: { ...outgoing.headers, "accept-encoding": "identity" },
        body: outgoing.body,
        signal: deadline,
      });
      const http_status = answer.statusCode;
      const retry_after = answer.headers["retry-after"];
      return {
        http_status,
        error: null,
        duration_ms: since(started),
        retry_after: typeof retry_after === "string" ? retry_after : null,
        response_excerpt: await excerptOf(answer.body),
      };
    } catch (error) {
      const duration_ms = since(started);
      const nothing = { http_status: null, response_excerpt: null, retry_after: null };
      return { ...nothing, error: errorOf(error, deadline), duration_ms };
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
function guardedConnector(policy: AddressPolicy) {
  const connect = buildConnector({ timeout: CONNECT_MS, lookup: guardedLookup(policy) });
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

function guardedLookup(policy: AddressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    dnsLookup(hostname, { ...options, all: true }, (error, found) => {
      const addresses = found as LookupAddress[];
      if (error) return callback(error, [], 0);
      const bad = addresses.find(({ address }) => !permits(policy, classifyAddress(address)));
      if (bad !== undefined || addresses.length === 0) {
        return callback(
          new BlockedAddress(`${hostname} has an address that is not allowed.`),
          [],
          0,
        );
      }
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

type Body = AsyncIterable<Buffer> & {
  destroy(): unknown;
  on(event: "error", f: () => void): unknown;
};

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
  const { code = "", name = "" } = error as { code?: string; name?: string };
  if (code === "BLOCKED_ADDRESS") return "blocked_address";
  if (name === "TimeoutError" || /_TIMEOUT$/.test(code) || code === "ETIMEDOUT") return "timeout";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "ENODATA") return "dns";
  if (TLS_CODE.test(code)) return "tls";
  return "connection";
}
