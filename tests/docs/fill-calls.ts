// Fills in what the calls of a page leave out because it is always the same, and the ids of what
// they name: `<pro>` is that of the plan, `<INV-2026-0001/Seats>` that of a line of an invoice.

import type { Body, Json } from "../support/app.ts";
import type { Sandbox } from "../support/given.ts";
import type { Call } from "./read-examples.ts";

const NAMED = /<([\w./ -]+)>/g;

export function withDefaults({ path, body = {} }: Call, i: number): Body {
  if (path === "/v1/subscriptions") {
    return { external_id: "acme", customer_id: "<acme>", ...body };
  }
  if (path === "/v1/events") {
    return { transaction_id: `call-${i}`, subscription_id: "ext:acme", ...body };
  }
  if (path === "/v1/payments") {
    return { currency: "USD", provider: "bank", provider_payment_id: `call-${i}`, ...body };
  }
  if (path === "/v1/refunds") return { provider_refund_id: `call-${i}`, ...body };
  const isForCustomer = /^\/v1\/(invoices(\/preview)?|grants|coupons\/[^/]+\/apply)$/.test(path);
  return isForCustomer ? { customer_id: "<acme>", ...body } : body;
}

/** Of a path or a body. */
export async function withIds<T extends string | Body>(story: Sandbox, given: T): Promise<T> {
  const text = JSON.stringify(given);
  if (text.search(NAMED) < 0) return given;
  const ids = await idsOf(story);
  const filled = text.replaceAll(NAMED, (_, name: string) => {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`Nothing is called ${name}.`);
    return id;
  });
  return JSON.parse(filled) as T;
}

async function idsOf(story: Sandbox): Promise<ReadonlyMap<string, string>> {
  const list = async (path: string): Promise<Json[]> => {
    const answer = await story.get(`/v1/${path}${path.includes("?") ? "&" : "?"}all=1`);
    const [rows] = Object.values(answer).filter(Array.isArray);
    return rows ?? [];
  };
  const named = (rows: readonly Json[], field: string) =>
    rows.map((row): [string, string] => [row[field], row.id]);
  const { customer } = await story.get("/v1/customers/ext:acme");
  const applied = await list(`applied-coupons?customer_id=${customer.id}`);
  const invoices = await story.invoices();
  return new Map([
    ["acme", customer.id],
    ...applied.map(({ code, id }): [string, string] => [`applied/${code}`, id]),
    ...named(await list("plans"), "code"),
    ...named(await list("coupons"), "code"),
    ...named(await list("grants"), "name"),
    ...named(await list("payments"), "provider_payment_id"),
    ...named(await list("credit-notes"), "number"),
    ...named(invoices, "number"),
    ...invoices.flatMap(({ number, fees }) =>
      fees.map((fee: Json): [string, string] => [`${number}/${fee.properties.name}`, fee.id]),
    ),
  ]);
}
