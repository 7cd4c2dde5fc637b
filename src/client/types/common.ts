// Generated from the OpenAPI document: types that many others use. Do not edit.

/** Integer number of the smallest currency unit. */
export type Cents = number;

/** ISO-4217 code. */
export type Currency = string;

export type Page = {
  readonly has_more: boolean;
  readonly total_count?: number;
};

export type CursorPage = Page & { readonly cursor: string | null };

export type PageQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
};

export type CursorQuery = PageQuery & {
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
};

export type Error = {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly details?: readonly {
      readonly field: string;
      readonly code: string;
      readonly message?: string;
      readonly existing_id?: string;
    }[];
    readonly request_id?: string;
  };
};
