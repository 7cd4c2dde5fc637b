// `dues mcp`: the tools of /v1/mcp for agents that start a program and talk to it over its input
// and output. A bridge: each message is passed on with the profile's token and project, and the
// answer back. Nothing but the protocol is written to the output.

import { StringDecoder } from "node:string_decoder";
import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import { DuesError } from "../../client/error.ts";
import { remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { CliError, type Io, writeRaw } from "../terminal/io.ts";

/** Codes of JSON-RPC 2.0; of those that are left to servers, one that MCP gives no meaning. */
const PARSE_ERROR = -32700;
const SERVER_ERROR = -32010;
/** The service takes messages of 256 KiB. */
const LINE_MAX = 1024 * 1024;

export function mcpCommand(io: Io): Command {
  return remote(
    "mcp",
    "writes",
    "Serve the service's tools to an agent over input and output (MCP).",
    [
      ["claude mcp add dues -- npx dues mcp", "Claude Code starts it from then on"],
      ["dues mcp --project main/prod", "the command that other agents are given"],
    ],
  )
    .addHelpText(
      "after",
      `
The agent starts it; it ends with its input. It calls the service with the token and the project of
the profile: give an agent that only reads a token of its own (dues keys create --scopes read).`,
    )
    .action(
      withConnection<ConnectionFlags>(io, async ({ dues, profile }) => {
        if (profile.project_id === undefined) {
          throw new CliError("usage", "Which project?", "Name it with --project.");
        }
        await bridge(io, dues);
      }),
    );
}

/** Resolves when the input has ended and every request is answered. */
export async function bridge(io: Io, dues: Dues): Promise<void> {
  const waiting = new Set<Promise<void>>();
  const say = (error: unknown) => io.err(`dues mcp: ${(error as Error).message}\n`);
  for await (const line of linesOf(io.stdin)) {
    if (line.trim() === "") continue;
    const done = answer(dues, line)
      .then((reply) => reply && writeRaw(io.stdout, `${JSON.stringify(reply)}\n`))
      .catch(say)
      .finally(() => waiting.delete(done));
    waiting.add(done);
  }
  await Promise.all(waiting);
}

/** Parted by line feeds alone: the other ends of lines that Unicode has may stand in a text. */
async function* linesOf(input: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let begun = "";
  for await (const chunk of input) {
    const lines = (begun + decoder.write(Buffer.from(chunk))).split("\n");
    begun = lines.pop() ?? "";
    yield* lines;
    if (begun.length > LINE_MAX) {
      throw new CliError("failed", `A message has more than ${LINE_MAX} characters.`);
    }
  }
  yield begun + decoder.end();
}

async function answer(dues: Dues, line: string): Promise<object | undefined> {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return failure(null, PARSE_ERROR, "The line is not JSON.");
  }
  try {
    return (await dues.createMcp(message)) as object | undefined;
  } catch (error) {
    const { id } = Object(message) as { readonly id?: string | number };
    // A notification has no id to be answered by; its failure is only said.
    if (id === undefined || !(error instanceof DuesError)) throw error;
    const { status, code, retryable, details, request_id } = error;
    const data = { status, code, retryable, details, request_id };
    return failure(id, SERVER_ERROR, error.message, data);
  }
}

function failure(id: string | number | null, code: number, message: string, data?: object) {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } };
}
