// `dues export` of customers, subscriptions, invoices, payments and events: a project's data as
// CSV, page by page, so that its size does not matter. What a row looks like is in csv-tables.ts.

import type { Command } from "commander";
import type { Dues } from "../../client/dues.ts";
import { monotonicMs } from "../../clock.ts";
import { calendarDate, remote, withConnection } from "../connection/command.ts";
import type { ConnectionFlags } from "../connection/profile.ts";
import { csvLine } from "../terminal/csv-write.ts";
import { writesFile } from "../terminal/effects.ts";
import { writeWhole } from "../terminal/files.ts";
import { type Io, writeRaw } from "../terminal/io.ts";
import { plural } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";
import {
  exportedCustomers,
  exportedEvents,
  exportedInvoices,
  exportedPayments,
  exportedSubscriptions,
  type Span,
  type Table,
} from "./csv-tables.ts";

type Flags = ConnectionFlags &
  Span & {
    readonly csv?: boolean;
    readonly output?: string;
    readonly force?: boolean;
    readonly bom?: boolean;
    readonly customer?: string;
    readonly subscription?: string;
  };

type What = {
  readonly name: string;
  readonly says: string;
  /** What is done on the days of --from and --to; without it there are no such flags. */
  readonly days?: string;
};

export function dataExports(io: Io): Command[] {
  const customers = { name: "customers", says: "Customers as CSV, newest first." };
  const subscriptions = { name: "subscriptions", says: "Subscriptions as CSV, newest first." };
  return [
    exportCommand(io, customers, exportedCustomers),
    exportCommand(io, subscriptions, (dues, flags) =>
      exportedSubscriptions(dues, flags.customer),
    ).option("--customer <customer>", "of this customer only"),
    exportCommand(
      io,
      { name: "invoices", says: "Invoices as CSV, newest first.", days: "issued" },
      (dues, flags) => exportedInvoices(dues, flags, flags.customer),
    ).option("--customer <customer>", "of this customer only"),
    exportCommand(
      io,
      { name: "payments", says: "Payments as CSV, newest first.", days: "paid" },
      (dues, flags) => exportedPayments(dues, flags, flags.customer),
    ).option("--customer <customer>", "of this customer only"),
    exportCommand(
      io,
      { name: "events", says: "Usage events as CSV, by subscription.", days: "used" },
      (dues, flags) => exportedEvents(dues, flags, flags.subscription),
    ).option("--subscription <subscription>", "of this subscription only"),
  ];
}

function exportCommand(
  io: Io,
  { name, says, days }: What,
  read: (dues: Dues, flags: Flags) => Promise<Table>,
): Command {
  const quarter = `dues export ${name} --csv --from 2027-01-01 --to 2027-03-31 -o q1.csv`;
  const made = remote(name, writesFile("output"), says, [
    [`dues export ${name} --csv > ${name}.csv`, "all of them"],
    ...(days === undefined ? [] : [[quarter, "a quarter"] as const]),
  ]).option("--csv", "as CSV, which is the default");
  if (days !== undefined) {
    made
      .option("--from <date>", `${days} on this day (UTC) or later`, calendarDate)
      .option("--to <date>", `${days} on this day or earlier`, calendarDate);
  }
  return made
    .option("-o, --output <file>", "write to this file, and show progress")
    .option("--force", "overwrite the file")
    .option("--bom", "begin with a byte order mark, by which Excel knows UTF-8")
    .addHelpText(
      "after",
      `
Amounts are given twice: in the smallest currency unit (total_cents) and as a decimal (total). A text
that a spreadsheet would take for a formula has an apostrophe in front. What is due on an invoice that
is not void is total - credit_applied - offset - amount_paid + overpaid - written_off.`,
    )
    .action(
      withConnection<Flags>(io, async ({ dues }, flags) => {
        const table = await read(dues, flags);
        if (flags.output !== undefined) return intoFile(io, name, table, flags, flags.output);
        const put = (text: string) =>
          io.terminal
            ? Promise.resolve(io.out(text.replaceAll("\r", "")))
            : writeRaw(io.stdout, text);
        await writeTable(table, flags, put, () => {});
      }),
    );
}

async function writeTable(
  table: Table,
  { bom }: Flags,
  put: (text: string) => Promise<unknown>,
  seen: (rows: number) => void,
): Promise<number> {
  let rows = 0;
  await put(`${bom ? "\ufeff" : ""}${csvLine(table.columns)}`);
  for await (const page of table.pages) {
    await put(page.map(csvLine).join(""));
    rows += page.length;
    seen(rows);
  }
  return rows;
}

async function intoFile(
  io: Io,
  name: string,
  table: Table,
  flags: Flags,
  file: string,
): Promise<void> {
  const terms = {
    replace: flags.force === true,
    hint: "--force overwrites it.",
    mode: 0o600,
  };
  const progress = new Progress(io, monotonicMs);
  const seen = (rows: number) =>
    progress.show(undefined, (spent_ms) => {
      return `${rows} ${name}, ${Math.round((rows * 1000) / Math.max(spent_ms, 1))}/s`;
    });
  try {
    const count = await writeWhole(file, terms, (put) => writeTable(table, flags, put, seen));
    progress.end();
    io.err(`${plural(count, name.slice(0, -1))} in ${file}.\n`);
  } finally {
    progress.end();
  }
}
