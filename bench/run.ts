// `npm run bench [cluster] [name…] [--quick] [--minutes N] [--markdown]`: measures and prints
// figures against their bars, each a ratio inside one run on one machine, or a count. `cluster`
// before the names takes the benches of a Citus cluster, which CLUSTER_URL and CLUSTER_WORKERS
// name.

import { parseArgs } from "node:util";
import { benchCallers } from "./callers.ts";
import { benchClose } from "./close.ts";
import { benchGrow } from "./cluster/grow.ts";
import { benchMove } from "./cluster/move.ts";
import { benchOverhead } from "./cluster/overhead.ts";
import { benchProjects } from "./cluster/projects.ts";
import { clusterServers, NoCluster } from "./cluster/stage.ts";
import { benchWriters } from "./cluster/writers.ts";
import { benchDeliver } from "./deliver.ts";
import { benchGrowth } from "./growth.ts";
import { benchHistory } from "./history.ts";
import { benchIngest } from "./ingest.ts";
import { benchMemory, memoryFigure } from "./memory.ts";
import { benchQueue } from "./queue.ts";
import { benchReads } from "./reads.ts";
import {
  type Bench,
  describeMachine,
  markdownOf,
  type NamedFigure,
  printFigures,
  printTable,
  readResults,
  writeResults,
} from "./report.ts";
import { benchSoak } from "./soak.ts";
import { figure, type Peak, postgresVersion, print, takePeaks } from "./stage.ts";
import { watchStolen } from "./stolen.ts";
import { benchStorm } from "./storm.ts";

const onOne: Readonly<Record<string, Bench>> = {
  ingest: benchIngest,
  reads: benchReads,
  close: benchClose,
  callers: benchCallers,
  deliver: benchDeliver,
  queue: benchQueue,
  memory: benchMemory,
  growth: benchGrowth,
  history: benchHistory,
  soak: benchSoak,
  storm: benchStorm,
};

const onCluster: Readonly<Record<string, Bench>> = {
  overhead: benchOverhead,
  writers: benchWriters,
  projects: benchProjects,
  move: benchMove,
  grow: benchGrow,
};

/** Long ones, asked for by name. */
const APART = ["growth", "history", "soak", "storm"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    minutes: { type: "string", default: "10" },
    markdown: { type: "boolean", default: false },
  },
});

const isCluster = positionals[0] === "cluster";
const benches = isCluster ? onCluster : onOne;
const file = isCluster ? "results-cluster.json" : "results.json";

if (values.markdown) process.stdout.write(markdownOf(readResults(file)));
else await measure(isCluster ? positionals.slice(1) : positionals);

async function measure(asked: readonly string[]): Promise<void> {
  if (isCluster) checkCluster();
  const names = asked.length > 0 ? asked : inGeneral();
  const unknown = names.find((name) => !Object.hasOwn(benches, name));
  if (unknown !== undefined) {
    process.stderr.write(`There is no bench "${unknown}": ${Object.keys(benches).join(", ")}.\n`);
    process.exit(1);
  }
  const options = { quick: values.quick, minutes: Number(values.minutes) };
  const date = new Date().toISOString();
  const machine = describeMachine();
  const stolenInAll = watchStolen();
  const figures: NamedFigure[] = [];
  const peaks: Peak[] = [];
  const take = (bench: string, found: Awaited<ReturnType<Bench>>) => {
    printFigures(bench, found);
    figures.push(...found.map((one) => ({ bench, ...one })));
  };
  for (const name of names) {
    const start = performance.now();
    const stolenMeanwhile = watchStolen();
    try {
      take(name, (await benches[name]?.(options)) ?? []);
    } catch (error) {
      // A wrong answer, not a slow one. The others are still worth knowing.
      process.stderr.write(`\n${name} failed: ${error instanceof Error ? error.stack : error}\n`);
      process.exitCode = 1;
    }
    const held = takePeaks();
    // A storm has a bar of its own for memory.
    if (name !== "storm") peaks.push(...held);
    for (const { file, peak_mb } of held) print(`memory of ${file} at most, MB`, figure(peak_mb));
    const stolen = stolenMeanwhile();
    if (stolen !== undefined) print("time the host gave to others, %", figure(stolen));
    const seconds = Math.round((performance.now() - start) / 1_000);
    process.stdout.write(` (${name} took ${seconds} s)\n`);
  }
  take("memory", memoryFigure(peaks));
  const postgres = postgresVersion();
  const stolen_percent = stolenInAll();
  const results = {
    date,
    quick: options.quick,
    machine: { ...machine, postgres },
    stolen_percent,
    figures,
  };
  writeResults(file, results);
  printTable(results);
}

function checkCluster(): void {
  try {
    clusterServers();
  } catch (error) {
    if (!(error instanceof NoCluster)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

function inGeneral(): string[] {
  return Object.keys(benches).filter((name) => !APART.includes(name));
}
