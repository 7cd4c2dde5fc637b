// All that a project answers about its money, read through the API alone.

import type { Json } from "./app.ts";
import type { Sandbox } from "./given.ts";

/** At one time. */
export type Money = {
  readonly today: string;
  readonly listed: readonly Json[];
  readonly invoices: readonly Json[];
  readonly notes: readonly Json[];
  readonly payments: readonly Json[];
  readonly refunds: readonly Json[];
  readonly coupons: readonly Json[];
  readonly applied: readonly Json[];
  readonly grants: readonly Json[];
  readonly wallets: readonly Wallet[];
  readonly entries: readonly Json[];
};
export type Wallet = { readonly wallet: Json; readonly entries: readonly Json[] };

async function all(story: Sandbox, url: string, name: string): Promise<Json[]> {
  const answer = await story.get(`${url}${url.includes("?") ? "&" : "?"}all=1`);
  if (answer.has_more === true) throw new Error(`${url} has more than a page.`);
  return answer[name];
}

export async function readMoney(story: Sandbox): Promise<Money> {
  const listed = await all(story, "/v1/invoices", "invoices");
  const invoices: Json[] = [];
  for (const { id } of listed) invoices.push(await story.invoice(id));
  const notes: Json[] = [];
  for (const { id } of await all(story, "/v1/credit-notes", "credit_notes")) {
    notes.push((await story.get(`/v1/credit-notes/${id}`)).credit_note);
  }
  const grants: Json[] = [];
  const applied: Json[] = [];
  const wallets: Wallet[] = [];
  for (const { id } of await all(story, "/v1/customers", "customers")) {
    grants.push(...(await all(story, `/v1/grants?customer_id=${id}`, "grants")));
    const mine = `/v1/applied-coupons?customer_id=${id}`;
    applied.push(...(await all(story, mine, "applied_coupons")));
    for (const wallet of (await story.get(`/v1/customers/${id}/wallets`)).wallets) {
      const url = `/v1/customers/${id}/ledger?currency=${wallet.currency}`;
      wallets.push({ wallet, entries: (await all(story, url, "entries")).reverse() });
    }
  }
  return {
    today: (await story.now()).slice(0, 10),
    listed,
    invoices,
    notes,
    grants,
    applied,
    wallets,
    payments: await all(story, "/v1/payments", "payments"),
    refunds: await all(story, "/v1/refunds", "refunds"),
    coupons: await all(story, "/v1/coupons", "coupons"),
    entries: wallets.flatMap(({ entries }) => entries),
  };
}
