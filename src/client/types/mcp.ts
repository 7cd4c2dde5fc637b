// Generated from the OpenAPI document: the types of Tools. Do not edit.

export type JsonRpcReply = unknown;

export type JsonRpcRequest = unknown;

export type McpServerInfo = {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly protocol: string;
  readonly protocol_versions: readonly string[];
  readonly transport: string;
  readonly endpoint: string;
  readonly methods: readonly string[];
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly scope: string | null;
  }[];
};
