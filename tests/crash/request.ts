// A write as a caller asks for it: one call on what `makeWorld` made.

import type { Json } from "../support/app.ts";
import type { World } from "./world.ts";

export type Write = {
  readonly name: string;
  readonly method: string;
  readonly url: (ids: World["ids"]) => string;
  readonly body?: (ids: World["ids"]) => Json;
  /** False where something else than an Idempotency-Key makes it happen once. */
  readonly keyed?: false;
  /** False when it is several transactions on purpose: a death leaves the first of them done. */
  readonly atomic?: false;
  /** True where nothing tells a repeat from a new wish: after a lost answer it is done again. */
  readonly repeats?: true;
  /** Which project it is sent for, if not the world's own; null for the whole organization. */
  readonly project?: ((ids: World["ids"]) => string | undefined) | null;
};

export function request(
  name: string,
  method: string,
  url: Write["url"],
  body?: Write["body"],
  more: Pick<Write, "keyed" | "atomic" | "repeats" | "project"> = {},
): Write {
  return { name, method, url, ...(body && { body }), ...more };
}
