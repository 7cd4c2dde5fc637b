// JSON-RPC 2.0 as the tool endpoint speaks it.

import Type, { type Static } from "typebox";
import { Nullable } from "./common.ts";

export const RPC_ID_MAX = 128;
export const RPC_BATCH_MAX = 50;

export const RPC_ERRORS = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  /** A header contradicts the message. */
  header: -32020,
  /** The version of the protocol is not spoken here. */
  version: -32022,
} as const;

export type RpcId = string | number | null;
export type RpcReply = {
  readonly jsonrpc: "2.0";
  readonly id: RpcId;
  readonly result?: object;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
};

export const RpcRequest = Type.Unsafe<Buffer>({
  title: "JsonRpcRequest",
  description:
    "A JSON-RPC 2.0 request {jsonrpc, id, method, params}, a notification, or a batch of up to 50. Methods: initialize, server/discover, ping, tools/list, tools/call.",
});

/** An answer of a tool, for the example. */
const FOUND = {
  wallets: [
    {
      customer_id: "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d71",
      currency: "USD",
      balance_cents: 4200,
      running_cents: 2900,
      available_cents: 1300,
      low_balance_cents: 2000,
      top_up_cents: 5000,
    },
  ],
  has_more: false,
};

export const RpcAnswer = Type.Unsafe<RpcReply>({
  title: "JsonRpcReply",
  description: "{jsonrpc, id, result} or {jsonrpc, id, error}; a list of them for a batch.",
  examples: [
    {
      jsonrpc: "2.0",
      id: 1,
      result: {
        content: [{ type: "text", text: JSON.stringify(FOUND) }],
        structuredContent: FOUND,
        isError: false,
      },
    },
  ],
});

export const McpInfo = Type.Object(
  {
    name: Type.String(),
    title: Type.String(),
    version: Type.String(),
    description: Type.String(),
    protocol: Type.String(),
    protocol_versions: Type.Array(Type.String()),
    transport: Type.String(),
    endpoint: Type.String(),
    methods: Type.Array(Type.String()),
    client_config: Type.Unsafe<Record<string, unknown>>({
      type: "object",
      additionalProperties: true,
      description: "For agents that read mcpServers; put a token in place of <API_KEY>.",
    }),
    tools: Type.Array(
      Type.Object({
        name: Type.String(),
        description: Type.String(),
        scope: Nullable(Type.String()),
      }),
    ),
  },
  { title: "McpServerInfo" },
);
export type McpInfo = Static<typeof McpInfo>;
