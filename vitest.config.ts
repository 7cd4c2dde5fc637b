// How the tests run: four files at a time, on one PostgreSQL that the run starts itself.

import { defineConfig } from "vitest/config";
import { LongestFirst } from "./tests/support/sequencer.ts";

// Deep runs (hours of kills, millions of rows) are asked for: npm run test:deep. A quick run, as
// part of npm run check, leaves out what starts browsers and kills processes.
const deep = process.env.DUES_DEEP === "1";
// The whole suite again on a Citus cluster, with what needs one: npm run test:cluster.
const cluster = process.env.DUES_CLUSTER === "1";
const quick = process.env.DUES_QUICK === "1";
const kinds = [...(deep ? ["deep"] : []), ...(cluster ? ["cluster"] : [])];

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts", ...kinds.map((kind) => `tests/**/*.${kind}.ts`)],
    exclude: quick ? ["tests/**/*.slow.test.ts", "node_modules/**"] : ["node_modules/**"],
    globalSetup: ["tests/support/global-setup.ts"],
    setupFiles: ["tests/support/watch-locks.ts"],
    // For what never ends. A virtual machine's host may give nine tenths of its time to others, and
    // on a cluster all nodes share the machine; what must be quick has a limit of its own.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    pool: "forks",
    // Two more than the cores of a small machine: many tests wait for processes and deadlines.
    maxWorkers: cluster ? 2 : 4,
    sequence: { sequencer: LongestFirst },
    // No test replaces a module, so files may share what they import.
    isolate: false,
  },
});
