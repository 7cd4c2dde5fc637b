// `dues mcp`: the tools of /v1/mcp for agents that start a program and talk to it over its input
// and output. A bridge: each message is passed on with the profile's token and project, and the
// answer back. Nothing but the protocol is written to the output.

import { PassThrough } from "node:stream";
import type { Command } from "commander";
import type { Dues } from "../client/dues.ts";
import { DuesError } from "../client/error.ts";
import { remote, withConnection } from "./command.ts";
import { CliError, type Io } from "./io.ts";
import type { ConnectionFlags } from "./profile.ts";

/** Codes of JSON-RPC 2.0. Of those that are left to servers, one that the SDK does not use. */
const INVALID_REQUEST = -32600;
const SERVER_ERROR = -32010;

export function mcpCommand(io: Io): Command {
  return remote("mcp", "Serve the service's tools to an agent over input and output (MCP).", [
    ["claude mcp add dues -- npx dues mcp", "Claude Code starts it from then on"],
    ["dues mcp --project main/prod", "the command that other agents are given"],
  ])
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

type Message = { readonly jsonrpc: "2.0"; readonly id?: string | number | undefined };

/** Resolves when the input has ended and every request is answered. */
export async function bridge(io: Io, dues: Dues): Promise<void> {
  const { StdioServerTransport } = await import("@modelcontextprotocol/server/stdio");
  // The transport closes with its input and drops what is not answered: its input ends later.
  const input = new PassThrough();
  const transport = new StdioServerTransport(input, io.stdout);
  const say = (error: unknown) => io.err(`dues mcp: ${(error as Error).message}\n`);
  const send = (message: object) =>
    transport.send(message as Parameters<typeof transport.send>[0]).catch(say);
  const waiting = new Set<Promise<void>>();
  transport.onmessage = (message: Message) => {
    const answered = answer(dues, message).then((reply) => {
      if (reply !== undefined) return send(reply);
      return undefined;
    });
    const done = answered.catch(say).finally(() => waiting.delete(done));
    waiting.add(done);
  };
  transport.onerror = (error) => {
    const message = "The message is not one of JSON-RPC 2.0.";
    say(error);
    void send(failure(null, INVALID_REQUEST, message));
  };
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  await transport.start();
  io.stdin.on("data", (chunk: Buffer | string) => input.write(chunk));
  io.stdin.once("error", () => input.end());
  io.stdin.once("end", async () => {
    // What was read last may still have to be taken from the pipe.
    await new Promise(setImmediate);
    while (waiting.size > 0) await Promise.all(waiting);
    input.end();
  });
  await closed;
}

async function answer(dues: Dues, message: Message): Promise<object | undefined> {
  try {
    return (await dues.createMcp(message)) as object | undefined;
  } catch (error) {
    // A notification has no id to be answered by; its failure is only said.
    if (message.id === undefined || !(error instanceof DuesError)) throw error;
    const { status, code, retryable, details, request_id } = error;
    const data = { status, code, retryable, details, request_id };
    return failure(message.id, SERVER_ERROR, error.message, data);
  }
}

function failure(id: string | number | null, code: number, message: string, data?: object) {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } };
}
