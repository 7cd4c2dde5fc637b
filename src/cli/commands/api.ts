// `dues api <method> <path>`: any call of the API with the profile's token and project, as
// `gh api` does. What has a command of its own has one; this one reaches all the rest.

import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import { DuesError, errorOf, withoutPassword } from "../../client/error.ts";
import { remote, withConnection } from "../connection/command.ts";
import { baseOf, type Connection, type ConnectionFlags } from "../connection/profile.ts";
import type { Declared } from "../terminal/effects.ts";
import { writeWhole } from "../terminal/files.ts";
import { CliError, type Io, writeRaw } from "../terminal/io.ts";
import { visibleJson } from "../terminal/visible.ts";

type Pair = readonly [name: string, value: string];

type Flags = ConnectionFlags & {
  readonly data?: string;
  readonly query?: readonly Pair[];
  readonly header?: readonly Pair[];
  readonly include?: boolean;
  readonly output?: string;
  readonly paginate?: boolean;
};

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
const PAGE = "100";
/** Paths that the service has beside /v1. */
const OUTSIDE = /^(v1|portal|docs|healthz|readyz|metrics|openapi\.json)([/?]|$)/;

/** A method that only reads, printed. */
const apiEffect: Declared = ({ data, output }, [first = "", second]) => {
  const method = methodOf(first, second, data);
  return output === undefined && /^(get|head)$/i.test(method) ? "reads" : "writes";
};

function methodOf(first: string, second: string | undefined, data: unknown): string {
  if (second !== undefined) return first;
  return data === undefined ? "GET" : "POST";
}

export function apiCommand(io: Io): Command {
  const made = remote(
    "api",
    apiEffect,
    "Call the API: any method and path, with your token and project.",
    [
      ["dues api get customers", "GET /v1/customers; what answers is printed"],
      ["dues api get invoices -q status=overdue --paginate", "every page, as one list"],
      ['dues api post customers -d \'{"external_id":"a","name":"A"}\'', "a body"],
      ["dues api put settings -d @settings.json", "a body from a file; -d - from the input"],
      ["dues api get invoices/<id>/document.pdf -o invoice.pdf", "into a file"],
    ],
  )
    .argument("<method>", `${METHODS.join(", ").toLowerCase()}; left out: get, or post with -d`)
    .argument("[path]", "with or without /v1")
    .option("-d, --data <json>", "the body: JSON, @file, or - for the input")
    .option("-q, --query <key=value>", "a query parameter; may be given again", queryPair)
    .option("-H, --header <name: value>", "a header; may be given again", headerPair)
    .option("-i, --include", "print status and headers of the answer too")
    .option("-o, --output <file>", "write the answer to this file")
    .option("--paginate", "follow a list to its end and print all of it")
    .addHelpText(
      "after",
      `
JSON is indented on a terminal and printed as it came elsewhere. An error of the API is printed
like any answer, its sentence goes to the error output, and the exit code is that of other commands.`,
    );
  return made.action(
    withConnection<Flags>(io, async (connection, flags, first = "", second) => {
      const call = await callOf(io, connection, flags, first, second);
      if (flags.paginate) return paginate(io, call);
      await print(io, flags, call, await send(call));
    }),
  );
}

function queryPair(text: string, before: readonly Pair[] = []): Pair[] {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Takes key=value.");
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

function headerPair(text: string, before: readonly Pair[] = []): Pair[] {
  const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError('Takes "Name: value".');
  return [...before, [name, value]];
}

type ApiCall = {
  readonly method: string;
  readonly base_url: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly fetch: typeof fetch;
};

async function callOf(
  io: Io,
  { profile }: Connection,
  flags: Flags,
  first: string,
  second: string | undefined,
): Promise<ApiCall> {
  const body = flags.data === undefined ? undefined : await bodyOf(io, flags.data);
  const method = methodOf(first, second, body);
  const path = second ?? first;
  const verb = method.toUpperCase();
  if (!METHODS.includes(verb)) {
    throw new CliError("usage", `There is no method ${method}.`, METHODS.join(", "));
  }
  if (flags.paginate && (verb !== "GET" || flags.output !== undefined)) {
    throw new CliError("usage", "--paginate prints a list, so it goes with get, without --output.");
  }
  const url = urlOf(profile.base_url, path);
  for (const [name, value] of flags.query ?? []) url.searchParams.append(name, value);
  const headers = new Headers({ authorization: `Bearer ${profile.token}` });
  if (profile.project_id !== undefined) headers.set("x-project-id", profile.project_id);
  if (body !== undefined) headers.set("content-type", "application/json");
  for (const [name, value] of flags.header ?? []) headers.set(name, value);
  const { base_url } = profile;
  return { method: verb, base_url, url, headers, body, fetch: io.fetch ?? fetch };
}

/** The token is for this service: another address is refused rather than called. */
function urlOf(base_url: string, path: string): URL {
  const base = baseOf(base_url);
  if (path === "")
    throw new CliError("usage", "Which path?", "For example: dues api get customers");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path) && !path.startsWith(`${base}/`)) {
    const hint = `Paths are those of ${base}; --url names another service.`;
    const shown = withoutPassword(path);
    throw new CliError("usage", `${shown} is not an address of this service.`, hint);
  }
  const rest = (path.startsWith(`${base}/`) ? path.slice(base.length) : path).replace(/^\/+/, "");
  return new URL(`${base}/${OUTSIDE.test(rest) ? rest : `v1/${rest}`}`);
}

async function bodyOf(io: Io, data: string): Promise<string> {
  const text = await textOf(io, data);
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new CliError("usage", `The body is not JSON: ${(error as Error).message}`);
  }
}

async function textOf(io: Io, data: string): Promise<string> {
  if (data === "-") {
    let text = "";
    for await (const chunk of io.stdin) text += String(chunk);
    return text;
  }
  if (!data.startsWith("@")) return data;
  try {
    return readFileSync(data.slice(1), "utf8");
  } catch (error) {
    throw new CliError("failed", `The body cannot be read: ${(error as Error).message}`);
  }
}

type Answer = { readonly response: Response; readonly bytes: Uint8Array; readonly type: string };

async function send(call: ApiCall): Promise<Answer> {
  const { method, url, headers, body } = call;
  try {
    const response = await call.fetch(url.href, {
      method,
      headers,
      redirect: "manual" as const,
      ...(body !== undefined && { body }),
    });
    const type = response.headers.get("content-type") ?? "";
    return { response, bytes: new Uint8Array(await response.arrayBuffer()), type };
  } catch (cause) {
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const reason = inner instanceof Error ? inner.message : String(inner);
    const message = `No answer from ${call.base_url}: ${reason || "no connection"}`;
    throw new DuesError({ status: 0, code: "network_error", message, retryable: true, cause });
  }
}

async function print(io: Io, flags: Flags, call: ApiCall, answer: Answer): Promise<void> {
  const { response, bytes, type } = answer;
  if (flags.include) {
    const lines = [...response.headers].map(([name, value]) => `${name}: ${value}\n`);
    io.out(`HTTP ${response.status} ${response.statusText}\n${lines.join("")}\n`);
  }
  if (response.ok && flags.output !== undefined) {
    await writeWhole(flags.output, { replace: true }, (put) => put(bytes));
  } else if (bytes.length > 0) await printBody(io, bytes, type);
  if (!response.ok) throw refusal(call, answer);
}

function refusal({ url }: ApiCall, { response, bytes }: Answer): DuesError {
  const { status, headers } = response;
  return errorOf(status, new TextDecoder().decode(bytes), url.href, headers.get("location"));
}

async function printBody(io: Io, bytes: Uint8Array, type: string): Promise<void> {
  if (!io.terminal) return writeRaw(io.stdout, bytes);
  const text = new TextDecoder().decode(bytes);
  if (type.startsWith("application/json")) {
    io.out(`${visibleJson(JSON.stringify(JSON.parse(text), null, 2))}\n`);
  } else if (type.startsWith("text/")) io.out(text.endsWith("\n") ? text : `${text}\n`);
  else {
    const words = `The answer is ${bytes.length} bytes of ${type || "something unnamed"}.`;
    throw new CliError("usage", words, "Write it to a file with --output, or into a pipe.");
  }
}

type Page = Readonly<Record<string, unknown>> & {
  readonly has_more?: boolean;
  readonly cursor?: string | null;
};

/**
 * All pages as one list, printed while it is read: it need not fit into memory. By cursor alone,
 * which rows that come or go meanwhile do not shift.
 */
async function paginate(io: Io, call: ApiCall): Promise<void> {
  const { url } = call;
  const put = (text: string) =>
    io.terminal ? Promise.resolve(io.out(visibleJson(text))) : writeRaw(io.stdout, text);
  const [indent, line, space] = io.terminal ? [2, "\n", " "] : [0, "", ""];
  let [name, rows] = ["", 0];
  for (;;) {
    const page = await readPage(io, call);
    const list = Object.entries(page).find(([, value]) => Array.isArray(value));
    if (list === undefined) throw new CliError("usage", "The answer is not a list with pages.");
    if (name === "") {
      [name] = list;
      await put(`{${line}${" ".repeat(indent)}${JSON.stringify(name)}:${space}[`);
    }
    for (const row of list[1] as readonly unknown[]) {
      const text = JSON.stringify(row, null, indent).replaceAll(
        "\n",
        `\n${" ".repeat(indent * 2)}`,
      );
      await put(`${rows++ === 0 ? "" : ","}${line}${" ".repeat(indent * 2)}${text}`);
    }
    if (page.has_more !== true) break;
    if (typeof page.cursor !== "string") throw new Error("There is more, and no cursor to it.");
    // Only now, so that a path that is no list is asked as it was given.
    if (!url.searchParams.has("limit")) url.searchParams.set("limit", PAGE);
    url.searchParams.delete("offset");
    url.searchParams.set("cursor", page.cursor);
  }
  const end = `${line}${" ".repeat(indent)}],${line}${" ".repeat(indent)}`;
  await put(`${end}"has_more":${space}false${line}}\n`);
}

async function readPage(io: Io, call: ApiCall): Promise<Page> {
  const answer = await send(call);
  if (!answer.response.ok) {
    await printBody(io, answer.bytes, answer.type);
    throw refusal(call, answer);
  }
  if (!answer.type.startsWith("application/json")) return {};
  return JSON.parse(new TextDecoder().decode(answer.bytes)) as Page;
}
