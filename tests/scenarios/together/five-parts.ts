// The three subscriptions whose renewals have five parts: most examples of grouping have them.

import type { Json } from "../../support/app.ts";
import { perUnit } from "../../support/given.ts";
import { subscribe, type Together } from "../../support/together.ts";

export type Three = { readonly b1: Json; readonly a2: Json; readonly c3: Json };

/** b1 and c3 with a base in advance and usage, and a2, which is in arrears: in the order of age. */
export async function three(made: Together): Promise<Three> {
  const { story, calls } = made;
  const charges = [perUnit(calls, "0.10")];
  const paid = { code: "p", amount_cents: 2000, base_timing: "advance", charges };
  const p = await story.plan(paid);
  const q = await story.plan({ code: "q", amount_cents: 500 });
  const b1 = await subscribe(made, "b1", { plan: p });
  const a2 = await subscribe(made, "a2", { plan: q });
  const c3 = await subscribe(made, "c3", { plan: p });
  return { b1, a2, c3 };
}

/** The same with 100 units of b1 and 20 of c3, sent on that day. */
export async function played(made: Together, at?: string): Promise<Three> {
  const { story, calls } = made;
  const begun = await three(made);
  if (at !== undefined) await story.travelTo(at);
  await story.use(begun.b1, calls, "100");
  await story.use(begun.c3, calls, "20");
  return begun;
}
