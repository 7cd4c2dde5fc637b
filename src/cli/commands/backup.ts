// The commands about a whole database: backup, restore, resume and upgrade-data. They work on the
// database itself, as `migrate` does.

import { type Command, InvalidArgumentError } from "commander";
import { monotonicMs, systemClock } from "../../clock.ts";
import { readConfig } from "../../config.ts";
import type { Reporter, WrittenBackup } from "../../service/backup.ts";
import type {
  Counters,
  InvoiceCounter,
  NextNumber,
  PassedCounter,
  RestoredBackup,
  Waiting,
} from "../../service/restore.ts";
import type { UpgradedData } from "../../service/upgrade-data.ts";
import { command } from "../connection/command.ts";
import { CliError, type Io, printJson } from "../terminal/io.ts";
import { byteSize, clean, plural, wrapped } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";
import { type Column, plainTable } from "../terminal/table.ts";

/** Loaded on demand: the other commands start without what works on a database. */
const backups = () => import("../../service/backup.ts");
const restores = () => import("../../service/restore.ts");

const YEAR_MIN = 1970;
const NUMBER_MAX = 2_000_000_000;

export function backupCommands(io: Io): Command[] {
  return [backupCommand(io), restoreCommand(io), resumeCommand(io), upgradeCommand(io)];
}

function backupCommand(io: Io): Command {
  return command(
    "backup",
    "writes",
    "Write the whole database into a file, while the service runs.",
    [
      ["dues backup dues.gz", "of ./.dues, or of DATABASE_URL"],
      ["dues backup - | ssh vault 'cat > dues.gz'", "to standard output"],
    ],
  )
    .argument("<file>", "the file to write; - is standard output")
    .option("--force", "replace the file if it is there")
    .option("--with-key", "put the secret key into the file too: keep it as you keep a key")
    .option("--json", "print JSON")
    .addHelpText("after", BACKUP_HELP)
    .action(async (file: string, flags: BackupFlags) => {
      const { backUp, backUpTo } = await backups();
      const reporter = reporterOn(io);
      const { force = false, withKey: with_key = false } = flags;
      const now = systemClock.now();
      const config = readConfig();
      try {
        if (file === "-") {
          await backUpTo(config, process.stdout, { with_key }, reporter, now);
          return;
        }
        const written = await backUp(config, { file, force, with_key }, reporter, now);
        reporter.end();
        if (flags.json) printJson(io, written);
        else io.out(backupText(written));
      } finally {
        reporter.end();
      }
    });
}

type BackupFlags = { force?: boolean; withKey?: boolean; json?: boolean };

const BACKUP_HELP = `
One snapshot of every table, of an embedded database, of DATABASE_URL or of a cluster; the service
goes on meanwhile. The file is gzip of text with a checksum, readable by its owner only, and is
there when it is complete. It holds everything but the secret key (SECRET_KEY, or secret.key in
DUES_DATA): keep that too, apart from it, or add --with-key. Without the key it cannot be restored.`;

function backupText({ file, bytes, tables, schema, sha256, with_key }: WrittenBackup): string {
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  const key = with_key
    ? "The secret key is in it: keep the file as you keep a key."
    : "The secret key is not in it: keep SECRET_KEY, or secret.key of DUES_DATA, apart from it.";
  return [
    `${file}: ${plural(rows, "row")} of ${plural(tables.length, "table")}, ${byteSize(bytes)}.`,
    `Schema ${schema}, SHA-256 of the contents ${sha256}.`,
    key,
    "",
  ].join("\n");
}

function restoreCommand(io: Io): Command {
  return command("restore", "writes", "Load a backup into an empty database or folder.", [
    ["DUES_DATA=./new dues restore dues.gz", "into a new folder"],
    ["DATABASE_URL=postgres://… dues restore dues.gz", "into an empty database"],
    ["dues restore dues.gz --next-invoice 2026:1234", "numbers below were given out since"],
  ])
    .argument("<file>", "a file that dues backup has made")
    .option(...NEXT_INVOICE)
    .option(...NEXT_CREDIT_NOTE)
    .option("--json", "print JSON")
    .addHelpText("after", RESTORE_HELP)
    .action(async (file: string, flags: NextFlags & { json?: boolean }) => {
      const { restoreBackup } = await restores();
      const reporter = reporterOn(io);
      try {
        const wanted = { file, next_numbers: nextOf(flags) };
        const restored = await restoreBackup(readConfig(), wanted, reporter, systemClock.now());
        reporter.end();
        if (flags.json) printJson(io, { ...restored, held: true });
        else io.out(restoredText(restored));
      } finally {
        reporter.end();
      }
    });
}

const NEXT_INVOICE = [
  "--next-invoice <[project:]year:number>",
  "the next invoice of the year has at least this number; may be repeated",
  nextInvoice,
] as const;
const NEXT_CREDIT_NOTE = [
  "--next-credit-note <[project:]year:number>",
  "the same for credit notes, which have numbers of their own",
  nextCreditNote,
] as const;

type NextFlags = { readonly nextInvoice?: NextNumber[]; readonly nextCreditNote?: NextNumber[] };

function nextOf({ nextInvoice = [], nextCreditNote = [] }: NextFlags): NextNumber[] {
  return [...nextInvoice, ...nextCreditNote];
}

const RESTORE_HELP = `
The checksum and the key are checked first, and all is loaded in one transaction: a run that fails
or is killed leaves the database empty. It may be of another major version of PostgreSQL than the
backup's, or the coordinator of a cluster: before or after dues cluster distribute.

The service then answers calls and is held: it closes no period, issues no invoice and sends no
message until dues resume. Invoices that were issued after the backup are not in it. So that their
numbers are not given out again, name the first that is free with --next-invoice, here or with dues
resume: 2026:1234 for every project, acme/main/live:2026:1234 or <project id>:2026:1234 for one.
--next-credit-note does the same for credit notes.`;

export function nextInvoice(text: string, before: NextNumber[] = []): NextNumber[] {
  return [...before, nextNumber(text, "invoices")];
}

export function nextCreditNote(text: string, before: NextNumber[] = []): NextNumber[] {
  return [...before, nextNumber(text, "credit notes")];
}

function nextNumber(text: string, series: NextNumber["series"]): NextNumber {
  const [, project, year, next] = /^(?:([^:]+):)?(\d{4}):(\d{1,10})$/.exec(text) ?? [];
  const wanted = { project, year: Number(year), next: Number(next), series };
  const isKnown = wanted.year >= YEAR_MIN && wanted.next >= 2 && wanted.next <= NUMBER_MAX;
  if (isKnown) return wanted;
  throw new InvalidArgumentError(
    `Takes year:number or project:year:number, such as 2026:1234; a number from 2 to ${NUMBER_MAX}.`,
  );
}

function restoredText({ tables, left_out, applied, created_at, ...rest }: RestoredBackup): string {
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  return [
    `Restored ${plural(rows, "row")} of ${plural(tables.length, "table")}, as of ${created_at}.\n`,
    ...left_out.map((name) => `Left out: ${clean(name)}, which is no table of dues.\n`),
    ...applied.map((name) => `applied ${name}\n`),
    countersText(rest),
    passedText(rest.passed),
    wrapped(
      "Access is as it was then: tokens, portal links and webhook secrets that were revoked or " +
        "renewed since work again. Look at them first: dues keys list",
    ),
    wrapped(
      "The service is held: it answers calls, and closes no period, issues no invoice and sends " +
        "no message. Look at what is about to happen and let it go on: dues resume",
    ),
  ].join("");
}

type Series = NextNumber["series"];

const SERIES_NAMES: Readonly<Record<Series, { readonly one: string; readonly prefix: string }>> = {
  invoices: { one: "invoice", prefix: "INV" },
  "credit notes": { one: "credit note", prefix: "CN" },
};

function numberOf(series: Series, { year, last }: InvoiceCounter): string {
  return `${SERIES_NAMES[series].prefix}-${year}-${String(last + 1).padStart(4, "0")}`;
}

function countersText({ counters, credit_note_counters }: Counters): string {
  return seriesText("invoices", counters) + seriesText("credit notes", credit_note_counters);
}

function seriesText(series: Series, counters: readonly InvoiceCounter[]): string {
  if (counters.length === 0) return "";
  const columns: readonly Column<InvoiceCounter>[] = [
    { title: "PROJECT", of: ({ project }) => project },
    {
      title: `NEXT ${SERIES_NAMES[series].one.toUpperCase()}`,
      of: (counter) => numberOf(series, counter),
    },
  ];
  return `\n${plainTable(columns, counters)}\n`;
}

/** Tells of numbers that are given out already: another project or year may have been meant. */
function passedText(passed: readonly PassedCounter[]): string {
  const lines = passed.map((counter) => {
    const { series, project, year, next } = counter;
    const flag = `--next-${SERIES_NAMES[series].one.replace(" ", "-")} ${year}:${next}`;
    return wrapped(
      `${flag} changed nothing in ${clean(project)}: the next ${SERIES_NAMES[series].one} is ` +
        `${numberOf(series, counter)} already, and numbers only go up.`,
    );
  });
  return lines.length === 0 ? "" : `${lines.join("")}\n`;
}

function resumeCommand(io: Io): Command {
  return command(
    "resume",
    "writes",
    "Let a restored service close periods and send messages again.",
    [
      ["dues resume", "shows what is about to happen, and asks"],
      ["dues resume --next-invoice 2026:1234 --yes", "for scripts"],
    ],
  )
    .option(...NEXT_INVOICE)
    .option(...NEXT_CREDIT_NOTE)
    .option("--yes", "do not ask")
    .option("--json", "print JSON")
    .addHelpText("after", "\nRunning processes go on within a second or two, without a restart.")
    .action(async (flags: ResumeFlags) => {
      const { readHold, resume } = await restores();
      const config = readConfig();
      const reporter = reporterOn(io);
      const waiting = await readHold(config, reporter, systemClock.now());
      if (waiting.held_since === null) {
        if (flags.json) printJson(io, { ...waiting, resumed: false });
        else io.out("Nothing is held.\n");
        return;
      }
      if (!flags.json) io.out(waitingText(waiting));
      if (!flags.yes) await confirmResume(io, waiting, flags);
      const next = nextOf(flags);
      const done = await resume(config, next, reporter);
      if (flags.json) {
        printJson(io, { ...waiting, ...done, resumed: true });
        return;
      }
      // Counters that no number was named for are shown above.
      const moved = next.length === 0 ? "" : countersText(done);
      io.out(`${moved}${passedText(done.passed)}Resumed.\n`);
    });
}

const SET_ASIDE_TEXT = "stayed unbilled, set aside: dues doctor says why";

type ResumeFlags = NextFlags & { yes?: boolean; json?: boolean };

/** Asks, with the words on the other output where one JSON document is all that is printed. */
async function confirmResume(io: Io, waiting: Waiting, { json }: ResumeFlags): Promise<void> {
  if (json && io.interactive) io.err(waitingText(waiting));
  try {
    await confirm(io);
  } catch (error) {
    if (json) printJson(io, { ...waiting, resumed: false });
    throw error;
  }
}

function waitingText(waiting: Waiting): string {
  const { held_since, periods, set_aside, messages, invoices } = waiting;
  return [
    waiting.moved ? wrapped(MOVED) : "",
    `Held since ${held_since?.toISOString()}. When it goes on:\n`,
    `  ${plural(periods, "period")} that ended will be closed and invoiced\n`,
    set_aside === 0 ? "" : `  ${plural(set_aside, "period")} that ended ${SET_ASIDE_TEXT}\n`,
    `  ${plural(messages, "webhook message")} will be sent\n`,
    `  ${plural(invoices, "unpaid invoice")} will be marked overdue or reminded of\n`,
    countersText(waiting),
    wrapped(
      "What happened between the backup and its restore is not here. If invoices were issued " +
        "then, name the next free number: --next-invoice 2026:1234",
    ),
  ].join("");
}

const MOVED =
  "The database is in another PostgreSQL, or is another database of it, than it was set up in. If " +
  "it came as a dump, all that was done since the dump is missing; if all of it was moved, nothing " +
  "is.";

async function confirm(io: Io): Promise<void> {
  if (!io.interactive) {
    throw new CliError("failed", "Nothing was changed.", "Add --yes when this may happen.");
  }
  const answer = await io.ask("Go on? [y/N] ");
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("failed", "Nothing was changed.");
}

function upgradeCommand(io: Io): Command {
  return command(
    "upgrade-data",
    "writes",
    "Move the embedded data to the PostgreSQL of this version.",
    [
      ["dues upgrade-data", "when the start says that another version wrote the data"],
      ["dues upgrade-data --from-binaries /opt/pg17", "with the programs of that version"],
    ],
  )
    .option("--from-binaries <folder>", "folder with bin/postgres of the version that wrote it")
    .option("--json", "print JSON")
    .addHelpText("after", UPGRADE_HELP)
    .action(async (flags: { fromBinaries?: string; json?: boolean }) => {
      const { upgradeData } = await import("../../service/upgrade-data.ts");
      const reporter = reporterOn(io);
      try {
        const wanted = { from_binaries: flags.fromBinaries };
        const upgraded = await upgradeData(readConfig(), wanted, reporter, systemClock.now());
        reporter.end();
        if (flags.json) printJson(io, upgraded);
        else io.out(upgradedText(upgraded));
      } finally {
        reporter.end();
      }
    });
}

const UPGRADE_HELP = `
Starts the old PostgreSQL on the data, takes a backup, restores it into a new folder, and swaps the
two; the old one is kept. A run that fails leaves everything as it was. Stop the service first. Without the
programs of the old PostgreSQL: dues backup with the version of dues that wrote the data, then move
the folder postgres away, and dues restore with this one.`;

function upgradedText({ from, to, restored, backup, former }: UpgradedData): string {
  if (restored === undefined) return `The data is of PostgreSQL ${to} already.\n`;
  const rows = restored.tables.reduce((sum, each) => sum + each.rows, 0);
  return [
    `Moved ${plural(rows, "row")} from PostgreSQL ${from} to ${to}.\n`,
    "Start the service, and when all is well remove what was before:\n",
    `  rm -r ${former} ${backup}\n`,
  ].join("");
}

/** Reports to who runs the command: a bar on a terminal, elsewhere only what has to be said. */
function reporterOn(io: Io): Reporter & { end(): void } {
  const bar = new Progress(io, monotonicMs, { quiet: true });
  return {
    say(line) {
      bar.end();
      io.err(`${line}\n`);
    },
    progress(what, part) {
      const done = Math.min(part, 1);
      bar.show(done, () => `${Math.floor(done * 100)} % ${what}`);
    },
    end: () => bar.end(),
  };
}
