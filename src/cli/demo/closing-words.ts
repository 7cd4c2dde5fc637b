// What the demo says at its end: the figures, and what to look at and to try.

import type { Dues } from "../../client/dues.ts";
import { money, plural, wrapped } from "../terminal/output.ts";
import { plainTable } from "../terminal/table.ts";
import { COMPANY } from "./company.ts";
import type { Figures, Sums } from "./figures.ts";
import type { Subscriber } from "./subscribers.ts";

export type Link = { readonly says: string; readonly url: string };

/** Portals of the customers with a story, an invoice, and the reference. */
export async function linksOf(
  dues: Dues,
  base_url: string,
  subscribers: readonly Subscriber[],
): Promise<Link[]> {
  const noted = subscribers.filter(({ story }) => story.note !== undefined).slice(0, 6);
  const portals = noted.map(({ story, customer_id }) => ({
    says: `${story.customer.name}: ${story.note}`,
    url: `${base_url}/portal/${customer_id}`,
  }));
  const [, second] = noted;
  const invoices =
    second === undefined
      ? []
      : (await dues.listInvoices({ customer_id: second.customer_id, limit: 1 })).invoices;
  const pages = invoices.map(({ number, customer_id }) => ({
    says: `Invoice ${number}, as its customer sees it`,
    url: `${base_url}/portal/${customer_id}/invoices/${number}`,
  }));
  return [...portals, ...pages, { says: "The API, with examples", url: `${base_url}/docs` }];
}

type Summary = {
  readonly figures: Figures;
  readonly links: readonly Link[];
  readonly spent_s: number;
  /** The flag that names the project, where it is not the profile's own. */
  readonly named: string;
};

export function demoText({ figures, links, spent_s, named }: Summary): string {
  const { customers, subscriptions, invoices, payments, credit_notes, usage_events } = figures;
  const all = Object.values(invoices).reduce((sum, count) => sum + count, 0);
  const head = [
    `${COMPANY} has had its year (${spent_s} s): ${plural(customers, "customer")},`,
    `${countsOf(subscriptions)} subscriptions,`,
    `${plural(usage_events, "usage event")}, ${plural(payments, "payment")},`,
    `${plural(credit_notes, "credit note")}, ${plural(all, "invoice")} (${countsOf(invoices)}).`,
  ];
  const commands = [
    `dues analytics${named}`,
    `dues invoices list --status overdue${named}`,
    `dues usage ext:northwind${named}`,
    `dues credits ext:harbor-legal${named}`,
    `dues webhooks deliveries --status failed${named}`,
    `dues clock advance --to 2026-02-01${named}`,
  ];
  return [
    wrapped(head.join(" ")),
    plainTable(COLUMNS, figures.by_currency),
    "Look at:",
    ...links.flatMap(({ says, url }) => [`  ${says}`, `    ${url}`]),
    "",
    "Try:",
    ...commands.map((line) => `  ${line}`),
    "",
  ].join("\n");
}

/** "41 active, 2 terminated" */
function countsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}

const COLUMNS = [
  { title: "CURRENCY", of: (row: Sums) => row.currency },
  { title: "INVOICES", right: true as const, of: (row: Sums) => row.invoices },
  amount("BILLED", (row) => row.total_cents),
  amount("OF THAT TAX", (row) => row.tax_cents),
  amount("PAID", (row) => row.paid_cents),
  amount("OVERDUE", (row) => row.overdue_cents),
];

function amount(title: string, cents: (row: Sums) => number) {
  return { title, right: true as const, of: (row: Sums) => money(cents(row), row.currency) };
}
