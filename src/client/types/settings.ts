// Generated from the OpenAPI document: the types of Settings. Do not edit.

import type { Currency } from "./common.ts";

export type Settings = {
  readonly name: string;
  /** Lines as on an envelope. */
  readonly address: string;
  readonly tax_id: string;
  /** #rrggbb */
  readonly logo_color: string;
  readonly net_payment_days: number;
  readonly default_currency: Currency;
  /** How many closed periods late usage may still correct; 0 for none. */
  readonly late_usage_periods: number;
};

export type SetSettingsBody = {
  readonly name?: string;
  /** Lines as on an envelope. */
  readonly address?: string;
  readonly tax_id?: string;
  /** #rrggbb */
  readonly logo_color?: string;
  readonly net_payment_days?: number;
  readonly default_currency?: Currency;
  /** How many closed periods late usage may still correct; 0 for none. */
  readonly late_usage_periods?: number;
};
