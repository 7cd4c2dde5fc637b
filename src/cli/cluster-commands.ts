// The commands about a Citus cluster under the service. They work on its database, as `migrate`
// does.

import type { Command } from "commander";
import { readConfig } from "../config.ts";
import type { Distribution, Told } from "../main.ts";
import { command, group, wholeNumber } from "./command.ts";
import { type Io, printJson } from "./io.ts";
import { byteSize, plural, styled } from "./output.ts";
import { bar } from "./progress.ts";

/** Loaded on demand, so that the other commands start without loading the server. */
const service = () => import("../main.ts");

const SHARDS_MAX = 1_024;

export function clusterCommand(io: Io): Command {
  return group("cluster", "The service's database on several machines, with Citus.", [
    distributeCommand(io),
  ]);
}

function distributeCommand(io: Io): Command {
  return command("distribute", "Migrate, and spread over the nodes what is not spread yet.", [
    ["DATABASE_URL=postgres://coordinator/dues dues cluster distribute", ""],
    ["dues cluster distribute --shards 32", "for more than 16 nodes one day"],
  ])
    .option(
      "--shards <n>",
      "parts that projects are spread over, at the first run (default: 16)",
      wholeNumber(1, SHARDS_MAX),
    )
    .option("--json", "print JSON")
    .addHelpText("after", DISTRIBUTE_WORDS)
    .action(async (flags: { shards?: number; json?: boolean }) => {
      const { distributeStore } = await service();
      const told = new CopyProgress(io);
      try {
        const { shards } = flags;
        const made = await distributeStore(readConfig(), { shards, told });
        told.end();
        if (flags.json) printJson(io, made);
        else io.out(distributionWords(io, made));
      } finally {
        told.end();
      }
    });
}

const DISTRIBUTE_WORDS = `
DATABASE_URL names the coordinator, whose workers were added with citus_add_node. Stop every
process of dues first: tables are locked while they are copied, and this refuses while one serves.
All happens in one transaction: a run that fails or is killed leaves everything as it was. Run it
again at any time; it does what is missing, and says so when nothing is.

The number of shards is the most nodes that the cluster can grow to, and stays. Plan 2 to 4 for
each: statements over all projects take longer with each (8: 3.5 ms, 32: 8.9 ms).`;

/** A bar while a table is copied, on a terminal; a line for each that is done. */
class CopyProgress implements Told {
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  starting({ name, bytes }: { name: string; bytes: number }, before: number, total: number): void {
    if (!this.#io.progress) return;
    const part = total === 0 ? 0 : before / total;
    this.#io.err(`\r\u001b[K${bar(part)} ${name}, ${byteSize(bytes)}`);
  }

  done(table: Distribution["tables"][number]): void {
    const where = table.column === null ? "on every node" : `by ${table.column}`;
    const size = `${plural(table.rows, "row")}, ${byteSize(table.bytes)}, ${seconds(table.ms)}`;
    this.end();
    this.#io.err(`${table.name.padEnd(NAME_WIDTH)} ${where.padEnd(14)} ${size}\n`);
  }

  end(): void {
    if (this.#io.progress) this.#io.err("\r\u001b[K");
  }
}

const NAME_WIDTH = 20;

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

function distributionWords(io: Io, made: Distribution): string {
  const { applied, tables, functions, warnings } = made;
  const lines = [
    ...applied.map((name) => `applied ${name}`),
    tables.length + functions.length === 0
      ? "Everything is distributed."
      : `Distributed ${plural(tables.length, "table")} and ${plural(functions.length, "function")}.`,
    ...warnings.map((warning) => `${styled(io, "yellow", "Warning:")} ${warning}`),
  ];
  return `${lines.join("\n")}\n`;
}
