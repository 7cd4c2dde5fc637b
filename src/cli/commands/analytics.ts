// `dues analytics`: the project's figures at a glance.

import type { Command } from "commander";
import type { Analytics } from "../../client/types.ts";
import { remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { type Io, printJson } from "../terminal/io.ts";
import { amountText, plural } from "../terminal/output.ts";
import { type Column, type Screen, tableText } from "../terminal/table.ts";

type Row = Analytics["by_currency"][number];

const AMOUNTS: readonly [label: string, of: (row: Row) => number][] = [
  ["Recurring a month", (row) => row.mrr_cents],
  ["Outstanding", (row) => row.outstanding_total_cents],
  ["Paid in 30 days", (row) => row.revenue_30d_cents],
  ["Invoiced in 30 days, net", (row) => row.net_revenue_30d_cents],
  ["Tax on that", (row) => row.tax_30d_cents],
  ["Paid back in 30 days", (row) => row.refunds_30d_cents],
  ["In wallets", (row) => row.wallet_balance_cents],
];

export function analyticsCommand(io: Io): Command {
  return remote(
    "analytics",
    "reads",
    "Subscriptions, recurring revenue, what is due and what came in.",
    [["dues analytics", ""]],
  )
    .option("--json", "print JSON")
    .action(
      withConnection<ConnectionFlags & { json?: boolean }>(io, async ({ dues }, flags) => {
        const answer = await dues.getAnalytics();
        if (flags.json) return printJson(io, answer);
        io.out(await analyticsText(io, answer));
      }),
    );
}

async function analyticsText(screen: Screen, figures: Analytics): Promise<string> {
  const { by_currency, top_plans } = figures;
  const unpaid = by_currency.reduce((sum, row) => sum + row.outstanding_invoice_count, 0);
  const active = plural(figures.active_subscriptions, "active subscription");
  const head = `${active}, ${plural(unpaid, "invoice")} not paid yet.\n`;
  const columns: Column<(typeof AMOUNTS)[number]>[] = [
    { title: "AMOUNT", of: ([label]) => label },
    ...by_currency.map((row) => ({
      title: row.currency,
      right: true as const,
      of: ([, of]: (typeof AMOUNTS)[number]) => amountText(of(row), row.currency),
    })),
  ];
  const amounts = by_currency.length === 0 ? "" : `\n${await tableText(screen, columns, AMOUNTS)}`;
  const plans: Column<Analytics["top_plans"][number]>[] = [
    { title: "PLAN", of: (row) => row.plan_code },
    { title: "NAME", cut: true, of: (row) => row.plan_name },
    { title: "ACTIVE", right: true, of: (row) => row.active_count },
  ];
  const top = top_plans.length === 0 ? "" : `\n${await tableText(screen, plans, top_plans)}`;
  return head + amounts + top;
}
