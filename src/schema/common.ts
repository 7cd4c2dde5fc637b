// Shapes and text patterns that many records share.

import Type, { type Static, type TSchema } from "typebox";

export const UUID_PATTERN = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
/** Rates and quantities: decimals without sign, exponent, NaN or Infinity. */
export const DECIMAL_PATTERN = "^\\d{1,15}(\\.\\d{1,12})?$";
/** An event's value: the only decimal with a sign. */
export const SIGNED_DECIMAL_PATTERN = "^-?\\d{1,15}(\\.\\d{1,12})?$";

export const TEXT_MAX = 255;
export const AMOUNT_CENTS_MAX = 1_000_000_000_000;
export const OBJECT_BYTES_MAX = 16 * 1024;

/**
 * A text with a pattern, which itself says nothing to most readers: whoever sent another text is
 * told what it `must` do, "email must be an e-mail address".
 */
export function Patterned(pattern: string, must: string, others: object = {}) {
  return Type.String({ pattern, "x-must": must, ...others });
}

/** An option of the body of an update: one without any field is refused. */
export const AT_LEAST_ONE = { "x-at-least-one": true } as const;

export const Uuid = Type.String({ format: "uuid", pattern: UUID_PATTERN });
export const Text = Type.String({ minLength: 1, maxLength: TEXT_MAX });
/** A name that people call a thing by: something of it can be seen. */
export const Name = Type.String({ format: "name", minLength: 1, maxLength: TEXT_MAX });
/** A caller's own identifier: opaque, compared byte by byte, without control characters. */
export const Reference = Patterned("^[^\\u0000-\\u001f\\u007f]+$", "have no control characters", {
  minLength: 1,
  maxLength: TEXT_MAX,
});
export const Email = Patterned("^$|^[^@\\s]+@[^@\\s]+$", "be an e-mail address", {
  maxLength: TEXT_MAX,
});
export const Currency = Type.String({
  format: "currency",
  pattern: "^[A-Z]{3}$",
  description: "ISO-4217 code.",
});
export const Country = Patterned(
  "^([A-Z]{2})?$",
  "be two capital letters of ISO 3166-1 such as DE, or empty",
  { format: "country", description: "Two letters of ISO 3166-1, or empty." },
);
export const CENTS_TEXT = "Integer number of the smallest currency unit.";
export const AmountCents = Type.Integer({
  minimum: 0,
  maximum: AMOUNT_CENTS_MAX,
  description: CENTS_TEXT,
});
/** Totals are sums, so they may be larger than one amount; credit makes some negative. */
export const Cents = Type.Integer({ description: CENTS_TEXT });
export const DecimalText = Type.String({ pattern: DECIMAL_PATTERN });

/** A customer or subscription by either of its ids, for a filter. */
export const RecordRef = Patterned(`${UUID_PATTERN}|^ext:.+$`, "be a UUID, or ext:<external_id>", {
  maxLength: 260,
  description: "UUID, or ext:<external_id>.",
});

/** A filter by a customer or subscription that takes any text: what names none finds nothing. */
export const RefFilter = Type.Optional(
  Type.String({ maxLength: 260, description: "UUID, or ext:<external_id>." }),
);

/** An instant in answers: ISO 8601 UTC with milliseconds. Rows carry a `Date`. */
export const Timestamp = Type.Unsafe<Date>({ type: "string", format: "date-time" });
/** An instant that callers send: any offset, checked against the real calendar. */
export const TimestampInput = Type.String({ format: "timestamp", maxLength: 64 });
export const CalendarDate = Type.String({ format: "date" });

/** A free-form object, stored as JSON. */
export const FreeObject = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  additionalProperties: true,
  "x-max-bytes": OBJECT_BYTES_MAX,
});

/** The caller's own texts about a record, replaced as a whole. */
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

/** The keyword for what the OpenAPI document tells of a schema that takes more than that. */
export const SHOWN = "x-shown";

/** A boolean in a request. 1 and 0 are taken as well, and no client need know it. */
export const Flag = Type.Unsafe<boolean | 0 | 1>({
  enum: [true, false, 1, 0],
  [SHOWN]: { type: "boolean", description: "true or false; 1 and 0 are taken too." },
});

/** A record as `{name: record}`: single resources are always wrapped. */
export function Wrapped<K extends string, T extends TSchema>(name: K, schema: T) {
  return Type.Object({ [name]: schema } as Record<K, T>);
}

/** The query of every list: pagination rules 1 to 5. `http/request/paging.ts` reads it. */
export const PageQuery = {
  limit: Type.Optional(
    Patterned("^\\d{1,9}$", "be a whole number of 1 or more", {
      description: "Page size, 1 or more; more than 1000 gives 1000. 10 by default.",
    }),
  ),
  offset: Type.Optional(
    Patterned("^\\d{1,9}$", "be a whole number of 0 or more", {
      description: "Skips this many records.",
    }),
  ),
  all: Type.Optional(OneOf(["0", "1"], "1 returns up to 1000 records.")),
  count: Type.Optional(
    OneOf(["0", "1"], "1 adds total_count; where there are more than 100,000, total_at_least."),
  ),
};
export const CursorQuery = {
  ...PageQuery,
  cursor: Type.Optional(
    Type.String({ maxLength: 1_000, description: "The cursor of the page before." }),
  ),
};

/** The query of lists that are answered as a whole unless a limit is given. */
export const WholeQuery = {
  ...CursorQuery,
  limit: Type.Optional(
    Type.String({
      ...CursorQuery.limit,
      description:
        "Page size, 1 or more; more than 1000 gives 1000. The whole list unless it is given.",
    }),
  ),
  all: Type.Optional(OneOf(["0", "1"], "1 returns the whole list.")),
};

/** Fields that `count=1` adds to a page: how many there are, or more than were counted. */
const Count = {
  total_count: Type.Optional(Nullable(Type.Integer())),
  total_at_least: Type.Optional(Type.Integer()),
};

/** A page of records under their plural name. */
export function CursorPage<K extends string, T extends TSchema>(name: K, schema: T) {
  return Type.Object({
    ...({ [name]: Type.Array(schema) } as Record<K, ReturnType<typeof Type.Array<T>>>),
    cursor: Nullable(Type.String()),
    has_more: Type.Boolean(),
    ...Count,
  });
}

/** The keyword for the query parameter that makes a list one record. OpenAPI does not show it. */
export const LOOKUP = "~lookup";
export type Lookup<One extends string = string> = { readonly key: string; readonly one: One };

/** A complete list, or with the query parameter `key` one record: two bodies of one endpoint. */
export function ListOrOne<Many extends string, One extends string, T extends TSchema>(
  many: Many,
  { key, one }: Lookup<One>,
  schema: T,
) {
  type Body = Static<ReturnType<typeof CursorPage<Many, T>>> | Readonly<Record<One, Static<T>>>;
  const fields: Record<string, TSchema> = {
    [many]: Type.Optional(Type.Array(schema)),
    [one]: Type.Optional(schema),
    cursor: Type.Optional(Nullable(Type.String())),
    has_more: Type.Optional(Type.Boolean()),
    ...Count,
  };
  return Type.Unsafe<Body>(Type.Object(fields, { [LOOKUP]: { key, one } }));
}

/** The query of a `ListOrOne` by code. `says` is the description of the parameter. */
export function CodeQuery(one: string, says = `Answers {${one}} instead of a list.`) {
  return Type.Object({
    ...WholeQuery,
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
