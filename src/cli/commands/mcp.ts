// `dues mcp`: the tools of /v1/mcp for agents that start a program and talk to it over its input
// and output. A bridge: each message is passed on with the profile's token and project, and the
// answer back. Nothing but the protocol is written to the output.

import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import { DuesError } from "../../client/error.ts";
import { remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { CliError, type Io, writeRaw } from "../terminal/io.ts";
import { linesOf } from "../terminal/lines.ts";

/** A code of JSON-RPC 2.0 itself. */
const PARSE_ERROR = -32700;
/** One of the codes that are left to servers, to which MCP gives no meaning. */
const SERVER_ERROR = -32010;
/** The longest message that is passed on; the service takes 256 KiB and says so. */
const MESSAGE_MAX = 1024 * 1024;

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

/** Passes messages on until the input has ended and every request is answered. */
export async function bridge(io: Io, dues: Dues): Promise<void> {
  const waiting = new Set<Promise<void>>();
  const say = (error: unknown) => io.err(`dues mcp: ${(error as Error).message}\n`);
  for await (const line of linesOf(io.stdin, MESSAGE_MAX)) {
    if (line.trim() === "") continue;
    if (line.length > MESSAGE_MAX) {
      throw new CliError("failed", `A message has more than ${MESSAGE_MAX} characters.`);
    }
    const done = answer(dues, line)
      .then((reply) => reply && writeRaw(io.stdout, `${JSON.stringify(reply)}\n`))
      .catch(say)
      .finally(() => waiting.delete(done));
    waiting.add(done);
  }
  await Promise.all(waiting);
}

/** What the service answers to a message; undefined to a notification. */
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
