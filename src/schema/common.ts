// Shapes and text patterns that many records share.

import Type, { type Static, type TSchema } from "typebox";

// Where a pattern is not told by its format, `x-must` says beside it what a value must do, for
// whoever sent another one: "email must be an e-mail address."
export const UUID_PATTERN = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
/** Rates and quantities: no sign, exponent, NaN or Infinity. */
export const DECIMAL_PATTERN = "^\\d{1,15}(\\.\\d{1,12})?$";
/** The only decimal with a sign is an event's value. */
export const SIGNED_DECIMAL_PATTERN = "^-?\\d{1,15}(\\.\\d{1,12})?$";

export const TEXT_MAX = 255;
export const AMOUNT_CENTS_MAX = 1_000_000_000_000;
export const OBJECT_BYTES_MAX = 16 * 1024;

export const Uuid = Type.String({ format: "uuid", pattern: UUID_PATTERN });
export const Text = Type.String({ minLength: 1, maxLength: TEXT_MAX });
/** A caller's own identifier: opaque, compared byte by byte, without control characters. */
export const Reference = Type.String({
  minLength: 1,
  maxLength: TEXT_MAX,
  pattern: "^[^\\u0000-\\u001f\\u007f]+$",
  "x-must": "have no control characters",
});
export const Email = Type.String({
  maxLength: TEXT_MAX,
  pattern: "^$|^[^@\\s]+@[^@\\s]+$",
  "x-must": "be an e-mail address",
});
export const Currency = Type.String({
  format: "currency",
  pattern: "^[A-Z]{3}$",
  description: "ISO-4217 code.",
});
export const Country = Type.String({
  pattern: "^([A-Z]{2})?$",
  "x-must": "be two capital letters of ISO 3166-1 such as DE, or empty",
  description: "Two letters of ISO 3166-1, or empty.",
});
export const CENTS_TEXT = "Integer number of the smallest currency unit.";
export const AmountCents = Type.Integer({
  minimum: 0,
  maximum: AMOUNT_CENTS_MAX,
  description: CENTS_TEXT,
});
/** Totals are sums, so they may be larger than one amount; credit makes some negative. */
export const Cents = Type.Integer({ description: CENTS_TEXT });
export const DecimalText = Type.String({ pattern: DECIMAL_PATTERN });

/** Of a filter: a customer by either of its ids. */
export const CustomerRef = Type.String({
  maxLength: 260,
  pattern: `${UUID_PATTERN}|^ext:.+$`,
  "x-must": "be a UUID, or ext:<external_id>",
  description: "UUID, or ext:<external_id>.",
});

/** What the service answers: ISO 8601 UTC with milliseconds. Rows carry a `Date`. */
export const Timestamp = Type.Unsafe<Date>({ type: "string", format: "date-time" });
/** What callers send: any offset, checked against the real calendar. */
export const TimestampInput = Type.String({ format: "timestamp", maxLength: 64 });
export const CalendarDate = Type.String({ format: "date" });

/** A free-form object, stored as JSON. */
export const FreeObject = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  additionalProperties: true,
  "x-max-bytes": OBJECT_BYTES_MAX,
});

/** Texts of the caller's own about a record. Replaced as a whole. */
export const Metadata = Type.Unsafe<Record<string, string>>({
  type: "object",
  additionalProperties: { type: "string", maxLength: TEXT_MAX },
  maxProperties: 50,
  "x-max-bytes": OBJECT_BYTES_MAX,
});

/** `{type: [T, "null"]}`: serializes faster than a union and reads better in the reference. */
export function Nullable<T extends TSchema>(schema: T) {
  const { type, enum: values, ...rest } = schema as unknown as { type: string; enum?: unknown[] };
  return Type.Unsafe<Static<T> | null>({
    type: [type, "null"],
    ...(values === undefined ? {} : { enum: [...values, null] }),
    ...rest,
  });
}

export function OneOf<const T extends readonly string[]>(values: T, description?: string) {
  return Type.Unsafe<T[number]>({
    type: "string",
    enum: values,
    ...(description === undefined ? {} : { description }),
  });
}

/** A record as `{name: record}`: single resources are always wrapped. */
export function Wrapped<K extends string, T extends TSchema>(name: K, schema: T) {
  return Type.Object({ [name]: schema } as Record<K, T>);
}

/** Query of every list: pagination rules 1 to 5. Numbers are read from text in http/paging.ts. */
export const PageQuery = {
  limit: Type.Optional(
    Type.String({
      pattern: "^\\d{1,9}$",
      "x-must": "be a whole number from 1 to 1000",
      description: "Page size, 1 to 1000; 10 by default.",
    }),
  ),
  offset: Type.Optional(
    Type.String({
      pattern: "^\\d{1,9}$",
      "x-must": "be a whole number of 0 or more",
      description: "Skips this many records.",
    }),
  ),
  all: Type.Optional(OneOf(["0", "1"], "1 returns up to 1000 records.")),
  count: Type.Optional(OneOf(["0", "1"], "1 adds total_count.")),
};
export const CursorQuery = {
  ...PageQuery,
  cursor: Type.Optional(
    Type.String({ maxLength: 1_000, description: "The cursor of the page before." }),
  ),
};

/** A page of records under their plural name. */
export function Page<K extends string, T extends TSchema>(name: K, schema: T) {
  return Type.Object({
    ...({ [name]: Type.Array(schema) } as Record<K, ReturnType<typeof Type.Array<T>>>),
    has_more: Type.Boolean(),
    total_count: Type.Optional(Type.Integer()),
  });
}

export function CursorPage<K extends string, T extends TSchema>(name: K, schema: T) {
  return Type.Object({
    ...({ [name]: Type.Array(schema) } as Record<K, ReturnType<typeof Type.Array<T>>>),
    cursor: Nullable(Type.String()),
    has_more: Type.Boolean(),
    total_count: Type.Optional(Type.Integer()),
  });
}

/** Says which query parameter turns a list into one record. Not part of the OpenAPI document. */
export const LOOKUP = "~lookup";
export type Lookup = { readonly key: string; readonly one: string };

/** A complete list, or with the query parameter `key` one record: two bodies of one endpoint. */
export function ListOrOne(many: string, { key, one }: Lookup, schema: TSchema) {
  return Type.Object(
    {
      ...({ [many]: Type.Optional(Type.Array(schema)) } as Record<string, TSchema>),
      ...({ [one]: Type.Optional(schema) } as Record<string, TSchema>),
      has_more: Type.Optional(Type.Boolean()),
      total_count: Type.Optional(Type.Integer()),
    },
    { [LOOKUP]: { key, one } },
  );
}

/** The query of such a list by code. `says` where the answer to a code needs more words. */
export function CodeQuery(one: string, says = `Answers {${one}} instead of a list.`) {
  return Type.Object({
    code: Type.Optional(Type.String({ description: says })),
    archived: Type.Optional(OneOf(["0", "1"], "1 lists archived ones too.")),
  });
}

export const ErrorBody = Type.Object(
  {
    error: Type.Object({
      code: Type.String(),
      message: Type.String(),
      retryable: Type.Boolean(),
      details: Type.Optional(
        Type.Array(
          Type.Object({
            field: Type.String(),
            code: Type.String(),
            message: Type.Optional(Type.String()),
            existing_id: Type.Optional(Type.String()),
          }),
        ),
      ),
      request_id: Type.Optional(Type.String()),
    }),
  },
  { title: "ErrorBody" },
);
