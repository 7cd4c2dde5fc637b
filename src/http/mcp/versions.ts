// The versions of the Model Context Protocol, and what the newest asks of a request: it names its
// version itself, and headers repeat parts of it.

import type { IncomingHttpHeaders } from "node:http";
import { RpcFault } from "./rpc-fault.ts";

/** Requests stand by themselves: no handshake, no batches. */
export const NEWEST = "2026-07-28";
/** Agreed on by `initialize`. */
export const HANDSHAKE_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
export const PROTOCOL_VERSIONS: readonly string[] = [NEWEST, ...HANDSHAKE_VERSIONS];
/** Whoever names one of these by a header knows no batches; without the header they are taken. */
const WITHOUT_BATCHES: readonly string[] = [NEWEST, "2025-11-25", "2025-06-18"];

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY = "io.modelcontextprotocol/serverInfo";

/** How long a client may keep what is the same for as long as this process runs. */
const KEPT_MS = 300_000;
const KEPT_METHODS = ["tools/list", "server/discover"];

export type RpcHeaders = IncomingHttpHeaders;

type Fields = Readonly<Record<string, unknown>>;
type Request = { readonly method: string; readonly params: Fields };

export function checkBatch(headers: RpcHeaders, messages: readonly unknown[]): void {
  const named = versionIn(headers);
  if (WITHOUT_BATCHES.includes(named ?? "") || messages.some(namesVersion)) {
    throw new RpcFault("request", `Version ${named ?? NEWEST} has no batches.`, { status: 400 });
  }
  if (headers["idempotency-key"] === undefined) return;
  const message = "An Idempotency-Key is for one call: send each call of the batch by itself.";
  throw new RpcFault("request", message);
}

/** Whether a request is one of the newest version, whose headers and `_meta` must then be right. */
export function isNewest(headers: RpcHeaders, { method, params }: Request): boolean {
  const named = versionIn(headers);
  if (named !== undefined && !PROTOCOL_VERSIONS.includes(named)) throw unsupported(named);
  const meta = fieldsOf(params._meta);
  if (!(VERSION_KEY in meta)) {
    if (named !== NEWEST) return false;
    throw metaFault(`${VERSION_KEY} is missing`);
  }
  const claimed = meta[VERSION_KEY];
  if (typeof claimed !== "string") throw metaFault(`${VERSION_KEY} must be text`);
  if (claimed !== NEWEST) throw unsupported(claimed);
  if (!isObject(meta[CAPABILITIES_KEY])) throw metaFault(`${CAPABILITIES_KEY} must be an object`);
  sameInHeader("MCP-Protocol-Version", named, claimed);
  sameInHeader("Mcp-Method", headers["mcp-method"], method);
  if (method === "tools/call") sameInHeader("Mcp-Name", headers["mcp-name"], params.name);
  return true;
}

/** What the newest version has in each result, besides what a method answers. */
export function ofNewest(method: string, result: object, server: object): object {
  const kept = KEPT_METHODS.includes(method) ? { ttlMs: KEPT_MS, cacheScope: "private" } : {};
  return { ...result, ...kept, resultType: "complete", _meta: { [SERVER_KEY]: server } };
}

function versionIn(headers: RpcHeaders): string | undefined {
  return textIn(headers["mcp-protocol-version"]);
}

function namesVersion(message: unknown): boolean {
  return VERSION_KEY in fieldsOf(fieldsOf(fieldsOf(message).params)._meta);
}

/** A header that is not sent is no fault: whoever posts JSON by hand need not know them. */
function sameInHeader(name: string, sent: string | string[] | undefined, value: unknown): void {
  const said = decoded(textIn(sent));
  if (said === undefined || said === value) return;
  throw new RpcFault("header", `The header ${name} says ${said}, the message says otherwise.`, {
    status: 400,
  });
}

function textIn(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header.trim() : undefined;
}

/** Names that a header cannot carry come as `=?base64?…?=`. */
function decoded(text: string | undefined): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(text ?? "") ?? [];
  return base64 === undefined ? text : Buffer.from(base64, "base64").toString();
}

function unsupported(requested: string): RpcFault {
  const shown = requested.slice(0, 32);
  const message = `Version ${shown} is not spoken. There are ${PROTOCOL_VERSIONS.join(", ")}.`;
  const data = { supported: PROTOCOL_VERSIONS, requested: shown };
  return new RpcFault("version", message, { status: 400, data });
}

function metaFault(what: string): RpcFault {
  const message = `Requests of version ${NEWEST} name it in params._meta: ${what}.`;
  return new RpcFault("params", message, { status: 400 });
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
