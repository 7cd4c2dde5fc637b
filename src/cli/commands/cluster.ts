// The commands about a Citus cluster under the service. They work on its database, as `migrate`
// does.

import type { Command } from "commander";
import { readConfig } from "../../config.ts";
import type {
  ClusterStatus,
  Distribution,
  Rebalance,
  RebalanceProgress,
  TableProgress,
} from "../../service/cluster.ts";
import { command, group, wholeNumber } from "../connection/command.ts";
import { untilStopped } from "../connection/follow.ts";
import { AlreadyReported, type Io, printJson } from "../terminal/io.ts";
import { byteSize, clean, plural, styled, wrapped } from "../terminal/output.ts";
import { bar, drawLine } from "../terminal/progress.ts";
import { type Column, plainTable } from "../terminal/table.ts";
import { CLEAR_LINE } from "../terminal/visible.ts";

/** Loaded on demand: the other commands start without what works on a database. */
const service = () => import("../../service/cluster.ts");

const SHARDS_MAX = 1_024;

export function clusterCommand(io: Io): Command {
  return group("cluster", "The service's database on several machines, with Citus.", [
    distributeCommand(io),
    statusCommand(io),
    rebalanceCommand(io),
  ]);
}

function distributeCommand(io: Io): Command {
  return command(
    "distribute",
    "writes",
    "Migrate, and spread over the nodes what is not spread yet.",
    [
      ["DATABASE_URL=postgres://coordinator/dues dues cluster distribute", ""],
      ["dues cluster distribute --shards 32", "for more than 16 nodes one day"],
    ],
  )
    .option(
      "--shards <n>",
      "parts that projects are spread over, at the first run (default: 16)",
      wholeNumber(1, SHARDS_MAX),
    )
    .option("--json", "print JSON")
    .addHelpText("after", DISTRIBUTE_HELP)
    .action(async (flags: { shards?: number; json?: boolean }) => {
      const { distributeStore } = await service();
      const progress = new DistributeProgress(io);
      try {
        const { shards } = flags;
        const say = (line: string) => io.err(`${line}\n`);
        const made = await distributeStore(readConfig(), { shards, progress, say });
        progress.end();
        if (flags.json) printJson(io, made);
        else io.out(distributionText(io, made));
      } finally {
        progress.end();
      }
    });
}

const DISTRIBUTE_HELP = `
DATABASE_URL names the coordinator, whose workers were added with citus_add_node. Stop every
process of dues first: tables are locked while they are copied, and this refuses while one serves.
All happens in one transaction: a run that fails or is killed leaves everything as it was. Run it
again whenever nothing serves; it does what is missing, and says so when nothing is.

The number of shards is the most nodes that the cluster can grow to, and stays. Plan 2 to 4 for
each: statements over all projects take longer with each (8: 3.5 ms, 32: 8.9 ms).`;

/** A bar on a terminal; and a line for each migration that is applied and table that is copied. */
export class DistributeProgress implements TableProgress {
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  migrating(name: string, before: number, total: number): void {
    if (this.#io.progress) drawLine(this.#io, `${bar(before / total)} ${name}`);
  }

  migrated(name: string, ms: number): void {
    this.end();
    this.#io.err(`applied ${name}, ${seconds(ms)}\n`);
  }

  starting({ name, bytes }: { name: string; bytes: number }, before: number, total: number): void {
    if (!this.#io.progress) return;
    const part = total === 0 ? 0 : before / total;
    drawLine(this.#io, `${bar(part)} ${name}, ${byteSize(bytes)}`);
  }

  done(table: Distribution["tables"][number]): void {
    const where = table.column === null ? "on every node" : `by ${table.column}`;
    const size = `${plural(table.rows, "row")}, ${byteSize(table.bytes)}, ${seconds(table.ms)}`;
    this.end();
    this.#io.err(`${table.name.padEnd(NAME_WIDTH)} ${where.padEnd(14)} ${size}\n`);
  }

  end(): void {
    if (this.#io.progress) this.#io.err(CLEAR_LINE);
  }
}

const NAME_WIDTH = 20;

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

export function distributionText(io: Io, made: Distribution): string {
  const { applied, tables, functions, warnings } = made;
  const lines = [
    ...(applied.length === 0 ? [] : [`Applied ${plural(applied.length, "migration")}.`]),
    tables.length + functions.length === 0
      ? "Everything is distributed."
      : `Distributed ${plural(tables.length, "table")} and ${plural(functions.length, "function")}.`,
  ];
  const told = warnings.map((warning) =>
    wrapped(`Warning: ${warning}`).replace(/^Warning:/, styled(io, "yellow", "Warning:")),
  );
  return `${lines.join("\n")}\n${told.join("")}`;
}

function statusCommand(io: Io): Command {
  return command("status", "reads", "The nodes, what is on each, and what is wrong.", [
    ["DATABASE_URL=postgres://coordinator/dues dues cluster status", ""],
    ["dues cluster status --json", "for a monitor"],
  ])
    .option("--json", "print JSON")
    .addHelpText("after", STATUS_HELP)
    .action(async (flags: { json?: boolean }) => {
      const { readClusterStatus } = await service();
      const status = await readClusterStatus(readConfig());
      if (flags.json) printJson(io, status);
      else io.out(statusText(io, status));
      const exit = exitOf(status);
      if (exit !== "done") throw new AlreadyReported(exit);
    });
}

const STATUS_HELP = `
DATABASE_URL names the coordinator, or a worker while the coordinator is away. Each node is asked
apart and has 2 seconds to let the others in, so that this answers while some are away or hang.

Exit codes: 0 all is well, also on a PostgreSQL without Citus; 69 a node, or the database of
DATABASE_URL, did not answer; 1 something else is wrong: a node is disabled, not everything is
distributed, or shards cannot move.`;

/** What a monitor looks at: 69 goes before 1, because calls fail while a node is away. */
export function exitOf(status: ClusterStatus): "done" | "failed" | "unreachable" {
  if (status.kind === "plain") return "done";
  if (status.kind === "away") return "unreachable";
  if (status.problems.some(({ code }) => code === "node_away")) return "unreachable";
  return status.problems.length === 0 ? "done" : "failed";
}

type Cluster = Extract<ClusterStatus, { kind: "cluster" }>;

const NODE_COLUMNS: readonly Column<Cluster["nodes"][number]>[] = [
  { title: "NODE", of: ({ address }) => address },
  { title: "ROLE", of: ({ role }) => role },
  { title: "STATE", of: stateOf },
  { title: "SHARDS", right: true, of: ({ shards }) => shards },
  { title: "PROJECTS", right: true, of: ({ projects }) => projects },
  { title: "SIZE", right: true, of: ({ bytes }) => (bytes === null ? null : byteSize(bytes)) },
];

function stateOf({ is_active, is_reachable }: Cluster["nodes"][number]): string {
  if (!is_active) return "disabled";
  return is_reachable ? "up" : "away";
}

export function statusText(io: Io, status: ClusterStatus): string {
  if (status.kind === "away") {
    return wrapped(`The database of DATABASE_URL does not answer: ${clean(status.why)}.`);
  }
  if (status.kind === "plain") {
    return wrapped(
      "DATABASE_URL names a PostgreSQL without Citus: all projects are on this one machine, and " +
        "there is nothing to distribute. docs/SCALING.md says when a cluster is worth it, and " +
        "how to move to one.",
    );
  }
  const { nodes, problems, projects_away, planned_moves } = status;
  const found = problems.map(({ says }) =>
    wrapped(`Wrong: ${clean(says)}`).replace(/^Wrong:/, styled(io, "red", "Wrong:")),
  );
  const ends = [
    ...(projects_away.count === 0 ? [] : [awayText(projects_away)]),
    ...(problems.length === 0 ? ["Everything is distributed.\n"] : []),
    ...((planned_moves ?? 0) > 0 ? [moveText(nodes)] : []),
  ];
  return [plainTable(NODE_COLUMNS, nodes), ...found, ...ends].join("\n");
}

/** Why shards can move, where that is plain to see; the rest a rebalance weighs itself. */
function moveText(nodes: Cluster["nodes"]): string {
  const listed = (chosen: Cluster["nodes"]) => chosen.map(({ address }) => address).join(", ");
  const empty = nodes.filter(({ takes_shards, shards }) => takes_shards && shards === 0);
  const leaving = nodes.filter(({ takes_shards, shards }) => !takes_shards && shards > 0);
  const why = [
    ...(empty.length === 0 ? [] : [` ${listed(empty)} has none yet.`]),
    ...(leaving.length === 0 ? [] : [` ${listed(leaving)} is to give its shards away.`]),
  ];
  return wrapped(`Shards can move.${why.join("")} dues cluster rebalance moves them.`);
}

function awayText({ count, names }: Cluster["projects_away"]): string {
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  return wrapped(`Away with their node: ${plural(count, "project")}: ${names.join(", ")}${more}.`);
}

function rebalanceCommand(io: Io): Command {
  return command(
    "rebalance",
    "writes",
    "Move shards until the nodes carry alike, while dues serves.",
    [["DATABASE_URL=postgres://coordinator/dues dues cluster rebalance", ""]],
  )
    .option("--json", "print JSON")
    .addHelpText("after", REBALANCE_HELP)
    .action(async (flags: { json?: boolean }) => {
      const { rebalanceStore } = await service();
      const progress = new MoveProgress(io);
      const onProgress = (state: RebalanceProgress) => progress.show(state);
      await untilStopped(async (signal) => {
        const rebalancing = rebalanceStore(readConfig(), { onProgress, signal });
        const done = await rebalancing.finally(() => progress.end());
        if (flags.json) printJson(io, done);
        else io.out(rebalanceText(done));
        if (done.state === "left_running") throw new AlreadyReported("failed");
      });
    });
}

const REBALANCE_HELP = `
After a node was added with citus_add_node. To empty a node before it is removed, run at the
coordinator, then this: select citus_set_node_property('host', 5432, 'shouldhaveshards', false)

Nodes are made alike by the bytes on their disks: projects differ in size, and each is whole on one
node. Each shard counts 100 MB more than it has, so that small ones are spread by their number.

The cluster does the moves by itself. Ctrl-C ends only the watching, with exit code 1; run it again
to go on watching. To end the moves, run at the coordinator: select citus_rebalance_stop()`;

/** One line that is drawn anew, on a terminal; else a line for each step that is done. */
export class MoveProgress {
  readonly #io: Io;
  #steps_done = -1;
  #failure = "";

  constructor(io: Io) {
    this.#io = io;
  }

  show(state: RebalanceProgress): void {
    const { steps, steps_done, failure } = state;
    this.#showFailure(failure);
    const text = `${steps_done} of ${plural(steps, "step")}${copyingText(state)}`;
    if (this.#io.progress) {
      drawLine(this.#io, `${bar(steps_done / Math.max(steps, 1))} ${text}`);
    } else if (steps_done !== this.#steps_done) {
      this.#io.err(`${text}\n`);
    }
    this.#steps_done = steps_done;
  }

  /** Tells of each try that failed: Citus goes on trying for long, without a word of its own. */
  #showFailure(failure: RebalanceProgress["failure"]): void {
    const text = failure === null ? "" : `${failure.tries} ${failure.says}`;
    if (failure !== null && text !== this.#failure) {
      this.end();
      const tries = plural(failure.tries, "time");
      this.#io.err(
        wrapped(`A step failed, ${tries} so far, and is tried again: ${clean(failure.says)}`),
      );
    }
    this.#failure = text;
  }

  end(): void {
    if (this.#io.progress) this.#io.err(CLEAR_LINE);
  }
}

function copyingText({ copying }: RebalanceProgress): string {
  if (copying === null) return "";
  const { bytes, bytes_done, phase } = copying;
  return `, ${byteSize(bytes_done)} of ${byteSize(bytes)}, ${phase}`;
}

export function rebalanceText({ state, steps, steps_done, was_running }: Rebalance): string {
  if (state === "nothing_to_move") return "The nodes carry alike: nothing to move.\n";
  if (state === "finished") {
    const which = was_running ? "The rebalance that was running is done" : "Done";
    return wrapped(
      `${which}: ${plural(steps, "step")}. dues cluster status shows where everything is.`,
    );
  }
  return wrapped(
    `The rebalance goes on in the cluster (${steps_done} of ${plural(steps, "step")} done). Run ` +
      "dues cluster rebalance again to watch it. To end it, run at the coordinator: select " +
      "citus_rebalance_stop()",
  );
}
