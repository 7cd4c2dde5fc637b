// A fault in a message of JSON-RPC itself; what goes wrong inside a tool is a result.

import { RPC_ERRORS, type RpcId, type RpcReply } from "../../schema/mcp.ts";

type Extra = {
  /** The status of HTTP, where it is not 200. */
  readonly status?: number;
  readonly data?: object;
};

export class RpcFault extends Error {
  readonly kind: keyof typeof RPC_ERRORS;
  readonly status: number;
  readonly data: object | undefined;

  constructor(kind: keyof typeof RPC_ERRORS, message: string, { status = 200, data }: Extra = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.data = data;
  }

  reply(id: RpcId): RpcReply {
    const { message, data } = this;
    const error = { code: RPC_ERRORS[this.kind], message, ...(data !== undefined && { data }) };
    return { jsonrpc: "2.0", id, error };
  }
}
