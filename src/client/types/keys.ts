// Generated from the OpenAPI document: the types of Tokens. Do not edit.

export type CreateKeyBody = {
  readonly name: string;
  readonly organization_id: string;
  readonly scopes?: readonly ("read" | "write" | "events" | "admin" | "*")[];
  readonly expires_at?: string;
};

export type CreateKeyReply = {
  /** The full value: shown once and not kept. */
  readonly token: string;
  readonly id: string;
  readonly key_prefix: string;
  readonly name: string;
  readonly scopes: readonly ("read" | "write" | "events" | "admin" | "*")[];
  readonly expires_at: string | null;
};

export type Token = {
  readonly id: string;
  readonly name: string;
  readonly key_prefix: string;
  readonly scopes: readonly ("read" | "write" | "events" | "admin" | "*")[];
  readonly last_used_at: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
};

export type ListKeysReply = {
  readonly tokens: readonly Token[];
  readonly has_more: boolean;
};

export type GetCurrentKeyReply = {
  readonly token: Token;
  readonly organization: {
    readonly id?: string;
    readonly name: string;
    readonly slug: string;
  };
};
