// The clock of a sandbox project: show it, freeze it, advance it.

import { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import type { ClockReport } from "../../client/types.ts";
import { monotonicMs } from "../../clock.ts";
import { instant, remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { type Io, printJson } from "../terminal/io.ts";
import { clean, countText, plural } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";
import { type Column, tableText } from "../terminal/table.ts";

type Flags = ConnectionFlags & { readonly json?: boolean };

export function clockCommand(io: Io): Command {
  return new Command("clock")
    .description("The clock of a sandbox project: show it, freeze it, travel forward.")
    .addCommand(showCommand(io), { isDefault: true })
    .addCommand(advanceCommand(io))
    .addCommand(freezeCommand(io))
    .addHelpText("after", "\nExample:\n  $ dues clock advance --to 2027-01-01");
}

function showCommand(io: Io): Command {
  return remote("show", "reads", "What time it is in the project.", [["dues clock", ""]])
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags) => {
        const { clock } = await dues.getClock();
        if (flags.json) printJson(io, { clock });
        else io.out(`${clock.now} (${clock.mode})\n`);
      }),
    );
}

function advanceCommand(io: Io): Command {
  return remote("advance", "writes", "Travel forward: everything that falls due happens.", [
    ["dues clock advance --to 2027-01-01", "to the first instant of that day"],
  ])
    .requiredOption("--to <instant>", "a date, or a timestamp", instant)
    .option("--json", "print JSON")
    .action(
      withConnection<Flags & { to: string }>(io, async ({ dues }, flags) => {
        const report = await shown(io, dues, () => dues.advanceClock({ to: flags.to }, TRAVEL));
        if (flags.json) return printJson(io, report);
        io.out(await reportText(io, report));
        io.out(await unbilledText(dues));
      }),
    );
}

function freezeCommand(io: Io): Command {
  return remote(
    "freeze",
    "writes",
    "Stop the clock at an instant; from a frozen one, travel there.",
    [["dues clock freeze --at 2026-01-01", ""]],
  )
    .requiredOption("--at <instant>", "a date, or a timestamp", instant)
    .option("--json", "print JSON")
    .action(
      withConnection<Flags & { at: string }>(io, async ({ dues }, flags) => {
        const report = await shown(io, dues, () =>
          dues.freezeClock({ frozen_at: flags.at }, TRAVEL),
        );
        if (flags.json) return printJson(io, report);
        const travelled = report.periods_closed + report.events.length > 0;
        if (travelled) {
          io.out(await reportText(io, report));
          io.out(await unbilledText(dues));
        } else io.out(`The clock stands at ${report.clock.now}.\n`);
      }),
    );
}

/** Decades of a weekly plan take a minute, and of many subscriptions more. */
const TRAVEL = { timeout_ms: 3_600_000 };
const LOOK_MS = 1_000;

/** Shows on a terminal where the clock is while it travels. */
async function shown(io: Io, dues: Dues, travel: () => Promise<ClockReport>): Promise<ClockReport> {
  if (!io.progress) return travel();
  const progress = new Progress(io, monotonicMs);
  const over = new AbortController();
  const look = async () => {
    const { clock } = await dues.getClock({ signal: over.signal });
    if (!over.signal.aborted) progress.show(undefined, () => `It is ${clock.now} there.`);
  };
  // A look that fails shows nothing: what becomes of the travel is its own answer's to say.
  const timer = setInterval(() => void look().catch(() => {}), LOOK_MS);
  try {
    return await travel();
  } finally {
    over.abort();
    clearInterval(timer);
    progress.end();
  }
}

type Happened = ClockReport["events"][number];

const EVENT_COLUMNS: readonly Column<Happened>[] = [
  { title: "AT", of: (row) => row.at },
  { title: "EVENT", of: (row) => row.event },
  { title: "ID", drop: 1, of: (row) => row.resource_id },
];

const EXAMPLES = 3;

/** Names subscriptions that could not be billed: nothing is, of these, until somebody looks. */
async function unbilledText(dues: Dues): Promise<string> {
  const query = { billing_error: "1", limit: EXAMPLES, count: "1" } as const;
  const page = await dues.listSubscriptions(query);
  const { subscriptions } = page;
  if (subscriptions.length === 0) return "";
  const names = subscriptions.map(({ external_id }) => clean(external_id)).join(", ");
  const more = page.has_more ? ", …" : "";
  return [
    `${countText(page, "subscription")} could not be billed: ${names}${more}`,
    "dues subscriptions list --billing-error says why.\n",
  ].join("\n");
}

/** How far the clock has travelled, and what happened on the way. */
async function reportText(io: Io, report: ClockReport): Promise<string> {
  const { clock, periods_closed, invoices_created, dunning_steps, events } = report;
  const counts = [
    `${plural(periods_closed, "period")} closed`,
    plural(invoices_created, "invoice"),
    plural(dunning_steps, "dunning step"),
  ];
  const head = `It is ${clock.now} now: ${counts.join(", ")}.\n`;
  return events.length === 0 ? head : head + (await tableText(io, EVENT_COLUMNS, events));
}
