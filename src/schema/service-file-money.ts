// The sections of service.yaml about money: the project's settings, its taxes and its coupons.

import Type, { type Static } from "typebox";
import { AMOUNT_CENTS_MAX, Currency, Name, Nullable, Reference, TimestampInput } from "./common.ts";
import { Codes, CouponUpsert } from "./coupons.ts";
import { SettingsPut } from "./settings.ts";
import { Percent, TaxCodes } from "./taxes.ts";

/** Refuses unknown keys: such a key is most likely a typing mistake. */
const STRICT = { additionalProperties: false };

export const FileTaxCodes = Type.Optional(
  Type.Unsafe<readonly string[] | null>({
    ...TaxCodes,
    description: "Codes of taxes; [] for none. Left out, or null: says nothing.",
  }),
);

export const FileSettings = Type.Object(SettingsPut.properties, {
  ...STRICT,
  description: "Of the project. A field that is left out stays as it is.",
});
export type FileSettings = Static<typeof FileSettings>;

export const FileTax = Type.Object(
  {
    code: Reference,
    name: Name,
    percent: Type.String({ ...Percent, description: '0 to 100, quoted: "5.5".' }),
    description: Type.Optional(
      Nullable(Type.String({ maxLength: 255, description: "Left out: stays as it is." })),
    ),
  },
  STRICT,
);
export type FileTax = Static<typeof FileTax>;

const { times, max_redemptions } = CouponUpsert.properties;

export const FileCoupon = Type.Object(
  {
    code: Reference,
    name: Name,
    percent: Type.Optional(
      Type.String({ ...Percent, description: 'Off the price, quoted: "10". Or amount_cents.' }),
    ),
    amount_cents: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: AMOUNT_CENTS_MAX,
        description: "Off the price, with currency. Or percent.",
      }),
    ),
    currency: Type.Optional(Type.String({ ...Currency, description: "Of amount_cents." })),
    times: Type.Optional(
      Type.Unsafe<number | null>({
        ...times,
        default: 1,
        description: "How many billing periods; null: for ever.",
      }),
    ),
    plan_codes: Type.Optional(
      Type.Unsafe<readonly string[] | null>({ ...Codes, description: "Only fees of these plans." }),
    ),
    metric_codes: Type.Optional(
      Type.Unsafe<readonly string[] | null>({
        ...Codes,
        description: "Only fees of these metrics.",
      }),
    ),
    redeem_by: Type.Optional(
      Nullable(
        Type.String({ ...TimestampInput, description: "Cannot be applied from this instant on." }),
      ),
    ),
    max_redemptions: Type.Optional(
      Type.Unsafe<number | null>({
        ...max_redemptions,
        description: "How often it can be applied, by all customers.",
      }),
    ),
  },
  STRICT,
);
export type FileCoupon = Static<typeof FileCoupon>;
