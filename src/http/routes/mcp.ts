// The tool endpoint for agents: JSON-RPC 2.0 over POST, and what it offers over GET.

import type { Context } from "../../context.ts";
import { Refusal, refuse } from "../../errors.ts";
import { recordPayment } from "../../operations/money/record-payment.ts";
import { McpInfo, RpcAnswer, RpcRequest } from "../../schema/mcp.ts";
import type { Payment, PaymentCreate } from "../../schema/payments.ts";
import { VERSION } from "../../version.ts";
import { answerRpc, METHODS } from "../mcp/protocol.ts";
import { type Arguments, callRoutes, type RestAnswer, type Tool, toolsOf } from "../mcp/tools.ts";
import { PROTOCOL_VERSIONS } from "../mcp/versions.ts";
import { mayDo } from "../request/auth.ts";
import { JSON_TYPE } from "../responses.ts";
import {
  type Call,
  Content,
  ownTransactions,
  Reply,
  type Route,
  type RouteRequest,
  read,
} from "../route.ts";

const tag = "Tools";
const BODY_MAX = 256 * 1024;
const INFO = { name: "dues", title: "dues billing", version: VERSION };
const OFFERED = {
  ...INFO,
  description: "Tools for reading billing records and recording payments.",
  protocol: "JSON-RPC 2.0, Model Context Protocol",
  transport: "streamable-http",
};
const EXAMPLE = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "get_wallet", arguments: { customer_id: "ext:acme" } },
};

/** `table` is asked for late: the tools are made of the routes that stand beside these. */
export function mcpRoutes(table: () => readonly Route[]): Route[] {
  let made: readonly Tool[] | undefined;
  const tools = () => {
    made ??= toolsOf(table());
    return made;
  };

  const post = ownTransactions({
    method: "POST",
    path: "/v1/mcp",
    id: "createMcp",
    tag,
    summary: "Call tools (JSON-RPC 2.0, MCP)",
    description:
      "For plain HTTP and for MCP clients over Streamable HTTP. A tool that fails is a result with isError true and the error object of this API. To a client that names its version in MCP-Protocol-Version, faults of version and method are JSON-RPC errors with status 400 and 404.",
    scope: "read",
    project: "required",
    body: RpcRequest,
    body_optional: true,
    body_max: BODY_MAX,
    unparsed: true,
    reply: [200, RpcAnswer],
    also: { 202: null },
    example: EXAMPLE,
    async handle(call) {
      checkOrigin(call.context, call.request);
      const run = (tool: Tool, given: Arguments) => runTool(call, tool, given);
      const server = { tools: tools(), info: INFO, run };
      const { status, reply } = await answerRpc(server, call.bytes, call.request.headers);
      return new Reply(status, reply && new Content(JSON_TYPE, JSON.stringify(reply)));
    },
  });

  const get = read({
    method: "GET",
    path: "/v1/mcp",
    id: "getMcp",
    errors: ["method_not_allowed"],
    tag,
    summary: "What the tool endpoint offers",
    description:
      "Name, version, methods and tools, without a session. Each tool names the scope that it needs.",
    scope: "read",
    project: "required",
    reply: [200, McpInfo],
    async handle({ context, request, project }) {
      checkOrigin(context, request);
      // An MCP client asks for a stream of messages from the server: there is none.
      if (/^text\/event-stream\b/.test(request.headers.accept ?? "")) {
        throw refuse("method_not_allowed", "There is no event stream here: POST each message.", {
          headers: { allow: "POST" },
        });
      }
      return {
        ...OFFERED,
        protocol_versions: [...PROTOCOL_VERSIONS],
        endpoint: `${context.config.base_url}/v1/mcp`,
        methods: [...METHODS],
        client_config: clientConfig(context, project),
        tools: tools().map(({ name, description, scope }) => ({ name, description, scope })),
      };
    },
  });

  return [post, get];
}

/** The configuration that most agents take; the token is the one thing left to put in. */
function clientConfig({ config }: Context, project: string) {
  const headers = { Authorization: "Bearer <API_KEY>", "X-Project-Id": project };
  return {
    mcpServers: { dues: { type: "http", url: `${config.base_url}/v1/mcp`, headers } },
  };
}

/** Refuses what a page in somebody's browser asks of a server on that somebody's machine. */
function checkOrigin({ config }: Context, { headers: { origin } }: RouteRequest): void {
  if (origin === undefined) return;
  if (URL.canParse(config.base_url) && origin === new URL(config.base_url).origin) return;
  throw refuse("forbidden", "Calls from pages of another origin are not allowed.");
}

type McpCall = Call<unknown, unknown, "read", "required">;

async function runTool(call: McpCall, tool: Tool, given: Arguments): Promise<RestAnswer> {
  const { context, actor, request, project } = call;
  const key = request.headers["idempotency-key"];
  const callRoute = callRoutes(call, typeof key === "string" ? key : undefined);
  let status = 500;
  try {
    if (!mayDo(actor, tool.scope)) {
      throw refuse("forbidden", `The token needs the scope "${tool.scope}" for this call.`);
    }
    tool.check(given);
    const isDry = tool.name === "record_payment" && given.dry_run === true;
    const answer = isDry ? await tryPayment(call, given) : await tool.run(callRoute, given);
    status = answer.status;
    return answer;
  } catch (error) {
    if (error instanceof Refusal) status = error.status;
    throw error;
  } finally {
    const { token_id } = actor;
    const fields = { request_id: request.id, tool: tool.name, token_id, project_id: project };
    context.log.info({ ...fields, status, via: "mcp" }, "tool call");
  }
}

/** Carries the payment out of the transaction that is undone. */
class Undo extends Error {
  readonly payment: Payment;
  constructor(payment: Payment) {
    super("A dry run is undone.");
    this.payment = payment;
  }
}

/** Does everything that recording does, and undoes it. */
async function tryPayment(call: McpCall, given: Arguments): Promise<RestAnswer> {
  const { context, project, by, now } = call;
  const { dry_run: _dry_run, ...body } = given;
  try {
    await context.db.forProject(project).tx(async (tx) => {
      const input = body as PaymentCreate;
      const { payment } = await recordPayment(tx, project, input, by, now);
      throw new Undo(payment);
    });
  } catch (error) {
    if (error instanceof Undo)
      return { status: 200, body: { payment: error.payment, dry_run: true } };
    throw error;
  }
  throw new Error("A dry run is always undone.");
}
