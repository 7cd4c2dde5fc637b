// Checks that the taxes which something names exist.

import { refuse } from "../../errors.ts";

type Finder = {
  /** The live taxes among the codes. */
  readonly taxes: (codes: readonly string[]) => Promise<readonly { readonly code: string }[]>;
};

/** `at` is where the codes stand in the request. */
export async function checkTaxCodes(
  find: Finder,
  lists: readonly (readonly string[] | null | undefined)[],
  at = "",
): Promise<void> {
  const codes = [...new Set(lists.flatMap((list) => list ?? []))];
  if (codes.length === 0) return;
  const known = new Set((await find.taxes(codes)).map(({ code }) => code));
  const unknown = codes.find((code) => !known.has(code));
  if (unknown !== undefined) {
    throw refuse("not_found", `${at}tax_codes: no live tax has the code ${unknown}.`);
  }
}
