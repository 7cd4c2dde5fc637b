// Generated from the OpenAPI document: the types of System. Do not edit.

export type GetReadyzReply = {
  readonly status: string;
  readonly schema_version: number;
  readonly warnings: readonly string[];
};
