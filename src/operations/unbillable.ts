// When an invoice cannot be made of what a subscription says.

import { AmountOutOfRange } from "../domain/money.ts";
import { BadQuantity } from "../domain/pricing.ts";
import { refuseField } from "../errors.ts";

/**
 * A quantity that cannot be charged is the caller's to mend, so it is refused by its field.
 * An amount out of range is refused as a limit where every answer is made.
 */
export async function orUnbillable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BadQuantity)) throw error;
    const message = `The invoice of the open period cannot be made. ${error.message}`;
    throw refuseField("properties", "unbillable", message);
  }
}

export function isUnbillable(error: unknown): error is BadQuantity | AmountOutOfRange {
  return error instanceof BadQuantity || error instanceof AmountOutOfRange;
}
