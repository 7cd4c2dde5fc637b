// The clock of a sandbox project: show it, freeze it, advance it.

import { Command } from "commander";
import { instant, remote, withConnection } from "./command.ts";
import { type Io, printJson } from "./io.ts";
import { plural, table } from "./output.ts";
import type { ConnectionFlags } from "./profile.ts";

type Flags = ConnectionFlags & { readonly json?: boolean };

export function clockCommand(io: Io): Command {
  const show = remote("show", "What time it is in the project.", [["dues clock", ""]])
    .option("--json", "print JSON")
    .action(
      withConnection<Flags>(io, async ({ dues }, flags) => {
        const { clock } = await dues.getClock();
        if (flags.json) printJson(io, { clock });
        else io.out(`${clock.now} (${clock.mode})\n`);
      }),
    );
  const advance = remote("advance", "Travel forward: everything that falls due happens.", [
    ["dues clock advance --to 2027-01-01", "to the first instant of that day"],
  ])
    .requiredOption("--to <instant>", "a date, or a timestamp", instant)
    .option("--json", "print JSON")
    .action(
      withConnection<Flags & { to: string }>(io, async ({ dues }, flags) => {
        const report = await dues.advanceClock({ to: flags.to });
        if (flags.json) return printJson(io, report);
        const { clock, periods_closed, invoices_created, dunning_steps, events } = report;
        const counts = [
          `${plural(periods_closed, "period")} closed`,
          plural(invoices_created, "invoice"),
          plural(dunning_steps, "dunning step"),
        ];
        io.out(`It is ${clock.now} now: ${counts.join(", ")}.\n`);
        if (events.length === 0) return;
        const columns = [
          { title: "AT", of: (row: (typeof events)[number]) => row.at },
          { title: "EVENT", of: (row: (typeof events)[number]) => row.event },
          { title: "ID", of: (row: (typeof events)[number]) => row.resource_id },
        ];
        io.out(table(columns, events));
      }),
    );
  const freeze = remote("freeze", "Stop the clock at an instant, before the first subscription.", [
    ["dues clock freeze --at 2026-01-01", ""],
  ])
    .requiredOption("--at <instant>", "a date, or a timestamp", instant)
    .option("--json", "print JSON")
    .action(
      withConnection<Flags & { at: string }>(io, async ({ dues }, flags) => {
        const report = await dues.freezeClock({ frozen_at: flags.at });
        if (flags.json) printJson(io, report);
        else io.out(`The clock stands at ${report.clock.now}.\n`);
      }),
    );
  return new Command("clock")
    .description("The clock of a sandbox project: show it, freeze it, travel forward.")
    .addCommand(show, { isDefault: true })
    .addCommand(advance)
    .addCommand(freeze)
    .addHelpText("after", "\nExample:\n  $ dues clock advance --to 2027-01-01");
}
