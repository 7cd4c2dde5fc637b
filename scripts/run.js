// The body of the npm scripts: installs and builds what is missing, then does the verb.
// Plain JavaScript without dependencies, because it runs before there are any.

import "../bin/node-version.js";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { at, bin, ended, Failure, root } from "./prepare/base.js";
import { build, bundle } from "./prepare/build.js";
import { install } from "./prepare/install.js";

const PARENT_POLL_MS = 200;

/** With UPDATE_DOCS these write what they otherwise compare. */
const GENERATED = [
  "tests/docs.test.ts",
  "tests/client/operations.test.ts",
  "tests/store/migration/migrate.checksums.test.ts",
  "tests/scripts/sbom.test.ts",
];

const NO_CLUSTER = `These tests run on a Citus cluster that is there, in databases of their own.
Set CLUSTER_URL to the coordinator and CLUSTER_WORKERS to the workers, separated by commas:
  CLUSTER_URL=postgres://postgres@coordinator/postgres \\
  CLUSTER_WORKERS=postgres://postgres@worker-1/postgres,postgres://postgres@worker-2/postgres
The nodes must reach one another by these names. compose.cluster.yaml starts a cluster with Docker;
docs/SCALING.md says what it needs.`;

const verbs = {
  async serve(args) {
    await prepare();
    await runCli(["serve", ...args]);
  },
  async build() {
    await prepare();
  },
  /** With what only the package of npm holds: the client for programs, and its types. */
  async package() {
    await prepare("everything");
    await run(bin("tsc"), ["-p", "tsconfig.client.json", "--outDir", "dist"]);
  },
  async test(args, env = {}) {
    await prepare("everything");
    // A part of the tests is asked for while something is being changed.
    if (args.length === 0) await checkTypes();
    await run(bin("vitest"), ["run", ...args], env);
  },
  async "test:deep"(args) {
    await verbs.test(args, { DUES_DEEP: "1" });
  },
  async "test:cluster"(args) {
    const { CLUSTER_URL = "", CLUSTER_WORKERS = "" } = process.env;
    if (CLUSTER_URL === "" || CLUSTER_WORKERS === "") throw new Failure(NO_CLUSTER);
    await verbs.test(args, { DUES_CLUSTER: "1" });
  },
  async check(args) {
    await install("everything");
    await run(bin("biome"), ["check", "."]);
    if (args.length > 0) await checkTypes();
    await verbs.test(args, { DUES_QUICK: "1" });
  },
  async docs() {
    await prepare("everything");
    await run(bin("vitest"), ["run", ...GENERATED], { UPDATE_DOCS: "1" });
  },
  async bench(args) {
    await install("everything");
    rmSync(at("dist-bench"), { recursive: true, force: true });
    const files = readdirSync(at("bench")).filter((name) => name.endsWith(".ts"));
    await bundle(
      "dist-bench",
      files.map((name) => join("bench", name)),
    );
    await run(process.execPath, [...nodeOptions(), at("dist-bench", "run.js"), ...args]);
  },
};

async function checkTypes() {
  await run(bin("tsc"), ["-p", "tsconfig.json", "--noEmit"]);
}

/** The options that the service runs with: they stand in the first line of the command. */
export function nodeOptions() {
  const [first] = readFileSync(at("bin", "dues.js"), "utf8").split("\n");
  return first.match(/--\S+/g) ?? [];
}

/** Makes dist/ current. Quick when there is nothing to do; safe when several run at once. */
export async function prepare(extent = "running") {
  await install(extent);
  await build();
}

/** In this process, so that signals and the exit code need no forwarding. */
async function runCli(args) {
  process.argv = [process.execPath, at("bin", "dues.js"), ...args];
  await import("../bin/load.js");
}

/** Shows the command's output, hands on signals, and ends this process when it fails. */
async function run(command, args, env = {}) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  const pass = (signal) => {
    // Ctrl-C has reached the command already: a second one would cut its orderly end short.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, pass);
  const code = await ended(child);
  for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, pass);
  if (code !== 0) process.exit(code);
}

/** Runs `work`; a failure is told in its own words. */
export async function orFail(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

async function main([verb, ...args]) {
  process.chdir(root);
  const act = Object.hasOwn(verbs, verb ?? "") ? verbs[verb] : undefined;
  if (act === undefined) {
    throw new Failure(`Usage: node scripts/run.js <${Object.keys(verbs).join("|")}> [arguments]`);
  }
  if (process.env.npm_lifecycle_event !== undefined) endWithParent();
  await act(args);
}

/** npm hands a SIGTERM to the shell between us, which dies of it and tells nobody. */
function endWithParent() {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, PARENT_POLL_MS);
  watch.unref();
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await orFail(() => main(process.argv.slice(2)));
}
