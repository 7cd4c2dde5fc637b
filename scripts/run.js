// The body of the npm scripts: installs and builds what is missing, then does the verb.
// Plain JavaScript without dependencies, because it runs before there are any.

import "../bin/node-version.js";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const at = (...names) => join(root, ...names);
const bin = (name) => at("node_modules", ".bin", name);

const INSTALL_STAMP = at("node_modules", ".dues-install");
const BUILD_STAMP = at("dist", ".dues-build");
const LOCK = at("dist", ".lock");
const LOCK_POLL_MS = 100;
const PARENT_POLL_MS = 200;

/** With UPDATE_DOCS these write what they otherwise compare. */
const GENERATED = [
  "tests/docs.test.ts",
  "tests/client/operations.test.ts",
  "tests/store/migrate.checksums.test.ts",
  "tests/scripts/sbom.test.ts",
];

const NO_CLUSTER = `These tests run on a Citus cluster that is there, in databases of their own.
Set CLUSTER_URL to the coordinator and CLUSTER_WORKERS to the workers, separated by commas:
  CLUSTER_URL=postgres://postgres@coordinator/postgres \\
  CLUSTER_WORKERS=postgres://postgres@worker-1/postgres,postgres://postgres@worker-2/postgres
The nodes must reach one another by these names. compose.cluster.yaml starts a cluster with Docker;
docs/SCALING.md says what it needs.`;

/** A failure whose message says all: no stack is shown. */
class Failure extends Error {}

const verbs = {
  async serve(args) {
    await prepare();
    await runCli(["serve", ...args]);
  },
  async build() {
    await prepare();
  },
  async test(args, env = {}) {
    await prepare();
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
    await install();
    await run(bin("biome"), ["check", "."]);
    await run(bin("tsc"), ["-p", "tsconfig.json", "--noEmit"]);
    await verbs.test(args, { DUES_QUICK: "1" });
  },
  async docs() {
    await prepare();
    await run(bin("vitest"), ["run", ...GENERATED], { UPDATE_DOCS: "1" });
  },
  async bench(args) {
    await install();
    await run(bin("tsc"), ["-p", "tsconfig.bench.json"]);
    copyMigrations(at("dist-bench", "src"));
    // The code reads the version from the package beside its folder.
    copyFileSync(at("package.json"), at("dist-bench", "package.json"));
    await run(process.execPath, [...nodeOptions(), at("dist-bench", "bench", "run.js"), ...args]);
  },
};

/** The options that the service runs with: they stand in the first line of the command. */
export function nodeOptions() {
  const [first] = readFileSync(at("bin", "dues.js"), "utf8").split("\n");
  return first.match(/--\S+/g) ?? [];
}

/** Makes dist/ current. Quick when there is nothing to do; safe when several run at once. */
export async function prepare() {
  await install();
  await build();
}

async function install() {
  if (isInstalled()) return;
  await locked(async () => {
    if (isInstalled()) return;
    process.stderr.write(
      "Installing packages (npm ci --ignore-scripts). This takes a moment, once.\n",
    );
    rmSync(INSTALL_STAMP, { force: true });
    const npm = process.env.npm_execpath?.endsWith("npm-cli.js")
      ? [process.execPath, process.env.npm_execpath]
      : ["npm"];
    // Development packages are needed too, whatever NODE_ENV says: the build uses them.
    // No package needs its install script, so none may run one (docs/decisions/0007).
    const ci = ["ci", "--ignore-scripts", "--include=dev", "--include=optional"];
    const [command, ...args] = [...npm, ...ci, "--no-audit", "--no-fund"];
    const { code, output } = await capture(command, args);
    if (code !== 0) {
      process.stderr.write(output);
      throw new Failure(
        "The packages could not be installed. Check the network and what " +
          '"npm config get registry" says, then try again.',
      );
    }
    writeFileSync(INSTALL_STAMP, installMark());
  });
}

/** The same lock file on another platform needs other packages. */
function installMark() {
  const lock = readFileSync(at("package-lock.json"));
  return `${sha256(lock)} ${process.platform} ${process.arch}\n`;
}

function isInstalled() {
  const mark = installMark();
  if (readText(INSTALL_STAMP) === mark) return true;
  if (!holdsLockedPackages()) return false;
  try {
    writeFileSync(INSTALL_STAMP, mark);
  } catch {
    // A read-only node_modules is compared again at the next run.
  }
  return true;
}

/** Someone may have run npm ci by hand. npm notes what it installed in a lock file of its own. */
function holdsLockedPackages() {
  const noted = readText(at("node_modules", ".package-lock.json"));
  if (noted === undefined) return false;
  const present = JSON.parse(noted).packages ?? {};
  const wanted = JSON.parse(readFileSync(at("package-lock.json"), "utf8")).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "" || present[path]?.version === entry.version) return true;
    return entry.optional === true && present[path] === undefined && !isForThisMachine(entry);
  });
}

function isForThisMachine({ os, cpu, libc }) {
  // Which C library runs here is npm's business; a package bound to one may rightly be absent.
  if (os === undefined || cpu === undefined || libc !== undefined) return false;
  return os.includes(process.platform) && cpu.includes(process.arch);
}

async function build() {
  if (isBuilt()) return;
  await locked(async () => {
    if (isBuilt()) return;
    process.stderr.write("Building.\n");
    // Gone until the build has succeeded: a broken one is never taken for good.
    rmSync(BUILD_STAMP, { force: true });
    const mark = buildMark();
    const state = at("dist", ".tsbuildinfo");
    // The compiler trusts its notes and would not write a deleted output again.
    if (!hasOutputs()) rmSync(state, { force: true });
    const { code, output } = await capture(bin("tsc"), ["-p", "tsconfig.build.json"]);
    if (code !== 0) {
      process.stderr.write(output);
      throw new Failure("The build failed: see the faults above.");
    }
    dropOutputsWithoutSource();
    copyMigrations(at("dist"));
    writeFileSync(BUILD_STAMP, mark);
  });
}

function isBuilt() {
  return readText(BUILD_STAMP) === buildMark() && hasOutputs();
}

/** Contents, not times: a clone, a copy and a branch switch give what they should. */
function buildMark() {
  const hash = createHash("sha256");
  const settings = ["package-lock.json", "tsconfig.json", "tsconfig.build.json"].map((name) =>
    at(name),
  );
  for (const path of [...settings, ...filesUnder(at("src"))]) {
    const body = readFileSync(path);
    hash.update(`${relative(root, path)} ${body.length}\n`).update(body);
  }
  return `${hash.digest("hex")}\n`;
}

function hasOutputs() {
  return filesUnder(at("src"))
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))
    .every((path) => existsSync(at("dist", relative(at("src"), path).replace(/\.ts$/, ".js"))));
}

function dropOutputsWithoutSource() {
  for (const path of filesUnder(at("dist"))) {
    const name = relative(at("dist"), path);
    const source = /^(.*)(\.js|\.js\.map|\.d\.ts)$/.exec(name)?.[1];
    if (source !== undefined && !existsSync(at("src", `${source}.ts`))) rmSync(path);
  }
}

function copyMigrations(target) {
  const from = at("src", "store", "migrations");
  const to = join(target, "store", "migrations");
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  for (const path of filesUnder(from).filter((each) => each.endsWith(".sql"))) {
    copyFileSync(path, join(to, relative(from, path)));
  }
}

/** One install or build at a time. A lock whose process is gone is taken over. */
async function locked(work) {
  const mine = makeLock();
  let told = false;
  // The folder appears under its final name with the number already in it, or not at all.
  while (!moved(mine, LOCK)) {
    const holder = readText(join(LOCK, "holder"));
    const pid = Number(holder?.split(" ")[0]);
    if (pid > 0 && identityOf(pid) !== holder) {
      const stale = `${mine}-stale`;
      if (moved(LOCK, stale)) rmSync(stale, { recursive: true, force: true });
      continue;
    }
    if (!told && pid > 0) {
      told = true;
      process.stderr.write(`Waiting for another run (process ${pid}) to install or build.\n`);
    }
    await delay(LOCK_POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** A lock of this process, under a name that nobody looks at yet. */
function makeLock() {
  try {
    mkdirSync(dirname(LOCK), { recursive: true });
    const mine = mkdtempSync(`${LOCK}-`);
    writeFileSync(join(mine, "holder"), identityOf(process.pid));
    return mine;
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error;
    throw new Failure(
      `Packages must be installed and built here first, and ${root} cannot be written to ` +
        `(${error.code}). Run "npm run build" once as who may write there, or use a copy.`,
    );
  }
}

function moved(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (["EEXIST", "ENOTEMPTY", "ENOENT"].includes(error.code)) return false;
    throw error;
  }
}

/** A process by number and, where the system tells it, start: numbers are used again. */
function identityOf(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === "ESRCH") return "";
  }
  const fields = readText(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, "")
    .split(" ");
  return `${pid} ${fields?.[19] ?? ""}`;
}

/** In this process, so that signals and the exit code need no forwarding. */
async function runCli(args) {
  process.argv = [process.execPath, at("bin", "dues.js"), ...args];
  await import(pathToFileURL(at("dist", "cli", "main.js")).href);
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

async function capture(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  return { code: await ended(child), output };
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Failure(`${child.spawnfile}: ${error.message}`)));
    child.once("close", (code) => resolve(code ?? 1));
  });
}

function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.name.startsWith(".")) return [];
      return entry.isDirectory() ? filesUnder(path) : [path];
    });
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function sha256(body) {
  return createHash("sha256").update(body).digest("hex");
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
