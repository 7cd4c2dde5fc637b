// What a caller is told when no invoice can be made of what a subscription says.

import { TooFarBehind } from "../../domain/far-behind.ts";
import { AmountOutOfRange } from "../../domain/money.ts";
import { BadQuantity } from "../../domain/quantities.ts";
import { refuse, refuseField } from "../../errors.ts";

/**
 * Runs what invoices the open period. A quantity that cannot be charged is the caller's to mend, so
 * it is refused by its field. An amount out of range is refused as a limit where every answer is
 * made.
 */
export async function orCannotInvoice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TooFarBehind) throw refuse("too_far_behind", error.message);
    if (!(error instanceof BadQuantity)) throw error;
    const message = `The invoice of the open period cannot be made. ${error.message}`;
    throw refuseField("properties", "unbillable", message);
  }
}

/** Runs what bills a period that has ended: nothing else is done before it is billed or dropped. */
export async function orUnbilled<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TooFarBehind) throw refuse("too_far_behind", error.message);
    if (!isNotInvoiceable(error)) throw error;
    const field = error instanceof BadQuantity ? "properties" : "unbilled";
    throw refuse(
      "unbilled_periods",
      `A period that has ended cannot be billed. ${error.message} Mend that first; an end also takes unbilled: "drop", which gives up what cannot be billed.`,
      { details: [{ field, code: "unbillable", message: error.message }] },
    );
  }
}

export function isNotInvoiceable(error: unknown): error is BadQuantity | AmountOutOfRange {
  return error instanceof BadQuantity || error instanceof AmountOutOfRange;
}
