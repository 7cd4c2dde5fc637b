// What a project says about itself on documents, and its rules of billing.

import Type, { type Static } from "typebox";
import { Currency, OneOf, TEXT_MAX, Text } from "./common.ts";

export const NET_PAYMENT_DAYS_MAX = 365;
export const LATE_USAGE_PERIODS_MAX = 24;
export const PORTAL_ACCESS = ["open", "signed"] as const;
const ADDRESS_MAX = 1_000;

const fields = {
  name: Text,
  address: Type.String({ maxLength: ADDRESS_MAX, description: "Lines as on an envelope." }),
  tax_id: Type.String({ maxLength: TEXT_MAX }),
  logo_color: Type.String({ pattern: "^#[0-9a-fA-F]{6}$", description: "#rrggbb" }),
  net_payment_days: Type.Integer({ minimum: 0, maximum: NET_PAYMENT_DAYS_MAX }),
  default_currency: Currency,
  late_usage_periods: Type.Integer({
    minimum: 0,
    maximum: LATE_USAGE_PERIODS_MAX,
    description: "How many closed periods late usage may still correct; 0 for none.",
  }),
  portal_access: OneOf(
    PORTAL_ACCESS,
    "open: whoever has the customer's id sees the portal. signed: only who has a link from POST /v1/customers/:id/portal-links.",
  ),
};

export const Settings = Type.Object(fields, { title: "Settings" });
export type Settings = Static<typeof Settings>;

/** Spec gap: a field that is left out keeps its value, so that one setting can be put alone. */
export const SettingsPut = Type.Object(
  {
    name: Type.Optional(fields.name),
    address: Type.Optional(fields.address),
    tax_id: Type.Optional(fields.tax_id),
    logo_color: Type.Optional(fields.logo_color),
    net_payment_days: Type.Optional(fields.net_payment_days),
    default_currency: Type.Optional(fields.default_currency),
    late_usage_periods: Type.Optional(fields.late_usage_periods),
    portal_access: Type.Optional(fields.portal_access),
  },
  { "x-at-least-one": true },
);
export type SettingsPut = Static<typeof SettingsPut>;
