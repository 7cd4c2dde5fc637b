// The tool endpoint for agents: JSON-RPC 2.0 over POST, and what it offers over GET.

import type { Context } from "../../context.ts";
import { Refusal, refuse } from "../../errors.ts";
import { recordPayment } from "../../operations/record-payment.ts";
import { McpInfo, RpcAnswer, RpcRequest } from "../../schema/mcp.ts";
import { type Payment, PaymentCreate } from "../../schema/payments.ts";
import { VERSION } from "../../version.ts";
import { mayDo } from "../auth.ts";
import { answerRpc, METHODS, PROTOCOL_VERSIONS } from "../mcp/protocol.ts";
import { checkArguments } from "../mcp/tool-schemas.ts";
import { type Arguments, callRoutes, type RestAnswer, type Tool, toolsOf } from "../mcp/tools.ts";
import { JSON_TYPE } from "../responses.ts";
import { type Call, Content, own, Reply, type Route, type RouteRequest, read } from "../route.ts";
import { checker } from "../validation.ts";
import { byCaller } from "../views.ts";

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
const checkPayment = checker(PaymentCreate, "body");

/** `table` is asked for late: the tools are made of the routes that stand beside these. */
export function mcpRoutes(table: () => readonly Route[]): Route[] {
  let made: readonly Tool[] | undefined;
  const tools = () => {
    made ??= toolsOf(table());
    return made;
  };

  const post = own({
    method: "POST",
    path: "/v1/mcp",
    id: "createMcp",
    errors: ["bad_request"],
    tag,
    summary: "Call tools (JSON-RPC 2.0, MCP)",
    description:
      "For plain HTTP and for MCP clients over Streamable HTTP. A tool that fails is a result with isError true and the error object of this API.",
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
      checkProtocol(call.request);
      const run = (tool: Tool, given: Arguments, alone: boolean) =>
        runTool(call, tool, given, alone);
      const answer = await answerRpc({ tools: tools(), info: INFO, run }, call.bytes);
      if (answer === undefined) return new Reply(202, undefined);
      return new Reply(200, new Content(JSON_TYPE, JSON.stringify(answer)));
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

/** As most agents take it; the token is the one thing that it does not know. */
function clientConfig({ config }: Context, project: string) {
  const headers = { Authorization: "Bearer <API_KEY>", "X-Project-Id": project };
  return {
    mcpServers: { dues: { type: "http", url: `${config.base_url}/v1/mcp`, headers } },
  };
}

/** A page in somebody's browser must not reach a server on that somebody's machine. */
function checkOrigin({ config }: Context, { headers: { origin } }: RouteRequest): void {
  if (origin === undefined) return;
  if (URL.canParse(config.base_url) && origin === new URL(config.base_url).origin) return;
  throw refuse("forbidden", "Calls from pages of another origin are not allowed.");
}

function checkProtocol({ headers }: RouteRequest): void {
  const version = headers["mcp-protocol-version"];
  if (version === undefined || PROTOCOL_VERSIONS.some((known) => known === version)) return;
  throw refuse(
    "bad_request",
    `MCP-Protocol-Version must be one of ${PROTOCOL_VERSIONS.join(", ")}.`,
  );
}

type McpCall = Call<unknown, unknown, "read", "required">;

async function runTool(
  call: McpCall,
  tool: Tool,
  given: Arguments,
  alone: boolean,
): Promise<RestAnswer> {
  const { context, actor, request, project } = call;
  const key = request.headers["idempotency-key"];
  // One key means one effect: in a batch it would mean several.
  const callRoute = callRoutes(call, alone && typeof key === "string" ? key : undefined);
  const dry = tool.name === "record_payment" && given.dry_run === true;
  let status = 500;
  try {
    checkArguments(tool.inputSchema, given);
    const answer = dry ? await tryPayment(call, given) : await tool.run(callRoute, given);
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
  const { context, project, actor, now } = call;
  if (!mayDo(actor, "write")) {
    throw refuse("forbidden", 'The token needs the scope "write" for this call.');
  }
  const { dry_run: _dry_run, ...body } = given;
  checkPayment(body);
  try {
    await context.db.forProject(project).tx(async (tx) => {
      const input = body as PaymentCreate;
      const { payment } = await recordPayment(tx, project, input, byCaller(actor), now);
      throw new Undo(payment);
    });
  } catch (error) {
    if (error instanceof Undo)
      return { status: 200, body: { payment: error.payment, dry_run: true } };
    throw error;
  }
  throw new Error("A dry run is always undone.");
}
