// How the tests run: two files at a time, on one PostgreSQL that the run starts itself.

import { defineConfig } from "vitest/config";

// Deep runs (hours of kills, millions of rows) are asked for: npm run test:deep. A quick run, as
// part of npm run check, leaves out what starts browsers and kills processes.
const deep = process.env.DUES_DEEP === "1";
const quick = process.env.DUES_QUICK === "1";

export default defineConfig({
  test: {
    include: deep ? ["tests/**/*.{test,deep}.ts"] : ["tests/**/*.test.ts"],
    exclude: quick ? ["tests/**/*.slow.test.ts", "node_modules/**"] : ["node_modules/**"],
    globalSetup: ["tests/support/global-setup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
    // No test replaces a module, so files may share what they import.
    isolate: false,
  },
});
