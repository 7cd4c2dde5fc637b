// What a project says about itself on documents, and its rules of billing.

import Type, { type Static } from "typebox";
import {
  AT_LEAST_ONE,
  Country,
  Currency,
  Email,
  Name,
  OneOf,
  Patterned,
  TEXT_MAX,
} from "./common.ts";
import { INVOICE_GROUPINGS } from "./enums.ts";
import { TaxCodes } from "./taxes.ts";

export const NET_PAYMENT_DAYS_MAX = 365;
export const LATE_USAGE_PERIODS_MAX = 24;
export const PORTAL_ACCESS = ["open", "signed"] as const;
export const ADDRESS_MAX = 1_000;
export const PAYMENT_INSTRUCTIONS_MAX = 2_000;
const Prefix = Patterned("^[A-Z0-9]{1,8}$", "be 1 to 8 capital letters or digits");

const fields = {
  name: Name,
  address: Type.String({ maxLength: ADDRESS_MAX, description: "Lines as on an envelope." }),
  city: Type.String({ maxLength: TEXT_MAX }),
  postal_code: Type.String({ maxLength: TEXT_MAX }),
  region: Type.String({ maxLength: TEXT_MAX }),
  country: Country,
  tax_id: Type.String({ maxLength: TEXT_MAX }),
  tax_codes: TaxCodes,
  footer: Type.String({ maxLength: 2_000 }),
  invoice_prefix: Prefix,
  credit_note_prefix: Prefix,
  payment_url: Type.String({
    maxLength: 2_048,
    description:
      "https, with {invoice_id} {number} {customer_id} {external_id} {amount_due_cents} {currency}.",
  }),
  payment_instructions: Type.String({
    maxLength: PAYMENT_INSTRUCTIONS_MAX,
    description: "How to pay otherwise, such as bank details, for whoever has something to pay.",
  }),
  support_email: Type.String({ ...Email, description: "Where customers ask about a bill." }),
  logo_color: Patterned("^#[0-9a-fA-F]{6}$", "be a colour such as #0b6e4f", {
    description: "#rrggbb",
  }),
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
  invoice_grouping: OneOf(
    INVOICE_GROUPINGS,
    "What makes one invoice: separate, each thing that is billed; subscription, what falls due for a subscription at one instant; customer, what does for a customer.",
  ),
};

export const Settings = Type.Object(fields, { title: "Settings" });
export type Settings = Static<typeof Settings>;

/** What a new project has beside its name; the columns of `projects` have the same defaults. */
export const NEW_SETTINGS: Omit<Settings, "name"> = {
  address: "",
  city: "",
  postal_code: "",
  region: "",
  country: "",
  tax_id: "",
  tax_codes: null,
  footer: "",
  invoice_prefix: "INV",
  credit_note_prefix: "CN",
  payment_url: "",
  payment_instructions: "",
  support_email: "",
  logo_color: "#3347c4",
  net_payment_days: 14,
  default_currency: "USD",
  late_usage_periods: 2,
  portal_access: "open",
  invoice_grouping: "separate",
};

/** Spec gap: a field that is left out keeps its value, so that one setting can be put alone. */
export const SettingsPut = Type.Partial(Type.Object(fields), AT_LEAST_ONE);
export type SettingsPut = Static<typeof SettingsPut>;
